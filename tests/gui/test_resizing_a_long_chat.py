"""Panels and window are dragged beside a long chat (Capsize-Games/airunner#1263).

What is in view follows at once; the rest is laid out when it comes near. Milliseconds of a step are
in docs/complaints.md.
"""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint

from app.ui.exchange_widget import ExchangeWidget
from app.ui.main_window import MainWindow
from app.ui.rich_text import RichText
from tests.gui import scenes

COUNT = 20


@pytest.fixture
def long_window(window: MainWindow) -> MainWindow:
    """A chat of 20 exchanges that all have their widgets, read in its middle."""
    chat = [scenes.exchange(f"e{n}", answer=scenes.RICH_ANSWER) for n in range(COUNT)]
    scenes.show_chat(window, *chat)
    for exchange_id in window.transcript.exchange_ids:
        window.transcript.exchange_widget(exchange_id)
    scenes.settle(window)
    window.transcript.bring_into_view("e10", 0)
    scenes.settle(window)
    assert len(window.transcript.built_ids) == COUNT
    return window


@pytest.fixture
def laid_out(monkeypatch) -> list[str]:
    """The exchanges that are laid out, each time that one is."""
    seen: list[str] = []
    arrange = ExchangeWidget.arrange

    def recorded(self, width):
        seen.append(self.exchange.exchange_id)
        return arrange(self, width)

    monkeypatch.setattr(ExchangeWidget, "arrange", recorded)
    return seen


def in_view(window: MainWindow) -> set[str]:
    view = window.transcript.viewport()
    found = set()
    for exchange_id in window.transcript.built_ids:
        widget = window.transcript.exchange_widget(exchange_id)
        top = widget.mapTo(view, QPoint(0, 0)).y()
        if top < view.height() and top + widget.height() > 0:
            found.add(exchange_id)
    return found


def test_a_step_of_a_dragged_edge_lays_out_only_what_is_in_view(long_window, laid_out):
    before = in_view(long_window)
    steps = 5
    for step in range(steps):
        long_window._share.set_share(0.3 + 0.01 * step)
    assert set(laid_out) <= before | in_view(long_window)
    assert len(laid_out) <= steps * (len(before) + 1) < steps * COUNT / 3


def test_what_comes_into_view_later_has_the_new_width(long_window):
    long_window.resize(1300, 900)
    scenes.settle(long_window)
    transcript = long_window.transcript
    width = transcript.exchange_widget("e10").width()
    for exchange_id in ("e11", "e14", "e2", "e19", "e0"):
        transcript.bring_into_view(exchange_id, 0)
        scenes.settle(long_window)
        widget = transcript.exchange_widget(exchange_id)
        assert exchange_id in in_view(long_window)
        assert widget.width() == width
        assert widget.card.width() == width
        inner = widget.thinking.width() + widget.answer.width()
        assert abs(inner - widget.card.width()) <= 2
        assert widget.height() == widget.arrange(width), "no line of it is cut off"


def test_what_is_laid_out_above_does_not_move_what_is_read(long_window):
    transcript = long_window.transcript
    view = transcript.viewport()

    def line() -> str:
        body = transcript.exchange_widget("e10").answer.body
        for text in body.findChildren(RichText):
            above = text.mapFromGlobal(view.mapToGlobal(QPoint(0, 0))).y()
            if 0 <= above < text.height():
                return text.cursorForPosition(QPoint(0, above)).block().text()
        return ""

    transcript.bring_into_view("e10", view.height() // 4 + 400)
    scenes.settle(long_window)
    before = line()
    assert before
    for width in (1300, 1250, 1400):
        long_window.resize(width, 900)
        scenes.settle(long_window)  # the ones above are laid out one after the other meanwhile
        assert line() == before
