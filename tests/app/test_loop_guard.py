"""Loops of any length are noticed; tables, code, numbers and drawings are left alone."""

from __future__ import annotations

import random

import pytest

from app.loop_guard import LoopGuard, loop_period
from engine.api import Channel

WORDS = tuple(
    word
    for line in (
        "light wave air sky because scatter short long blue red eye sun far path day colour less",
        "more strong weak grow step think check again whole part number answer question reason",
    )
    for word in line.split()
)


def prose(words: int, seed: int = 1) -> str:
    """Text that does not repeat itself."""
    chance = random.Random(seed)
    return " ".join(chance.choice(WORDS) for _ in range(words)) + ". "


PARAGRAPH = prose(120, 2)
LONG_PARAGRAPH = prose(600, 3)

LOOPS = {
    "one letter": "a" * 700,
    "a laugh": "ha" * 300,
    "one word": "wait " * 200,
    "a short sentence": "Let me check that again. " * 30,
    "twelve tokens": "So the answer must be 42, but wait a moment. " * 33,
    "Chinese": "我再检查一遍这个答案。" * 40,
    "two lines": "Is it 7?\nNo, it is not 7.\n" * 40,
    "a paragraph": PARAGRAPH * 4,
    "a long paragraph": LONG_PARAGRAPH * 3,
    "a heading and a list": "## Step\n\n- first do this\n- then do that\n\n" * 12,
    "nothing but new lines": "\n" * 2_000,
    "a third": "0." + "3" * 2_500,
    "an emoji": "🙂" * 500,
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_noticed_after_other_text(name):
    assert loop_period(prose(300) + LOOPS[name]) > 0


@pytest.mark.parametrize(
    ("text", "period"),
    [("a" * 700, 1), ("ha" * 300, 2), ("wait " * 200, 5), (PARAGRAPH * 4, len(PARAGRAPH))],
)
def test_the_period_is_that_of_the_passage(text, period):
    assert loop_period(prose(50) + text) == period


def test_a_loop_is_noticed_wherever_its_text_breaks_off():
    text = prose(80) + PARAGRAPH * 4
    assert all(loop_period(text[: len(text) - cut]) == len(PARAGRAPH) for cut in (0, 1, 40, 99))


def table(rows: int) -> str:
    head = "| step | low | high | found |\n| --- | --- | --- | --- |\n"
    return head + "".join(f"| {i} | {i * 3} | {i * 7} | no |\n" for i in range(rows))


NO_LOOPS = {
    "prose": prose(2_000),
    "a table": table(80),
    "a table of the same words": "| name | yes | yes | no |\n|---|---|---|---|\n"
    + "".join(f"| {word} | yes | yes | no |\n" for word in WORDS),
    "a wide rule of a table": "|" + "----------|" * 30 + "\n",
    "deep indentation": "".join(f"{' ' * 4 * i}if x{i}:\n" for i in range(40)),
    "getters": "".join(
        f"    def {word}(self) -> int:\n        return self._{word}\n\n" for word in WORDS
    ),
    "numbers that count": ", ".join(str(i) for i in range(900)),
    "a numbered list": "".join(f"{i}. The square of {i} is {i * i}.\n" for i in range(120)),
    "a matrix of zeros": "["
    + ",\n ".join("[" + ", ".join("0" * 20) + "]" for _ in range(20))
    + "]",
    "a rule": "=" * 200,
    "a drawing": "+" + "-" * 58 + "+\n" + ("|" + " " * 58 + "|\n") * 20 + "+" + "-" * 58 + "+\n",
    "a chessboard": ("# . " * 8 + "\n" + " . #" * 8 + "\n") * 8,
    "a song": "".join(prose(30, seed) + "Row, row, row your boat. " for seed in range(8)),
    "a word said six times": prose(40) + "no, " * 6,
    "a sentence said three times": prose(40) + "I must not talk in class. " * 3,
    "a paragraph said twice": prose(40) + PARAGRAPH * 2,
    "base64": "".join(random.Random(5).choices("ABCDEFabcdef0123456789+/", k=4_000)),
    "a short text": "ha" * 20,
    "nothing": "",
}


@pytest.mark.parametrize("name", NO_LOOPS)
def test_good_text_is_no_loop_at_any_of_its_lengths(name):
    text = NO_LOOPS[name]
    ends = range(0, len(text) + 1, max(1, len(text) // 60))
    assert [end for end in [*ends, len(text)] if loop_period(text[:end])] == []


def test_a_loop_that_was_left_is_none_any_more():
    assert loop_period("wait " * 200 + prose(60)) == 0


def tokens(text: str) -> list[str]:
    return [text[i : i + 4] for i in range(0, len(text), 4)]


def test_twelve_tokens_over_and_over_are_noticed_within_two_hundred():
    guard = LoopGuard()
    assert not any(guard.add(Channel.THINKING, token) for token in tokens(prose(300)))
    loop = tokens("So the answer must be 42, but wait a moment.    ") * 34
    fired = [i for i, token in enumerate(loop) if guard.add(Channel.THINKING, token)]
    assert len(fired) == 1, "once, not with every token"
    assert fired[0] < 200


def test_each_channel_is_told_once_and_begins_anew():
    guard = LoopGuard()
    half = "wait " * 60
    assert not guard.add(Channel.THINKING, half)
    assert not guard.add(Channel.ANSWER, half), "the thinking is not part of the answer"
    assert guard.add(Channel.ANSWER, half)
    assert not guard.add(Channel.ANSWER, half * 5)
    assert guard.add(Channel.THINKING, half * 2)


def test_a_loop_in_one_large_piece_is_noticed_too():
    assert LoopGuard().add(Channel.ANSWER, prose(3_000) + LONG_PARAGRAPH * 3)


def test_half_a_letter_and_lone_surrogates_do_no_harm():
    assert loop_period("\ud800" * 1_000) >= 0
    assert loop_period("语" * 1_000) == 3
