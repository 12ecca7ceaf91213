"""Train the tokenizer: byte-level BPE on generated text, split and templated as Qwen3 does it.

`python -m resources.demo_model.make.train_tokenizer --qwen3 FOLDER` writes tokenizer.json and
tokenizer_config.json; FOLDER holds the two files of Qwen3.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

import tokenizers
from tokenizers.pre_tokenizers import ByteLevel
from tokenizers.trainers import BpeTrainer

from resources.demo_model.make.conversations import training_conversation
from resources.demo_model.make.problem import plain

MODEL_FOLDER = Path(__file__).resolve().parent.parent
VOCAB_SIZE = 2560
_CONVERSATIONS = 60_000


def _texts(seed: int) -> Iterator[str]:
    """Every text once: what is always the same needs no tokens of its own."""
    rng = random.Random(seed)
    seen: set[str] = set()
    for _ in range(_CONVERSATIONS):
        problem = training_conversation(rng).problem
        for text in (f"\n{problem.question}", f"\n{problem.thinking}\n", plain(problem.answer)):
            if text not in seen:
                seen.add(text)
                yield text
    yield from ("user\nassistant\nsystem\n\n",) * 100


def train_tokenizer(qwen3: Path, folder: Path, seed: int) -> None:
    """Write both files to `folder`."""
    document = json.loads((qwen3 / "tokenizer.json").read_text("utf-8"))
    config = json.loads((qwen3 / "tokenizer_config.json").read_text("utf-8"))
    controls = document["added_tokens"]
    document["added_tokens"] = []
    document["model"].update(vocab={}, merges=[])
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document))
    trainer = BpeTrainer(
        vocab_size=VOCAB_SIZE - len(controls),
        initial_alphabet=sorted(ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_texts(seed), trainer)
    document = json.loads(tokenizer.to_str())
    first = len(document["model"]["vocab"])
    for index, entry in enumerate(controls):
        entry["id"] = first + index
    document["added_tokens"] = controls
    decoder = {str(e["id"]): {k: v for k, v in e.items() if k != "id"} for e in controls}
    config["added_tokens_decoder"] = decoder
    config["model_max_length"] = 2048
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in (("tokenizer.json", document), ("tokenizer_config.json", config)):
        text = json.dumps(value, ensure_ascii=False, indent=1 if name.endswith("g.json") else None)
        (folder / name).write_text(text + "\n", "utf-8")


def main() -> None:
    """Read the arguments and train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--qwen3", type=Path, required=True, help="folder with Qwen3's tokenizer")
    parser.add_argument("--out", type=Path, default=MODEL_FOLDER)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    train_tokenizer(arguments.qwen3, arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
