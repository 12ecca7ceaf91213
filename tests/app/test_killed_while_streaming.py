"""A short run of `tests.app.probe_kill`: the real app is killed while it streams."""

from __future__ import annotations

import time

import pytest

from app.conversation import Reply
from tests.app.probe_kill import ALLOWED_LOSS_S, Shown, judge, kill_rounds
from tests.app.streaming_app import numbered

THINKING, ANSWER = numbered("t", 400).lstrip(), numbered("a", 800).lstrip()


def stored(thinking: int, answer: int) -> list[tuple[str, Reply | None]]:
    return [("q", Reply("r", THINKING[:thinking], ANSWER[:answer]))]


def test_the_judge_finds_lost_turns_lost_seconds_and_wrong_text():
    shown = Shown(["q"], [(10.0, 100, 0), (10.5, 200, 0), (11.0, 200, 50)])
    assert judge(shown, 11.2, stored(200, 50)).lost_s == 0.0
    assert judge(shown, 11.2, stored(100, 0)).lost_s == pytest.approx(0.7)
    assert judge(shown, 11.2, stored(200, 20)).lost_characters == 30
    assert judge(shown, 11.2, []).lost_turns == 1
    damaged: list[tuple[str, Reply | None]] = [("q", Reply("r", THINKING[:50] + THINKING[60:100]))]
    assert judge(shown, 11.2, damaged).wrong_text


def test_what_was_told_before_the_kill_is_read_whole_although_its_last_line_is_cut():
    lines = '{"asked": "q"}\n{"at": 1.0, "thinking": 2, "answer": 0}\n{"at": 1.1, "thin'
    assert Shown().read(lines) == Shown(["q"], [(1.0, 2, 0)])


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_five_kills_lose_no_turn_and_at_most_a_second_of_the_answer():
    rounds = kill_rounds(5, seed=round(time.time()), longest_s=2.0, tokens_per_s=900.0)
    assert sum(each.lost_turns for each in rounds) == 0
    assert not any(each.wrong_text for each in rounds)
    assert max(each.lost_s for each in rounds) <= ALLOWED_LOSS_S
