"""The status line: what happens is shown at once, what counts along a few times a second."""

from __future__ import annotations

import pytest

from app.chat_view import Status
from app.status_board import COUNT_S, StatusBoard
from tests.app.fakes import Clock


class View:
    def __init__(self) -> None:
        self.shown: list[Status] = []

    def show_status(self, status: Status) -> None:
        self.shown.append(status)


@pytest.fixture
def view() -> View:
    return View()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def board(view, clock) -> StatusBoard:
    return StatusBoard(view, clock)


def test_a_change_is_shown_at_once_and_only_if_it_is_one(board, view):
    board.change(phase="Thinking")
    board.change(phase="Thinking")
    board.change(phase="Answering")
    assert [status.phase for status in view.shown] == ["Thinking", "Answering"]


def test_counting_is_shown_four_times_a_second_however_often_it_changes(board, view, clock):
    for tokens in range(1, 301):
        board.count(context_tokens=tokens)
        clock.now += 0.01
    assert len(view.shown) <= 3 / COUNT_S + 1
    assert [status.context_tokens for status in view.shown[:2]] == [1, 26]
    assert board.status.context_tokens == 300


def test_what_was_counted_is_shown_with_the_next_change(board, view):
    board.count(context_tokens=1)
    board.count(context_tokens=7)
    board.change(phase="")
    assert [status.context_tokens for status in view.shown] == [1, 7]
