"""Formulas are drawn on another thread: their text stands there until the picture comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.chat_view import ChatState
from app.ui.formula_object import OBJECT_CHARACTER
from app.ui.rich_text import RichText
from engine.api import Channel
from tests.gui import scenes

ANSWER = "Before $a^2$, between\n\n$$\\frac{1}{\\lambda^4}$$\n\nand after $b^2$."


class Elsewhere:
    """Another thread that the test plays: holds jobs until `finish`."""

    def __init__(self) -> None:
        self.jobs: list[tuple[Callable[[], Any], Callable[[Any], None]]] = []

    def run(self, job: Callable[[], Any], on_done: Callable[[Any], None]) -> None:
        self.jobs.append((job, on_done))

    def finish(self, count: int = 100) -> None:
        for job, on_done in [self.jobs.pop(0) for _ in range(min(count, len(self.jobs)))]:
            on_done(job())


@pytest.fixture
def elsewhere(theme):
    made = Elsewhere()
    theme.formulas.draw_with(made.run)
    return made


def prose(window, exchange_id: str = "e1") -> RichText:
    [view] = window.transcript.exchange_widget(exchange_id).answer.body.segments
    assert isinstance(view, RichText)
    return view


def copied(view: RichText) -> str:
    view.selectAll()
    return view.createMimeDataFromSelection().text()


def test_a_formula_is_readable_text_until_it_is_drawn(window, elsewhere, qtbot):
    scenes.show_chat(window, scenes.exchange(answer=ANSWER, thinking="So $c^2$."))
    text = prose(window).toPlainText()
    assert "Before a^2, between" in text
    assert "(1)/(λ^4)" in text
    assert len(elsewhere.jobs) == 4
    elsewhere.finish()
    qtbot.waitUntil(
        lambda: prose(window).toPlainText().count(OBJECT_CHARACTER) == 3, timeout=30_000
    )
    assert "^" not in prose(window).toPlainText()
    assert copied(prose(window)) == (
        "Before $a^2$, between\n$$\\frac{1}{\\lambda^4}$$\nand after $b^2$."
    )
    thinking = window.transcript.exchange_widget("e1").thinking.view
    assert thinking.toPlainText().count(OBJECT_CHARACTER) == 1


def test_one_picture_can_come_before_the_others(window, elsewhere, qtbot):
    scenes.show_chat(window, scenes.exchange(answer=ANSWER, thinking=""))
    assert OBJECT_CHARACTER not in prose(window).toPlainText()
    elsewhere.finish(1)
    qtbot.waitUntil(lambda: OBJECT_CHARACTER in prose(window).toPlainText(), timeout=30_000)
    assert "b^2" in prose(window).toPlainText()
    elsewhere.finish()
    qtbot.waitUntil(lambda: "b^2" not in prose(window).toPlainText(), timeout=30_000)


def test_text_goes_on_streaming_around_pictures_that_come_late(window, elsewhere, qtbot):
    scenes.show_chat(window)
    window.show_exchange(scenes.running())
    window.show_chat_state(ChatState.ANSWERING)
    for part in ("First $a^2$ here.\n\nSecond\nline", " $b^2$ there"):
        window.append_delta("e1", Channel.ANSWER, part, 3)
        window.transcript._on_flush()
    elsewhere.finish()
    qtbot.waitUntil(
        lambda: prose(window).toPlainText().count(OBJECT_CHARACTER) == 2, timeout=30_000
    )
    window.append_delta("e1", Channel.ANSWER, " and on.\n\nThird.", 3)
    window.transcript._on_flush()
    assert prose(window).toPlainText().replace(OBJECT_CHARACTER, "#") == (
        "First # here.\nSecond\nline # there and on.\nThird."
    )


@pytest.mark.parametrize("tex", ["\\frac{1", "\\unknown{x}", "\\text{速度}"])
def test_a_formula_that_cannot_be_drawn_is_shown_as_it_was_written(window, elsewhere, qtbot, tex):
    scenes.show_chat(window, scenes.exchange(answer=f"So ${tex}$ it is.", thinking=""))
    told = []
    prose(window).formulas_drawn.connect(lambda: told.append(1))
    elsewhere.finish()
    qtbot.waitUntil(lambda: bool(told), timeout=30_000)
    assert prose(window).toPlainText() == f"So ${tex}$ it is."
    assert copied(prose(window)) == f"So ${tex}$ it is."


def test_a_formula_of_several_lines_is_replaced_as_a_whole(window, elsewhere, qtbot):
    matrix = "$$\\begin{pmatrix}\n1 & 2 \\\\\n3 & 4\n\\end{pmatrix}$$"
    scenes.show_chat(window, scenes.exchange(answer=f"A\n\n{matrix}\n\nB", thinking=""))
    assert prose(window).toPlainText().count("\n") > 2
    elsewhere.finish()
    qtbot.waitUntil(
        lambda: prose(window).toPlainText() == f"A\n{OBJECT_CHARACTER}\nB", timeout=30_000
    )


def test_the_answer_takes_the_height_of_its_pictures(window, elsewhere, qtbot):
    tall = "$$\\frac{\\frac{1}{2}}{\\frac{3}{4}}$$\n\n" * 12
    scenes.show_chat(window, scenes.exchange(answer=tall, thinking=""))
    before = window.transcript.exchange_widget("e1").height()
    elsewhere.finish()
    widget = window.transcript.exchange_widget("e1")
    qtbot.waitUntil(lambda: widget.height() > before + 100, timeout=30_000)


def test_each_formula_is_drawn_once_for_all_texts(window, elsewhere):
    scenes.show_chat(
        window,
        scenes.exchange("e1", answer="$z^9$", thinking=""),
        scenes.exchange("e2", answer="$z^9$ again", thinking=""),
    )
    prose(window, "e1")
    prose(window, "e2")
    assert len(elsewhere.jobs) == 1
