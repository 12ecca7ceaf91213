"""Long texts are counted in pieces that add up to the whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.token_counting import count_text, pieces_of
from engine.api import ChatMessage, ThinkingParams
from engine.text.tokenizer import Tokenizer

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "resources" / "demo_model", ROOT.parent / "shared" / "qwen3-0.6b"]

TEXTS = {
    "prose": "The quick brown fox, as we all know, jumps over 12 lazy dogs.\n\nAnd then?\n" * 40,
    "code": "def f(x):\n    if x:\n\n        return 'a'  # why\n\n\nclass A:\n\tpass\n" * 40,
    "one paragraph": "word  and   spaces " * 200,
    "Chinese": "天空为什么是蓝色的？因为大气散射。\n" * 120,
    "ragged": "".join("word " * (n % 9) + f"({n})" + "\n" * (n % 7) for n in range(400)),
    "blank lines": "\n" * 1000 + "x" + " " * 1000 + "y",
}


class OneTokenizer:
    def __init__(self, folder: Path) -> None:
        self.tokenizer = Tokenizer.from_folder(folder)

    def count_tokens(self, messages: list[ChatMessage]) -> int:
        return len(self.tokenizer.render(messages, ThinkingParams()))


@pytest.fixture(scope="module", params=FOLDERS, ids=lambda folder: folder.name)
def engine(request: pytest.FixtureRequest) -> OneTokenizer:
    if not (request.param / "tokenizer.json").is_file():
        pytest.skip(f"{request.param} is not there")
    return OneTokenizer(request.param)


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("most", [7, 64, 1000])
def test_pieces_are_short_and_nothing_is_between_them(text: str, most: int) -> None:
    pieces = pieces_of(text, most)
    assert "".join(pieces) == text
    assert all(0 < len(piece) <= most for piece in pieces)


@pytest.mark.parametrize("name", ["prose", "code", "one paragraph", "ragged"])
def test_the_counts_of_pieces_add_up_to_that_of_the_whole(engine: OneTokenizer, name: str) -> None:
    text = TEXTS[name]
    pieces = pieces_of(text, 101)
    assert len(pieces) > 5
    assert sum(count_text(piece, engine) or 0 for piece in pieces) == count_text(text, engine)


def test_a_text_without_a_place_to_cut_is_off_by_a_token_a_cut(engine: OneTokenizer) -> None:
    text = "abcdefgh" * 1000
    pieces = pieces_of(text, 500)
    added = sum(count_text(piece, engine) or 0 for piece in pieces)
    whole = count_text(text, engine)
    assert whole is not None
    assert abs(added - whole) <= len(pieces)


def test_an_empty_text_is_one_piece() -> None:
    assert pieces_of("") == [""]
