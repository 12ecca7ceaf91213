"""Streamed text: never half a character, and in the end all of it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.text.detokenizer import StreamingDetokenizer
from engine.text.tokenizer import Tokenizer

FAMILIES = (
    "👨‍👩‍👧‍👦 family",
    "👩🏽‍🚀👍🏿",
    "🏳️‍🌈🇫🇷🇩🇪🇯🇵",
    "東京都の天気は晴れです。",
    "你好，世界",
    "안녕하세요",
    "e\u0301\u0302x",
    "𝕳𝖊𝖑𝖑𝖔 𐍈 \U0010fffd",
    "a\ufffdb\ufffd",
    "\ufffd",
    "नमस्ते",
    "plain text, quickly",
)


def _stream(tokenizer: Tokenizer, ids: list[int]) -> list[str]:
    detokenizer = StreamingDetokenizer(tokenizer)
    return [*(detokenizer.add(token_id) for token_id in ids), detokenizer.finish()]


@pytest.mark.parametrize("text", FAMILIES)
def test_every_prefix_is_a_prefix_of_the_text(tiny: Tokenizer, text: str) -> None:
    # The tiny tokenizer has one token per byte here: the hardest case.
    ids = tiny.encode(text)
    assert len(ids) >= len(text.encode()) - 8
    shown = ""
    for piece in _stream(tiny, ids):
        shown += piece
        assert text.startswith(shown)
    assert shown == text


@pytest.mark.parametrize("text", FAMILIES)
def test_real_tokens_stream_to_the_text(qwen3: Tokenizer, text: str) -> None:
    ids = qwen3.encode(text)
    shown = ""
    for piece in _stream(qwen3, ids):
        shown += piece
        assert qwen3.detokenize(ids).startswith(shown)
    assert shown == qwen3.detokenize(ids)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=40))
def test_random_bytes_stream_to_what_detokenize_gives(tiny: Tokenizer, data: bytes) -> None:
    ids = list(data)
    assert tiny.detokenize(ids) == data.decode("utf-8", "replace")
    assert "".join(_stream(tiny, ids)) == tiny.detokenize(ids)


def test_a_character_comes_with_its_last_byte(tiny: Tokenizer) -> None:
    assert _stream(tiny, list("é😀".encode())) == ["", "é", "", "", "", "😀", ""]


def test_an_unfinished_character_is_told_at_the_end_only(tiny: Tokenizer) -> None:
    assert _stream(tiny, list("😀".encode()[:3])) == ["", "", "", "\ufffd"]


def test_a_detokenizer_can_be_used_again_after_its_end(tiny: Tokenizer) -> None:
    detokenizer = StreamingDetokenizer(tiny)
    detokenizer.add(0xF0)
    assert detokenizer.finish() == "\ufffd"
    assert detokenizer.add(ord("a")) == "a"
    assert detokenizer.finish() == ""


def test_ids_without_a_text_give_no_text(tiny: Tokenizer) -> None:
    assert tiny.token_bytes(10**9) == tiny.token_bytes(-1) == b""
    assert tiny.token_text(tiny.vocab_size) == ""
    assert _stream(tiny, [tiny.vocab_size + 7, 97]) == ["", "a", ""]


def test_control_tokens_are_shown_by_their_literal(tiny: Tokenizer) -> None:
    assert tiny.token_text(262) == "<think>"
    assert tiny.detokenize([97, 260, 98]) == "a<|end|>b"
