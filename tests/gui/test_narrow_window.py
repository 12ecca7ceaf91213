"""A narrow conversation between two open panels stays readable."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QLabel, QTextEdit

from app.settings import with_value
from app.ui.controls import ElidedLabel
from tests.gui import scenes


@pytest.fixture
def narrow(window):
    """Just too wide for panels that lie over the conversation."""
    window.resize(window.theme.metrics.overlay_below, 700)
    window.panels.restore("right", 0, collapsed=False)
    scenes.scene_rich(window)
    scenes.settle(window)
    return window


def test_the_conversation_folds_by_its_own_width(narrow):
    assert narrow._share.folded
    narrow.panels.toggle("right")
    narrow.panels.toggle("left")
    scenes.settle(narrow)
    assert not narrow._share.folded


def test_wide_code_begins_at_its_left(narrow):
    codes = [
        view
        for view in narrow.transcript.findChildren(QTextEdit)
        if view.lineWrapMode() is QTextEdit.LineWrapMode.NoWrap
        and view.horizontalScrollBar().maximum() > 0
    ]
    assert codes
    assert [view.horizontalScrollBar().value() for view in codes] == [0] * len(codes)


def test_the_thinking_switch_shows_all_its_words(narrow):
    button = narrow.composer.thinking
    words = button.fontMetrics().horizontalAdvance(button.text())
    assert button.width() > words


def test_a_short_form_takes_over_when_the_font_grows_and_the_place_does_not(qtbot, theme):
    line = ElidedLabel("quiet")
    qtbot.addWidget(line)
    theme.dress(line)
    line.set_full_text("for 12 s, 310 tokens", "for 12 s")
    line.setFixedSize(line.sizeHint())
    line.show()
    assert line.text() == "for 12 s, 310 tokens"
    theme.set_look("light", 24)
    qtbot.waitUntil(lambda: line.text() == "for 12 s", timeout=30_000)


@pytest.mark.parametrize("size", [16, 18, 22, 28])
def test_the_words_above_the_thinking_are_whole_at_every_font_size(window, size):
    # Short texts: the exchange has its least height before and after.
    short = scenes.reply(thinking="Hm.", answer="Yes.")
    scenes.show_chat(window, replace(scenes.exchange("e1"), replies=(short,)))
    scenes.settle(window)
    window.show_settings(with_value(window.settings, "font_size", size))
    pane = window.transcript.exchange_widget("e1").thinking
    title = next(each for each in pane.findChildren(QLabel) if each.text() == "Thought")
    assert title.width() >= title.sizeHint().width()
