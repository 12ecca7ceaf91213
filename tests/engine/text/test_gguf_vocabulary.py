"""A tokenizer built from a GGUF file's own vocabulary; other kinds refused by name."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from engine.api import ChatMessage, Role, ThinkingParams
from engine.errors import BadModelFile, EngineError, ModelFileMissing, UnsupportedModel
from engine.models.gguf_file import open_gguf
from engine.text.tokenizer import Tokenizer
from tests.engine.text.sample_texts import random_texts
from tests.engine.text.tiny_tokenizer import gguf_bytes, tiny_gguf_metadata

GOLDEN = Path(__file__).parents[2] / "golden" / "text"


def _write(tmp_path: Path, **changes: object) -> Path:
    """The tiny GGUF file with some of its metadata changed; None takes a key away.

    A double underscore in a name stands for the dot.
    """
    metadata = tiny_gguf_metadata()
    for name, value in changes.items():
        key = name.replace("__", ".")
        if value is None:
            del metadata[key]
        else:
            metadata[key] = value
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf_bytes(metadata))
    return path


def test_the_gguf_form_is_the_same_tokenizer_as_the_folder(tmp_path: Path, tiny: Tokenizer) -> None:
    tokenizer = Tokenizer.from_gguf(open_gguf(_write(tmp_path)))
    assert tokenizer.vocab_size == tiny.vocab_size
    assert tokenizer.stop_token_ids == tiny.stop_token_ids == {260, 264}
    assert tokenizer.think_end_id == tiny.think_end_id == 263
    for text in random_texts(200):
        assert tokenizer.encode(text) == tiny.encode(text)
    messages = [ChatMessage(Role.USER, "hello <|end|>"), ChatMessage(Role.ASSISTANT, "a", "b")]
    assert tokenizer.render(messages, ThinkingParams()) == tiny.render(messages, ThinkingParams())


def test_padding_is_an_end_where_it_is_a_control_token(tmp_path: Path) -> None:
    control = _write(tmp_path, tokenizer__ggml__padding_token_id=261)
    assert Tokenizer.from_gguf(open_gguf(control)).stop_token_ids == {260, 261, 264}
    plain = _write(tmp_path, tokenizer__ggml__padding_token_id=97)
    assert Tokenizer.from_gguf(open_gguf(plain)).stop_token_ids == {260, 264}


def test_unused_tokens_stand_for_nothing(tmp_path: Path) -> None:
    types = [5 if index == 264 else 1 if index < 260 else 3 for index in range(265)]
    path = _write(tmp_path, tokenizer__ggml__token_type=types, tokenizer__ggml__eot_token_id=None)
    tokenizer = Tokenizer.from_gguf(open_gguf(path))
    assert tokenizer.vocab_size == 264
    assert tokenizer.token_text(264) == ""


@pytest.mark.parametrize(
    ("pre", "text", "pieces"),
    [
        ("gpt-2", "123 a's A'S", ["123", " a", "'s", " A", "'", "S"]),
        ("smollm", " 12a's", [" ", "1", "2", "a", "'s"]),
        ("starcoder", "x1", ["x", "1"]),
        ("qwen2", "12 A'S\n\n", ["1", "2", " A", "'S", "\n\n"]),
        ("llama-bpe", "1234 A'S", ["123", "4", " A", "'S"]),
    ],
)
def test_pre_tokenizers_split_as_their_models_do(
    tmp_path: Path, pre: str, text: str, pieces: list[str]
) -> None:
    # A vocabulary in which every piece that must not be split is one token, and joined pairs of
    # pieces would be too: the ids tell where the text was cut.
    tokenizer = Tokenizer.from_gguf(open_gguf(_write_with_pieces(tmp_path, pre, text)))
    assert [tokenizer.token_text(token_id) for token_id in tokenizer.encode(text)] == pieces


def _write_with_pieces(tmp_path: Path, pre: str, text: str) -> Path:
    """A tiny file that can merge any substring of `text`, longest first by building it up."""
    metadata = tiny_gguf_metadata()
    spelled = "".join(_spelled(character) for character in text)
    tokens = list(metadata["tokenizer.ggml.tokens"])  # type: ignore[call-overload]
    merges = list(metadata["tokenizer.ggml.merges"])  # type: ignore[call-overload]
    for length in range(2, len(spelled) + 1):
        for start in range(len(spelled) - length + 1):
            piece = spelled[start : start + length]
            if piece not in tokens:
                tokens.append(piece)
                merges.append(f"{piece[:-1]} {piece[-1]}")
    metadata["tokenizer.ggml.pre"] = pre
    metadata["tokenizer.ggml.tokens"] = tokens
    metadata["tokenizer.ggml.token_type"] = [3 if 260 <= i < 265 else 1 for i in range(len(tokens))]
    metadata["tokenizer.ggml.merges"] = merges
    path = tmp_path / "pieces.gguf"
    path.write_bytes(gguf_bytes(metadata))
    return path


def _spelled(character: str) -> str:
    return {" ": "Ġ", "\n": "Ċ"}.get(character, character)


def test_qwen2_normalizes_and_the_others_do_not(tmp_path: Path) -> None:
    text = "cafe\u0301"
    qwen = Tokenizer.from_gguf(open_gguf(_write(tmp_path, tokenizer__ggml__pre="qwen2")))
    assert qwen.detokenize(qwen.encode(text)) == "caf\u00e9"
    smollm = Tokenizer.from_gguf(open_gguf(_write(tmp_path, tokenizer__ggml__pre="smollm")))
    assert smollm.detokenize(smollm.encode(text)) == text


@pytest.mark.slow
def test_qwen3_rebuilt_from_gguf_encodes_as_in_transformers(
    tmp_path: Path, qwen3_folder: Path
) -> None:
    document = json.loads((qwen3_folder / "tokenizer.json").read_text())
    config = json.loads((qwen3_folder / "tokenizer_config.json").read_text())
    added = {entry["content"]: entry["id"] for entry in document["added_tokens"]}
    ids = {**document["model"]["vocab"], **added}
    special = {entry["id"] for entry in document["added_tokens"] if entry["special"]}
    # As llama.cpp's converter writes it: special ones control, other added ones user defined.
    kinds = [3 if i in special else 4 if i >= 151643 else 1 for i in range(151669)]
    path = tmp_path / "qwen3.gguf"
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": sorted(ids, key=ids.__getitem__),
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.merges": [" ".join(pair) for pair in document["model"]["merges"]],
        "tokenizer.ggml.eos_token_id": 151645,
        "tokenizer.ggml.padding_token_id": 151643,
        "tokenizer.ggml.bos_token_id": 151643,
        "tokenizer.chat_template": config["chat_template"],
    }
    path.write_bytes(gguf_bytes(metadata))
    tokenizer = Tokenizer.from_gguf(open_gguf(path))
    assert tokenizer.stop_token_ids == {151645, 151643}
    assert (tokenizer.think_start_id, tokenizer.think_end_id) == (151667, 151668)
    rows = json.loads((GOLDEN / "qwen3_texts.json").read_text())
    assert [row["text"] for row in rows if tokenizer.encode(row["text"]) != row["ids"]] == []


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"tokenizer__ggml__model": "llama"}, r"llama \(SentencePiece\)"),
        ({"tokenizer__ggml__model": "t5"}, r"t5 \(SentencePiece\)"),
        ({"tokenizer__ggml__model": "bert"}, "bert"),
        ({"tokenizer__ggml__model": None}, "missing"),
        ({"tokenizer__ggml__pre": "tekken"}, "tekken"),
        ({"tokenizer__ggml__pre": None}, "missing"),
    ],
)
def test_other_kinds_are_refused_by_name(
    tmp_path: Path, changes: dict[str, object], name: str
) -> None:
    with pytest.raises(UnsupportedModel, match=name):
        Tokenizer.from_gguf(open_gguf(_write(tmp_path, **changes)))


@pytest.mark.parametrize(
    "changes",
    [
        {"tokenizer__ggml__tokens": None},
        {"tokenizer__ggml__tokens": ["a", "b"]},
        {"tokenizer__ggml__tokens": "a"},
        {"tokenizer__ggml__tokens": ["a"] * 265},
        {"tokenizer__ggml__token_type": None},
        {"tokenizer__ggml__token_type": [1, 2, 3]},
        {"tokenizer__ggml__merges": None},
        {"tokenizer__ggml__merges": ["nospace"]},
        {"tokenizer__ggml__merges": ["no such"]},
        {"tokenizer__ggml__merges": [1, 2]},
        {"tokenizer__ggml__eos_token_id": 9999},
        {"tokenizer__ggml__eos_token_id": "x"},
        {"tokenizer__ggml__eos_token_id": None, "tokenizer__ggml__eot_token_id": None},
        {"tokenizer__chat_template": None},
        {"tokenizer__chat_template": "{% if %}"},
    ],
)
def test_damaged_vocabularies_are_bad_files(tmp_path: Path, changes: dict[str, object]) -> None:
    with pytest.raises(BadModelFile, match=r"tiny\.gguf"):
        Tokenizer.from_gguf(open_gguf(_write(tmp_path, **changes)))


def test_every_truncation_is_a_bad_file(tmp_path: Path) -> None:
    path = _write(tmp_path)
    data = path.read_bytes()
    for length in range(0, len(data), 97):
        path.write_bytes(data[:length])
        with pytest.raises(BadModelFile):
            Tokenizer.from_gguf(open_gguf(path))


def test_a_flipped_bit_never_leaves_the_typed_errors(tmp_path: Path) -> None:
    path = _write(tmp_path)
    data = path.read_bytes()
    refused = 0
    for position in range(0, len(data), 61):
        flipped = bytearray(data)
        flipped[position] ^= 1 << (position % 8)
        path.write_bytes(flipped)
        try:
            Tokenizer.from_gguf(open_gguf(path)).encode("hello, world")
        except EngineError:
            refused += 1
    assert refused > 5


_HEAD = b"GGUF" + struct.pack("<IQ", 3, 0)
_KEY = struct.pack("<Q", 1) + b"k"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"\x00" * 64,
        b"<html>" + b" " * 64,
        _HEAD + struct.pack("<Q", 2**63),
        _HEAD + struct.pack("<QQ", 1, 2**62),
        _HEAD + struct.pack("<Q", 1) + _KEY + struct.pack("<I", 99),
        _HEAD + struct.pack("<Q", 1) + _KEY + struct.pack("<IIQ", 9, 4, 2**62),
        _HEAD + struct.pack("<Q", 1) + _KEY + struct.pack("<IIQ", 9, 8, 2**40),
        _HEAD + struct.pack("<Q", 1) + _KEY + struct.pack("<IIQ", 9, 9, 1) * 10_000,
        _HEAD + struct.pack("<Q", 2) + (_KEY + struct.pack("<II", 4, 1)) * 2,
    ],
)
def test_hostile_metadata_is_a_bad_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "hostile.gguf"
    path.write_bytes(data)
    with pytest.raises(BadModelFile, match=r"hostile\.gguf"):
        open_gguf(path)


def test_other_versions_and_missing_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "old.gguf"
    path.write_bytes(gguf_bytes({}, version=1))
    with pytest.raises(UnsupportedModel, match="GGUF version 1"):
        open_gguf(path)
    with pytest.raises(ModelFileMissing, match=r"none\.gguf"):
        open_gguf(tmp_path / "none.gguf")
    with pytest.raises(BadModelFile, match="cannot be read"):
        open_gguf(tmp_path)


def test_values_of_every_kind_are_read(tmp_path: Path) -> None:
    path = tmp_path / "kinds.gguf"
    path.write_bytes(gguf_bytes({"a": "text é", "b": 7, "c": [-1, 2], "d": ["x", ""], "e": 1}))
    assert open_gguf(path).metadata == {
        "a": "text é",
        "b": 7,
        "c": [-1, 2],
        "d": ["x", ""],
        "e": 1,
    }


@pytest.mark.real
def test_smollm2_reads_its_own_vocabulary(smollm2: Tokenizer) -> None:
    assert smollm2.vocab_size == 49152
    assert smollm2.token_text(2) == "<|im_end|>"
    assert smollm2.stop_token_ids == {2}
    assert not smollm2.supports_thinking
    messages = [
        ChatMessage(Role.SYSTEM, "You are a helpful assistant."),
        ChatMessage(Role.USER, "What is the capital of France?"),
    ]
    ids = smollm2.render(messages, ThinkingParams())
    assert smollm2.detokenize(ids) == (
        "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
        "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert [token_id for token_id in ids if token_id < 17] == [1, 2, 1, 2, 1]
