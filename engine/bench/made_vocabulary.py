"""A byte-level tokenizer with made-up words, for random weights that have no tokenizer.

Every id stands for a text, as in a real vocabulary: words of two syllables, most with the blank
before them, and one id in eight for two Chinese characters. So turning ids into text costs what it
costs for a real model; where the real tokenizer is at hand, it is used instead.
"""

from __future__ import annotations

import json
from pathlib import Path

from engine.text.byte_level import BYTE_CHARACTERS

CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
"""They have the last ids; the first and the third end a reply."""

_SYLLABLES = [
    start + vowel + end
    for end in ("", "n", "r", "s")
    for vowel in "aeiou"
    for start in "bcdfghjklmnpqrstvwxz"
]
_FIRST_CHINESE, _CHINESE = 0x4E00, 20_000
_BYTES = 256
_BLANK = BYTE_CHARACTERS[0x20]

_CHAT_TEMPLATE = """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""


def made_pieces(count: int) -> list[str]:
    """The first `count` pieces of the vocabulary, in the byte alphabet: the bytes, then words."""
    return [*BYTE_CHARACTERS, *map(_piece, range(count - _BYTES))][:count]


def _piece(number: int) -> str:
    if number % 8 == 0:
        high, low = divmod(number // 8, _CHINESE)
        text = chr(_FIRST_CHINESE + low) + chr(_FIRST_CHINESE + high)
        return "".join(BYTE_CHARACTERS[byte] for byte in text.encode())
    high, low = divmod(number, len(_SYLLABLES))
    word = _SYLLABLES[low] + _SYLLABLES[high % len(_SYLLABLES)]
    return word if number % 8 == 1 else _BLANK + word


def write_made_tokenizer(folder: Path, vocab_size: int) -> None:
    """Write tokenizer.json and tokenizer_config.json for a model of that many ids."""
    words = vocab_size - len(CONTROL_TOKENS)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
    added = [
        {
            "id": words + place,
            "content": literal,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for place, literal in enumerate(CONTROL_TOKENS)
    ]
    document = {
        "version": "1.0",
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {piece: token_id for token_id, piece in enumerate(made_pieces(words))},
            "merges": [],
        },
    }
    config = {"eos_token": "<|im_end|>", "chat_template": _CHAT_TEMPLATE}
    _write_json(folder / "tokenizer.json", document)
    _write_json(folder / "tokenizer_config.json", config)
    stops = [words + CONTROL_TOKENS.index(name) for name in ("<|im_end|>", "<|endoftext|>")]
    _write_json(folder / "generation_config.json", {"eos_token_id": stops})


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
