"""Chinese, Japanese and Korean are composed in every field: Enter confirms, and sends nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtGui import QInputMethodEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QPlainTextEdit, QWidget

from app.chat_view import ChatState
from app.ui.inline_editor import InlineEditor
from engine.api import Channel
from tests.gui import scenes

WORDS = [
    pytest.param(["n", "ni", "nih", "ni hao"], "你好", id="Chinese"),
    pytest.param(["に", "にほ", "にほん", "日本"], "日本", id="Japanese"),
    pytest.param(["ㅎ", "하", "한"], "한", id="Korean"),
]


def compose(widget: QWidget, preedit: str) -> None:
    """A word that is not decided on yet, underlined in the field."""
    QCoreApplication.sendEvent(widget, QInputMethodEvent(preedit, []))


def commit(widget: QWidget, text: str) -> None:
    """The word is decided on."""
    event = QInputMethodEvent("", [])
    event.setCommitString(text)
    QCoreApplication.sendEvent(widget, event)


def text_of(widget: QWidget) -> str:
    return widget.toPlainText() if isinstance(widget, QPlainTextEdit) else widget.text()


def preedit_of(edit: QPlainTextEdit) -> str:
    """What is underlined now, as the field itself holds it."""
    return str(edit.textCursor().block().layout().preeditAreaText())


def composer(window) -> QWidget:
    window.composer.set_text("")
    return window.composer.edit


def chat_search(window) -> QWidget:
    return window.chats.search


def settings_search(window) -> QWidget:
    return window.settings_panel.search


def system_prompt(window) -> QWidget:
    return window.settings_panel.rows["system_prompt"].input


def preset_name(window) -> QWidget:
    window.settings_panel.presets.begin_naming()
    return window.settings_panel.presets.name_edit


def rename(window) -> QWidget:
    window.chats.list.setFocus()
    window.chats.rename_current()
    editor = window.chats.list.findChild(QLineEdit, "rename")
    assert editor is not None
    editor.clear()
    return editor


FIELDS = [composer, chat_search, settings_search, system_prompt, preset_name, rename]


@pytest.fixture
def told(window) -> list[str]:
    """Everything that Enter could have set off."""
    window.panels.restore("right", 0, collapsed=False)
    made: list[str] = []
    window.submitted.connect(lambda text: made.append(f"sent {text}"))
    window.preset_saved.connect(lambda name: made.append(f"saved {name}"))
    window.rename_requested.connect(lambda _, title: made.append(f"renamed {title}"))
    window.conversation_selected.connect(lambda _: made.append("opened"))
    return made


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.__name__)
@pytest.mark.parametrize(("steps", "word"), WORDS)
def test_a_word_is_composed_and_its_enter_does_nothing_else(
    window, told: list[str], field: Callable[[object], QWidget], steps: list[str], word: str
) -> None:
    widget = field(window)
    widget.setFocus()
    for step in steps:
        compose(widget, step)
        assert text_of(widget) == "", "what is composed is no text yet"
    # Some input methods pass the Enter on that decided the word.
    QTest.keyClick(widget, Qt.Key.Key_Return)
    assert told == []
    commit(widget, word)
    QTest.keyClick(widget, Qt.Key.Key_Space)
    compose(widget, steps[0])
    QTest.keyClick(widget, Qt.Key.Key_Return)
    QTest.keyClick(widget, Qt.Key.Key_Enter)
    commit(widget, word)
    assert text_of(widget) == f"{word} {word}"
    assert told == []


def test_enter_after_the_word_sends_it(window, told: list[str]) -> None:
    edit = composer(window)
    compose(edit, "ni hao")
    commit(edit, "你好")
    QTest.keyClick(edit, Qt.Key.Key_Return)
    assert told == ["sent 你好"]


def test_streaming_never_takes_what_is_being_composed(window, told: list[str]) -> None:
    edit = composer(window)
    edit.setFocus()
    commit(edit, "问题：")
    compose(edit, "ni hao")
    window.show_exchange(scenes.running("e1"))
    window.show_chat_state(ChatState.THINKING)
    for number in range(60):
        window.append_delta("e1", Channel.THINKING, f"Thought {number}. ", 3)
        if number % 20 == 0:
            QTest.qWait(40)
    window.show_chat_state(ChatState.ANSWERING)
    for number in range(60):
        window.append_delta("e1", Channel.ANSWER, f"**Answer** {number}. ", 3)
    QTest.qWait(80)
    assert preedit_of(edit) == "ni hao"
    assert edit.hasFocus()
    window.show_chat_state(ChatState.IDLE)
    assert preedit_of(edit) == "ni hao"
    commit(edit, "你好")
    assert text_of(edit) == "问题：你好"


def test_a_new_list_of_chats_leaves_a_title_that_is_composed(
    window, told: list[str], qtbot
) -> None:
    editor = rename(window)
    compose(editor, "xin")
    window.show_conversations(scenes.summaries(), None)
    commit(editor, "新标题")
    assert editor.text() == "新标题"
    assert editor.isVisible()
    QTest.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: told == ["renamed 新标题"], timeout=30_000)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.__name__)
def test_esc_that_gives_a_word_up_stops_nothing(
    window, told: list[str], field: Callable[[object], QWidget]
) -> None:
    stopped: list[bool] = []
    window.stop_requested.connect(lambda: stopped.append(True))
    widget = field(window)
    widget.setFocus()
    window.show_chat_state(ChatState.ANSWERING)
    commit(widget, "好")
    compose(widget, "ni")
    QTest.keyClick(widget, Qt.Key.Key_Escape)
    assert stopped == []
    assert text_of(widget) == "好", "the text that stood there stays"


def test_the_editor_in_place_waits_for_the_word_too(qtbot) -> None:
    editor = InlineEditor()
    qtbot.addWidget(editor)
    ended: list[str] = []
    editor.rejected.connect(lambda: ended.append("given up"))
    editor.accepted.connect(lambda: ended.append("asked"))
    compose(editor, "ni")
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    QTest.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert ended == []
    commit(editor, "你")
    QTest.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert ended == ["asked"]
    assert editor.toPlainText() == "你"


def test_the_hint_of_an_empty_field_is_not_drawn_below_the_word(window) -> None:
    edit = composer(window)
    hint = edit.placeholderText()
    assert hint
    compose(edit, "ni")
    compose(edit, "ni hao")
    assert edit.placeholderText() == ""
    compose(edit, "")
    assert edit.placeholderText() == hint
    compose(edit, "ni")
    commit(edit, "你")
    assert edit.placeholderText() == hint
