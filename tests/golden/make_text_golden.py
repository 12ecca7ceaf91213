"""Write tests/golden/text/*.json with transformers, for tests that run without it.

Run by `make golden` with .venv-oracle. Holds what Hugging Face's tokenizer of Qwen3-0.6B gives for
the texts and conversations of tests/engine/text/sample_texts.py.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.engine.text.hugging_face import chat_of, hugging_face_qwen3  # noqa: E402
from tests.engine.text.sample_texts import all_texts, conversations  # noqa: E402

TEXT_COUNT = 900


def main() -> None:
    """Write both files."""
    tokenizer = hugging_face_qwen3(ROOT.parent / "shared" / "qwen3-0.6b")
    folder = ROOT / "tests" / "golden" / "text"
    folder.mkdir(exist_ok=True)
    texts = [
        {"text": text, "ids": tokenizer(text, add_special_tokens=False)["input_ids"]}
        for text in all_texts(TEXT_COUNT)
    ]
    _write(folder / "qwen3_texts.json", texts)
    chats = []
    for messages, thinks in conversations():
        chat = chat_of(messages)
        rendered = tokenizer.apply_chat_template(
            chat, tokenize=False, add_generation_prompt=True, enable_thinking=thinks
        )
        ids = tokenizer(rendered, add_special_tokens=False)["input_ids"]
        chats.append({"thinks": thinks, "text": rendered, "ids": ids})
    _write(folder / "qwen3_conversations.json", chats)


def _write(path: Path, rows: list[dict[str, object]]) -> None:
    lines = (json.dumps(row, ensure_ascii=True, separators=(",", ":")) for row in rows)
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="ascii")
    print(f"{path}: {len(rows)} rows, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
