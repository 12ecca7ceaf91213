"""Tokenizer folders: where each thing is read from, and damaged files named."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.api import ChatMessage, Role, ThinkingParams
from engine.errors import BadModelFile, EngineError, ModelFileMissing, UnsupportedModel
from engine.text.tokenizer import Tokenizer
from tests.engine.text.tiny_tokenizer import TEMPLATE, tiny_document, write_tiny_folder

Document = dict[str, object]


def test_ends_are_read_from_every_file(tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path, config={"eos_token": {"content": "<|start|>"}})
    (folder / "config.json").write_text(json.dumps({"eos_token_id": 262}))
    assert Tokenizer.from_folder(folder).stop_token_ids == {260, 264, 262, 261}
    (folder / "config.json").unlink()
    (folder / "generation_config.json").unlink()
    assert Tokenizer.from_folder(folder).stop_token_ids == {261}
    config = json.loads((folder / "tokenizer_config.json").read_text())
    del config["eos_token"]
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    with pytest.raises(BadModelFile, match="no file names an end token"):
        Tokenizer.from_folder(folder)


def test_a_template_file_goes_before_the_config(tmp_path: Path) -> None:
    folder = write_tiny_folder(tmp_path)
    (folder / "chat_template.jinja").write_text("é{{ messages[0].content }}", encoding="utf-8")
    tokenizer = Tokenizer.from_folder(folder)
    ids = tokenizer.render([ChatMessage(Role.USER, "x")], ThinkingParams(), False)
    assert tokenizer.detokenize(ids) == "éx"


def test_the_default_one_of_several_templates_is_taken(tmp_path: Path) -> None:
    templates = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": TEMPLATE}]
    folder = write_tiny_folder(tmp_path, config={"chat_template": templates})
    ids = Tokenizer.from_folder(folder).render([ChatMessage(Role.USER, "x")], ThinkingParams())
    assert ids[0] == 261


def test_added_tokens_of_the_config_count_too(tmp_path: Path) -> None:
    document = tiny_document()
    document["added_tokens"] = []
    decoder = {
        str(260 + index): {"content": text}
        for index, text in enumerate(("<|end|>", "<|start|>", "<think>", "</think>", "<|stop|>"))
    }
    folder = write_tiny_folder(
        tmp_path, document=document, config={"added_tokens_decoder": decoder}
    )
    tokenizer = Tokenizer.from_folder(folder)
    assert tokenizer.supports_thinking
    assert tokenizer.token_text(264) == "<|stop|>"


def test_truncation_and_padding_of_the_file_do_not_touch_prompts(tmp_path: Path) -> None:
    document = tiny_document()
    document["truncation"] = {
        "direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0,
    }  # fmt: skip
    tokenizer = Tokenizer.from_folder(write_tiny_folder(tmp_path, document=document))
    assert tokenizer.detokenize(tokenizer.encode("a long text")) == "a long text"


def test_missing_files_are_named(tmp_path: Path, tiny_folder: Path) -> None:
    with pytest.raises(ModelFileMissing, match=r"tokenizer\.json"):
        Tokenizer.from_folder(tmp_path)
    shutil.copy(tiny_folder / "tokenizer.json", tmp_path)
    with pytest.raises(ModelFileMissing, match=r"tokenizer_config\.json"):
        Tokenizer.from_folder(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|end|>"}')
    with pytest.raises(ModelFileMissing, match=r"chat_template\.jinja"):
        Tokenizer.from_folder(tmp_path)


def _changed(path: tuple[str, ...], value: object) -> Callable[[Document], None]:
    def change(document: Document) -> None:
        inner: object = document
        for key in path[:-1]:
            assert isinstance(inner, dict)
            inner = inner[key]
        assert isinstance(inner, dict)
        inner[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        _changed(("model",), None),
        _changed(("model",), []),
        _changed(("model", "vocab"), []),
        _changed(("model", "vocab"), {}),
        _changed(("model", "vocab", "a"), "7"),
        _changed(("model", "vocab", "a"), True),
        _changed(("model", "vocab", "a"), -1),
        _changed(("model", "vocab", "a"), 1.5),
        _changed(("model", "vocab", "a"), 10**12),
        _changed(("model", "vocab", "a"), 98),
        _changed(("model", "merges"), [["nosuch", "pair"]]),
        _changed(("model", "merges"), [["h"]]),
        _changed(("model", "merges"), ["h e l"]),
        _changed(("model", "merges"), [{"h": "e"}]),
        _changed(("model", "merges"), [[1, 2]]),
        _changed(("model", "merges"), 5),
        _changed(("model", "merges"), "x"),
        # The library panics at a merge that is longer than any entry.
        _changed(("model", "merges"), [["h", "e"], ["he", "h"]]),
        _changed(("pre_tokenizer", "add_prefix_space"), "maybe"),
        _changed(("normalizer",), {"type": "NoSuch"}),
        _changed(("added_tokens",), {}),
        _changed(("added_tokens",), [{"id": 260}]),
        _changed(("added_tokens",), [{"id": "260", "content": "<|end|>"}]),
        _changed(("added_tokens",), [{"id": 97, "content": "<|end|>"}]),
        _changed(("added_tokens",), [None]),
    ],
)
def test_a_damaged_tokenizer_is_a_bad_file(
    tmp_path: Path, change: Callable[[Document], None]
) -> None:
    document = tiny_document()
    change(document)
    with pytest.raises(BadModelFile, match=r"tokenizer\.json"):
        Tokenizer.from_folder(write_tiny_folder(tmp_path, document=document))


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"null", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"a": ' * 50_000, b"<html></html>"],
)
@pytest.mark.parametrize(
    "name", ["tokenizer.json", "tokenizer_config.json", "generation_config.json"]
)
def test_what_is_no_json_object_is_a_bad_file(
    tmp_path: Path, tiny_folder: Path, name: str, data: bytes
) -> None:
    folder = shutil.copytree(tiny_folder, tmp_path / "model")
    (folder / name).write_bytes(data)
    with pytest.raises(BadModelFile, match=name):
        Tokenizer.from_folder(folder)


def test_every_truncation_of_a_tokenizer_is_a_bad_file(tmp_path: Path, tiny_folder: Path) -> None:
    folder = shutil.copytree(tiny_folder, tmp_path / "model")
    data = (folder / "tokenizer.json").read_bytes()
    for length in range(0, len(data) - 1, 211):
        (folder / "tokenizer.json").write_bytes(data[:length])
        with pytest.raises(BadModelFile):
            Tokenizer.from_folder(folder)


def test_a_flipped_bit_never_leaves_the_typed_errors(tmp_path: Path, tiny_folder: Path) -> None:
    folder = shutil.copytree(tiny_folder, tmp_path / "model")
    data = (folder / "tokenizer.json").read_bytes()
    refused = 0
    for position in range(0, len(data), 97):
        flipped = bytearray(data)
        flipped[position] ^= 1 << (position % 8)
        (folder / "tokenizer.json").write_bytes(flipped)
        try:
            Tokenizer.from_folder(folder).encode("hello, world")
        except EngineError:
            refused += 1
    assert refused > 5


def test_a_huge_file_is_refused_by_its_size(tmp_path: Path, tiny_folder: Path) -> None:
    folder = shutil.copytree(tiny_folder, tmp_path / "model")
    with (folder / "tokenizer.json").open("r+b") as file:
        file.truncate(1 << 30)
    with pytest.raises(BadModelFile, match="at most"):
        Tokenizer.from_folder(folder)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (_changed(("model", "type"), "Unigram"), "Unigram"),
        (_changed(("model", "type"), "WordPiece"), "WordPiece"),
        (_changed(("model", "byte_fallback"), True), "SentencePiece"),
        (_changed(("pre_tokenizer",), {"type": "Whitespace"}), "ByteLevel"),
        (_changed(("pre_tokenizer",), None), "ByteLevel"),
    ],
)
def test_other_kinds_are_refused_by_name(
    tmp_path: Path, change: Callable[[Document], None], name: str
) -> None:
    document = tiny_document()
    change(document)
    with pytest.raises(UnsupportedModel, match=name):
        Tokenizer.from_folder(write_tiny_folder(tmp_path, document=document))


@pytest.mark.parametrize(
    "config",
    [
        {"eos_token": 7},
        {"chat_template": 7},
        {"chat_template": "{% if %}"},
        {"added_tokens_decoder": [1]},
        {"added_tokens_decoder": {"x": {"content": "<x>"}}},
        {"added_tokens_decoder": {"270": "<x>"}},
    ],
)
def test_a_wrong_tokenizer_config_is_a_bad_file(tmp_path: Path, config: Document) -> None:
    with pytest.raises(BadModelFile):
        Tokenizer.from_folder(write_tiny_folder(tmp_path, config=config))


@pytest.mark.parametrize("end", [[-1], ["<|end|>"], {"a": 1}, 999, True, 2**70])
def test_a_wrong_end_id_is_a_bad_file(tmp_path: Path, end: object) -> None:
    folder = write_tiny_folder(tmp_path)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": end}))
    with pytest.raises(BadModelFile):
        Tokenizer.from_folder(folder)


def test_a_pattern_that_makes_the_library_panic_is_a_bad_file(tmp_path: Path) -> None:
    document = tiny_document()
    split = {
        "type": "Split",
        "pattern": {"Regex": "(a+)+$"},
        "behavior": "Isolated",
        "invert": False,
    }
    byte_level = document["pre_tokenizer"]
    document["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, byte_level]}
    tokenizer = Tokenizer.from_folder(write_tiny_folder(tmp_path, document=document))
    with pytest.raises(BadModelFile, match="the tokenizer fails"):
        tokenizer.encode("a" * 40 + "b")
