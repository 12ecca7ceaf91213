"""What transformers gave for Qwen3-0.6B (tests/golden/make_text_golden.py), without it."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from engine.api import ThinkingParams
from engine.text.tokenizer import Tokenizer
from tests.engine.text.sample_texts import conversations

GOLDEN = Path(__file__).parents[2] / "golden" / "text"


def test_texts_encode_as_in_transformers(qwen3: Tokenizer) -> None:
    rows = json.loads((GOLDEN / "qwen3_texts.json").read_text())
    assert len(rows) >= 500
    assert [row["text"] for row in rows if qwen3.encode(row["text"]) != row["ids"]] == []


def test_conversations_are_rendered_as_in_transformers(qwen3: Tokenizer) -> None:
    rows = json.loads((GOLDEN / "qwen3_conversations.json").read_text())
    chats = conversations()
    assert len(rows) == len(chats) == 30
    for row, (messages, thinks) in zip(rows, chats, strict=True):
        assert row["thinks"] == thinks
        ids = qwen3.render(messages, ThinkingParams(thinks))
        assert ids == row["ids"]
        assert qwen3.detokenize(ids) == unicodedata.normalize("NFC", row["text"])


def test_end_and_think_ids_come_from_the_files(qwen3: Tokenizer) -> None:
    assert qwen3.stop_token_ids == {151645, 151643}
    assert (qwen3.think_start_id, qwen3.think_end_id) == (151667, 151668)
    assert qwen3.supports_thinking
    assert qwen3.vocab_size == 151669
