"""Keys for what is done most often to the last reply; the buttons are the judges."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.chat_view import ChatState
from app.conversation import Exchange, ReplyStatus
from tests.gui import scenes

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
CUT = {"status": ReplyStatus.STOPPED, "finish_reason": "cancelled"}


@pytest.fixture
def asked(window, qtbot):
    """What the window asks for."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=30_000)
    found = []
    window.regenerate_requested.connect(lambda name: found.append(("regenerate", name)))
    window.continue_requested.connect(lambda name: found.append(("continue", name)))
    window.answer_now_requested.connect(lambda: found.append(("answer now", "")))
    return found


def press(window, key, modifiers):
    QTest.qWait(30)
    QTest.keyClick(window.composer.edit, key, modifiers)


def two(**changes) -> tuple[Exchange, Exchange]:
    return scenes.exchange("e1"), scenes.exchange("e2", "Next?", **changes)


def test_ctrl_r_asks_for_another_version_of_the_last_answer(window, asked):
    scenes.show_chat(window, *two())
    press(window, Qt.Key.Key_R, CTRL)
    assert asked == [("regenerate", "e2")]


def test_ctrl_r_tries_a_failed_reply_again(window, asked):
    scenes.show_chat(window, *two(status=ReplyStatus.FAILED, finish_reason="", error_text="Broke."))
    press(window, Qt.Key.Key_R, CTRL)
    assert asked == [("regenerate", "e2")]


def test_ctrl_shift_r_goes_on_with_a_cut_reply_and_with_no_other(window, asked):
    scenes.show_chat(window, *two())
    press(window, Qt.Key.Key_R, CTRL | SHIFT)
    assert asked == []
    scenes.show_chat(window, *two(**CUT))
    press(window, Qt.Key.Key_R, CTRL | SHIFT)
    assert asked == [("continue", "e2")]


def test_while_a_reply_comes_these_keys_ask_for_nothing_but_the_answer(window, asked):
    scenes.show_chat(window, scenes.exchange("e1"))
    window.show_exchange(scenes.running("e2"))
    window.show_chat_state(ChatState.THINKING)
    press(window, Qt.Key.Key_R, CTRL)
    press(window, Qt.Key.Key_R, CTRL | SHIFT)
    assert asked == []
    press(window, Qt.Key.Key_A, CTRL | SHIFT)
    assert asked == [("answer now", "")]


def test_an_empty_chat_has_nothing_to_ask_again(window, asked):
    scenes.show_chat(window)
    press(window, Qt.Key.Key_R, CTRL)
    assert asked == []
