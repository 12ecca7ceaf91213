"""A long text that is shown anew in a chat where nothing runs is drawn to its end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from pytestqt.qtbot import QtBot

from app.conversation import Exchange
from app.ui.main_window import MainWindow
from tests.gui import scenes

PARAGRAPHS = 300


def long_text(word: str) -> str:
    lines = (f"Paragraph {number} has **many** {word}s in it." for number in range(PARAGRAPHS))
    return "\n\n".join((*lines, f"The last {word}."))


@pytest.fixture
def exchange(window: MainWindow, qtbot: QtBot) -> Exchange:
    """Two versions of a long reply, of which the first is shown to its end."""
    shown = scenes.exchange("e1", answer=long_text("apple"), thinking=long_text("plum"))
    [reply] = shown.replies
    other = replace(reply, reply_id="other", answer=long_text("pear"), thinking=long_text("fig"))
    shown = replace(shown, replies=(reply, other), chosen=0)
    scenes.show_chat(window, shown)
    qtbot.waitUntil(lambda: ends_with(window, "apple", "plum"), timeout=30_000)
    return shown


def ends_with(window: MainWindow, answer: str, thinking: str) -> bool:
    widget = window.transcript.exchange_widget("e1")
    texts = (widget.answer.body.texts()[-1].toPlainText(), widget.thinking.view.toPlainText())
    return texts[0].endswith(f"The last {answer}.") and texts[1].endswith(f"The last {thinking}.")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda theme: theme.set_look("dark", 15), id="dark"),
        pytest.param(lambda theme: theme.set_look("light", 22), id="zoom"),
    ],
)
def test_in_other_colours_or_sizes(
    window: MainWindow, exchange: Exchange, qtbot: QtBot, change: Callable[[object], None]
) -> None:
    change(window.theme)
    assert not ends_with(window, "apple", "plum"), "too short to take more than one turn"
    qtbot.waitUntil(lambda: ends_with(window, "apple", "plum"), timeout=30_000)
    assert not window.transcript.is_behind


def test_as_another_version(window: MainWindow, exchange: Exchange, qtbot: QtBot) -> None:
    window.show_exchange(replace(exchange, chosen=1))
    assert not ends_with(window, "pear", "fig"), "too short to take more than one turn"
    qtbot.waitUntil(lambda: ends_with(window, "pear", "fig"), timeout=30_000)
