"""A byte-level BPE tokenizer of some 270 tokens that thinks, in both file forms, for tests."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from engine.text.byte_level import BYTE_CHARACTERS

MERGES = (("h", "e"), ("l", "l"), ("he", "ll"), ("Ċ", "Ċ"))
CONTROL = ("<|end|>", "<|start|>", "<think>", "</think>", "<|stop|>")
FIRST_CONTROL_ID = 256 + len(MERGES)
TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}\n"
    "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}"
    "{{ m.content }}"
    "{% for call in m.tool_calls or [] %}{{ call.function | tojson }}{% endfor %}"
    "<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n"
    "{% if enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)


def tokens() -> list[str]:
    """Texts of the ids, in order."""
    return [*BYTE_CHARACTERS, *("".join(pair) for pair in MERGES), *CONTROL]


def tiny_document() -> dict[str, object]:
    """tokenizer.json as an object."""
    plain = tokens()[:FIRST_CONTROL_ID]
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    }
    return {
        "version": "1.0",
        "added_tokens": [
            {"id": FIRST_CONTROL_ID + index, "content": text, "special": index < 2}
            for index, text in enumerate(CONTROL)
        ],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {text: token_id for token_id, text in enumerate(plain)},
            "merges": [list(pair) for pair in MERGES],
        },
    }


def write_tiny_folder(
    folder: Path,
    *,
    document: dict[str, object] | None = None,
    template: str = TEMPLATE,
    config: dict[str, object] | None = None,
) -> Path:
    """Write the three files into `folder`; `config` is merged into tokenizer_config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {"eos_token": "<|end|>", "chat_template": template, **(config or {})}
    (folder / "tokenizer.json").write_text(json.dumps(document or tiny_document()))
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "generation_config.json").write_text(
        json.dumps({"eos_token_id": [FIRST_CONTROL_ID, FIRST_CONTROL_ID + 4]})
    )
    return folder


def _gguf_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _gguf_value(value: object) -> bytes:
    """Type number and bytes of a value: text, number, list of texts or list of numbers."""
    match value:
        case str():
            return struct.pack("<I", 8) + _gguf_text(value)
        case int():
            return struct.pack("<II", 4, value)
        case [str(), *_]:
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_gguf_text, value))
        case list():
            return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)
    raise TypeError(type(value))


def tiny_gguf_metadata() -> dict[str, object]:
    """The metadata of the tiny tokenizer as a GGUF file has it."""
    texts = tokens()
    return {
        "general.architecture": "llama",
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.token_type": [1 if i < FIRST_CONTROL_ID else 3 for i in range(len(texts))],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in MERGES],
        "tokenizer.ggml.eos_token_id": FIRST_CONTROL_ID,
        "tokenizer.ggml.eot_token_id": FIRST_CONTROL_ID + 4,
        "tokenizer.chat_template": TEMPLATE,
    }


def gguf_bytes(metadata: dict[str, object], version: int = 3) -> bytes:
    """A GGUF file without tensors."""
    head = b"GGUF" + struct.pack("<IQQ", version, 0, len(metadata))
    return head + b"".join(_gguf_text(k) + _gguf_value(v) for k, v in metadata.items())
