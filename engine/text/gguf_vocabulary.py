"""A tokenizer as a GGUF file describes it: its own vocabulary, merges and pre-tokenizer name.

The names of the pre-tokenizers are llama.cpp's; what they mean is what the tokenizer.json of these
models has, so that ids equal Hugging Face's (a test compares them for SmolLM2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engine.errors import BadModelFile, UnsupportedModel
from engine.text.control_literals import ControlToken
from engine.text.tokenizer_definition import TokenizerDefinition, checked_token_id

if TYPE_CHECKING:
    from engine.models.gguf_file import GgufFile

_NORMAL, _CONTROL, _USER_DEFINED = 1, 3, 4
_CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _words(digits: str) -> dict[str, object]:
    """Split as Qwen2 and Llama 3 do, numbers into groups of `digits`; then bytes."""
    pattern = rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|{digits}|{_REST}"
    split = {
        "type": "Split",
        "pattern": {"Regex": pattern},
        "behavior": "Isolated",
        "invert": False,
    }
    return {"type": "Sequence", "pretokenizers": [split, _bytes(own_pattern=False)]}


def _bytes(own_pattern: bool) -> dict[str, object]:
    """Bytes as characters; with `own_pattern` GPT-2's split of words comes first."""
    return {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": own_pattern,
    }


_SINGLE_DIGITS: dict[str, object] = {
    "type": "Sequence",
    "pretokenizers": [{"type": "Digits", "individual_digits": True}, _bytes(own_pattern=True)],
}
_QWEN2 = _words(r"\p{N}")
_LLAMA3 = _words(r"\p{N}{1,3}")

_PRE_TOKENIZERS: dict[str, dict[str, object]] = {
    "gpt-2": _bytes(own_pattern=True),
    "smollm": _SINGLE_DIGITS,
    "starcoder": _SINGLE_DIGITS,
    "refact": _SINGLE_DIGITS,
    "qwen2": _QWEN2,
    "deepseek-r1-qwen": _QWEN2,
    "llama-bpe": _LLAMA3,
    "llama3": _LLAMA3,
    "llama-v3": _LLAMA3,
}
_NORMALIZES_TO_NFC = ("qwen2", "deepseek-r1-qwen")
_TAKES_WHOLE_WORDS = ("llama-bpe", "llama3", "llama-v3")

_NAMED = {"bos": "bos_token", "eos": "eos_token", "unknown": "unk_token", "padding": "pad_token"}


def definition_from_gguf(file: GgufFile) -> TokenizerDefinition:
    """The tokenizer in the metadata of an opened GGUF file.

    Raises:
        BadModelFile.
        UnsupportedModel: SentencePiece, or a pre-tokenizer that is not known here.
    """
    metadata = file.metadata
    where = str(file.path)
    pre = _supported_pre_tokenizer(metadata)
    tokens = _texts(where, metadata, "tokenizer.ggml.tokens")
    types = metadata.get("tokenizer.ggml.token_type")
    if not isinstance(types, list) or len(types) != len(tokens):
        raise BadModelFile(where, f"tokenizer.ggml.token_type: expected {len(tokens)} numbers")
    ids = {
        name: checked_token_id(where, f"tokenizer.ggml.{name}_token_id", value)
        for name in ("bos", "eos", "eot", "eom", "unknown", "padding")
        if (value := metadata.get(f"tokenizer.ggml.{name}_token_id")) is not None
    }
    for name, token_id in ids.items():
        if token_id >= len(tokens):
            raise BadModelFile(where, f"tokenizer.ggml.{name}_token_id: {token_id} is no token")
    template = metadata.get("tokenizer.chat_template")
    if not isinstance(template, str):
        raise BadModelFile(where, "tokenizer.chat_template is missing: the model cannot chat")
    vocabulary = _vocabulary(where, tokens, types)
    return TokenizerDefinition(
        origin=where,
        document=_document(pre, vocabulary, _merges(where, metadata)),
        vocabulary=vocabulary,
        control_tokens=tuple(
            ControlToken(token_id, text)
            for token_id, (text, kind) in enumerate(zip(tokens, types, strict=True))
            if kind in (_CONTROL, _USER_DEFINED) and text
        ),
        stop_token_ids=_stop_token_ids(where, ids, types),
        named_tokens={_NAMED[name]: tokens[ids[name]] for name in _NAMED if name in ids},
        chat_template=template,
    )


def _supported_pre_tokenizer(metadata: Mapping[str, object]) -> str:
    model = metadata.get("tokenizer.ggml.model")
    if model != "gpt2":
        kinds = {"llama": "llama (SentencePiece)", "t5": "t5 (SentencePiece)"}
        name = kinds.get(model, model) if isinstance(model, str) else "missing"
        raise UnsupportedModel("tokenizer.ggml.model", name, "gpt2 (byte-level BPE)")
    pre = metadata.get("tokenizer.ggml.pre")
    if not isinstance(pre, str) or pre not in _PRE_TOKENIZERS:
        found = pre if isinstance(pre, str) else "missing"
        raise UnsupportedModel("tokenizer.ggml.pre", found, ", ".join(_PRE_TOKENIZERS))
    return pre


def _texts(where: str, metadata: Mapping[str, object], key: str) -> list[str]:
    value = metadata.get(key)
    if not isinstance(value, list) or not value or not isinstance(value[0], str):
        raise BadModelFile(where, f"{key}: expected a list of texts")
    return value


def _vocabulary(where: str, tokens: Sequence[str], types: Sequence[object]) -> dict[str, int]:
    """Every token's id, but of the unused ones, which stand for nothing."""
    vocabulary: dict[str, int] = {}
    for token_id, (text, kind) in enumerate(zip(tokens, types, strict=True)):
        if kind not in (_NORMAL, _CONTROL, _USER_DEFINED):
            continue
        if text in vocabulary:
            raise BadModelFile(
                where, f"tokens {vocabulary[text]} and {token_id} are the same: {text!r:.80}"
            )
        vocabulary[text] = token_id
    return vocabulary


def _merges(where: str, metadata: Mapping[str, object]) -> list[list[str]]:
    merges: list[list[str]] = []
    for merge in _texts(where, metadata, "tokenizer.ggml.merges"):
        # As llama.cpp: the first space that is not the first character parts the two.
        at = merge.find(" ", 1)
        if at < 0:
            raise BadModelFile(where, f"merge {merge!r:.80}: expected two texts and a space")
        merges.append([merge[:at], merge[at + 1 :]])
    return merges


def _document(
    pre: str, vocabulary: Mapping[str, int], merges: list[list[str]]
) -> dict[str, object]:
    """The tokenizer in the shape of tokenizer.json."""
    return {
        "version": "1.0",
        "normalizer": {"type": "NFC"} if pre in _NORMALIZES_TO_NFC else None,
        "pre_tokenizer": _PRE_TOKENIZERS[pre],
        "decoder": _bytes(own_pattern=True),
        "model": {
            "type": "BPE",
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": pre in _TAKES_WHOLE_WORDS,
            "vocab": vocabulary,
            "merges": merges,
        },
    }


def _stop_token_ids(where: str, ids: Mapping[str, int], types: Sequence[object]) -> frozenset[int]:
    """Ends of text, turn and message; and the padding, if it is a control token.

    GGUF keeps one end of text only: the second end of Qwen3 stands there as the padding. A model
    that pads has nothing more to say.
    """
    stops = {ids[name] for name in ("eos", "eot", "eom") if name in ids}
    padding = ids.get("padding")
    if padding is not None and types[padding] == _CONTROL:
        stops.add(padding)
    if not stops:
        raise BadModelFile(where, "names no end token (tokenizer.ggml.eos_token_id)")
    return frozenset(stops)
