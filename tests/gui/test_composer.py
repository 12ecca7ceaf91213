"""Writing a question: Enter, Shift+Enter, input methods, Stop, drafts, pasting."""

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QGuiApplication, QInputMethodEvent, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.chat_view import ChatState
from app.conversation import Conversation
from app.settings import with_value
from app.ui.composer import LONG_PASTE_CHARS, MAX_CHARS
from engine.api import Capability
from tests.gui import scenes


@pytest.fixture
def sent(window):
    texts = []
    window.submitted.connect(texts.append)
    return texts


def compose(edit, preedit, commit=""):
    event = QInputMethodEvent(preedit, [])
    event.setCommitString(commit)
    QApplication.sendEvent(edit, event)


def test_enter_sends_the_question_and_empties_the_field(window, qtbot, sent):
    qtbot.keyClicks(window.composer.edit, "  Why is the sky blue? ")
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
    assert sent == ["Why is the sky blue?"]
    assert window.composer.text == ""


def test_enter_on_the_number_pad_sends_too(window, qtbot, sent):
    qtbot.keyClicks(window.composer.edit, "Hi")
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    assert sent == ["Hi"]


def test_shift_enter_breaks_the_line_and_sends_nothing(window, qtbot, sent):
    edit = window.composer.edit
    qtbot.keyClicks(edit, "one")
    qtbot.keyClick(edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(edit, "two")
    assert sent == []
    assert window.composer.text == "one\ntwo"


def test_enter_that_confirms_an_input_method_never_sends(window, qtbot, sent):
    edit = window.composer.edit
    qtbot.keyClicks(edit, "a")
    compose(edit, "nihao")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert sent == []
    compose(edit, "", commit="你好")
    assert window.composer.text == "a你好"
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert sent == ["a你好"]


def test_an_input_method_that_is_given_up_lets_enter_send_again(window, qtbot, sent):
    edit = window.composer.edit
    qtbot.keyClicks(edit, "a")
    compose(edit, "ni")
    compose(edit, "")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert sent == ["a"]


def test_an_empty_question_is_not_sent(window, qtbot, sent):
    qtbot.keyClicks(window.composer.edit, "   ")
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
    assert sent == []
    window.composer.edit.clear()
    assert not window.composer.send.isEnabled()


def test_a_storm_of_enters_and_clicks_sends_once(window, qtbot, sent):
    qtbot.keyClicks(window.composer.edit, "once")
    for _ in range(20):
        qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
        qtbot.mouseClick(window.composer.send, Qt.MouseButton.LeftButton)
    assert sent == ["once"]


def test_while_a_reply_runs_stop_takes_the_place_of_send(window, qtbot, sent):
    scenes.scene_thinking(window)
    assert not window.composer.send.isVisible()
    assert window.composer.stop.isVisible()
    qtbot.keyClicks(window.composer.edit, "next question")
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
    assert sent == []
    assert window.composer.text == "next question"
    with qtbot.waitSignal(window.stop_requested):
        qtbot.mouseClick(window.composer.stop, Qt.MouseButton.LeftButton)
    window.show_chat_state(ChatState.STOPPING)
    assert not window.composer.stop.isEnabled()
    window.show_chat_state(ChatState.IDLE)
    assert window.composer.send.isVisible()
    assert window.composer.text == "next question"


def test_escape_stops_a_running_reply_and_nothing_else(window, qtbot):
    stops = []
    window.stop_requested.connect(lambda: stops.append(1))
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Escape)
    assert stops == []
    scenes.scene_answering(window)
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Escape)
    assert stops == [1]
    window.show_chat_state(ChatState.STOPPING)
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Escape)
    assert stops == [1]


def test_a_draft_is_told_after_a_pause(window, qtbot):
    with qtbot.waitSignal(window.draft_changed, timeout=30_000) as told:
        qtbot.keyClicks(window.composer.edit, "half a thought")
    assert told.args == ["half a thought"]


def test_a_draft_is_told_before_another_chat_is_opened(window, qtbot):
    order = []
    window.draft_changed.connect(lambda text: order.append(("draft", text)))
    window.conversation_selected.connect(lambda chat: order.append(("chat", chat)))
    window.new_chat_requested.connect(lambda: order.append(("new", "")))
    qtbot.keyClicks(window.composer.edit, "mine")
    window.chats.list.opened.emit("c2")
    qtbot.keyClicks(window.composer.edit, "!")
    qtbot.mouseClick(window.chats.new_chat, Qt.MouseButton.LeftButton)
    assert order == [("draft", "mine"), ("chat", "c2"), ("draft", "mine!"), ("new", "")]


def test_a_draft_is_told_when_the_window_closes(window, qtbot):
    order = []
    window.draft_changed.connect(order.append)
    window.closing.connect(lambda: order.append("closing"))
    qtbot.keyClicks(window.composer.edit, "last words")
    window.close()
    assert order == ["last words", "closing"]


def test_a_chat_brings_its_draft_back_and_does_not_tell_it_as_new(window, qtbot):
    told = []
    window.draft_changed.connect(told.append)
    scenes.show_chat(window, draft="kept")
    assert window.composer.text == "kept"
    qtbot.wait(400)
    assert told == []


def test_a_sent_question_leaves_no_draft_behind(window, qtbot, sent):
    told = []
    window.draft_changed.connect(told.append)
    qtbot.keyClicks(window.composer.edit, "gone")
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
    qtbot.wait(400)
    assert told in ([], [""])


def test_pasting_takes_plain_text_only(window):
    data = QMimeData()
    data.setHtml("<b>bold</b><img src='https://x.example/a.png'>")
    data.setText("bold\r\nline")
    window.composer.edit.insertFromMimeData(data)
    assert window.composer.text == "bold\nline"
    picture = QMimeData()
    picture.setImageData(window.grab().toImage())
    assert not window.composer.edit.canInsertFromMimeData(picture)


@pytest.fixture
def pasted(window):
    told = []
    window.long_text_pasted.connect(told.append)
    return told


def paste(window, text):
    """By the key, from the clipboard."""
    QGuiApplication.clipboard().setText(text)
    QTest.keySequence(window.composer.edit, QKeySequence.StandardKey.Paste)


def test_a_paste_of_a_million_letters_is_told_whole_and_the_question_stays(window, qtbot, pasted):
    qtbot.keyClicks(window.composer.edit, "before ")
    text = "a" * 999_998 + "é\n"
    paste(window, text)
    paste(window, text)
    assert pasted == [text, text]
    assert window.composer.text == "before "


def test_a_paste_is_edited_in_the_field_up_to_a_length(window, pasted):
    paste(window, "word " * (LONG_PASTE_CHARS // 5))
    assert len(window.composer.text) == LONG_PASTE_CHARS
    assert pasted == []
    paste(window, "w" * (LONG_PASTE_CHARS + 1))
    assert len(pasted) == 1


def test_nothing_of_a_short_paste_is_lost_either(window, pasted):
    paste(window, "one\r\ntwo\rthree\x00four\x1b שלום 🙂\u2028five")
    assert window.composer.text == "one\ntwo\nthree␀four\x1b שלום 🙂\nfive"
    assert pasted == []


def test_many_pastes_do_not_make_the_field_slow(window, pasted):
    for _ in range(MAX_CHARS // LONG_PASTE_CHARS + 1):
        paste(window, "word " * (LONG_PASTE_CHARS // 5))
    assert len(window.composer.text) <= MAX_CHARS
    assert len(pasted) == 1


def test_undo_takes_a_long_paste_back_only_right_after_it(window, qtbot, pasted):
    undone = []
    window.paste_undone.connect(lambda: undone.append(True))
    qtbot.keyClicks(window.composer.edit, "typed")
    paste(window, "a" * 100_000)
    QTest.keySequence(window.composer.edit, QKeySequence.StandardKey.Undo)
    assert (undone, window.composer.text) == ([True], "typed")
    QTest.keySequence(window.composer.edit, QKeySequence.StandardKey.Undo)
    assert len(undone) == 1
    assert window.composer.text != "typed", "the words are undone next"
    paste(window, "a" * 100_000)
    qtbot.keyClicks(window.composer.edit, "x")
    QTest.keySequence(window.composer.edit, QKeySequence.StandardKey.Undo)
    assert len(undone) == 1


def test_a_long_paste_without_spaces_is_broken_anywhere_so_that_it_stays_quick(window):
    edit = window.composer.edit
    usual = edit.wordWrapMode()
    data = QMimeData()
    data.setText("a" * 20_000)
    edit.insertFromMimeData(data)
    assert len(window.composer.text) == 20_000
    assert edit.wordWrapMode() != usual


def test_the_field_grows_to_eight_lines_and_then_scrolls(window, qtbot):
    edit = window.composer.edit
    one = edit.height()
    edit.setPlainText("\n".join("abc"))
    three = edit.height()
    edit.setPlainText("\n" * 7)
    eight = edit.height()
    edit.setPlainText("\n" * 40)
    assert one < three < eight
    assert edit.height() == eight
    assert edit.verticalScrollBar().maximum() > 0
    edit.clear()
    assert edit.height() == one


def test_the_field_is_one_line_again_after_each_long_question(window, qtbot):
    edit = window.composer.edit
    one = edit.height()
    for _ in range(3):
        for text in ("word " * 300, "a\n" * 20, "word " * 300):
            window.composer.set_text(text)
            QTest.qWait(60)  # the scroll bar comes and takes its room
        assert edit.height() > one
        qtbot.keyClick(edit, Qt.Key.Key_Return)
        qtbot.waitUntil(lambda: edit.height() == one, timeout=30_000)


def test_the_switch_says_so_when_the_model_cannot_think(window, qtbot):
    changes = []
    window.settings_changed.connect(changes.append)
    window.show_capabilities(frozenset())
    assert window.composer.thinking.text() == "Does not think"
    assert not window.settings_panel.rows["thinking_budget_tokens"].isEnabled()
    qtbot.mouseClick(window.composer.thinking, Qt.MouseButton.LeftButton)
    assert changes == []
    window.show_capabilities(frozenset({Capability.THINKING}))
    assert window.composer.thinking.text() == "Thinking on"
    assert window.settings_panel.rows["thinking_budget_tokens"].isEnabled()


def test_the_thinking_switch_changes_the_setting(window, qtbot):
    with qtbot.waitSignal(window.settings_changed) as told:
        qtbot.mouseClick(window.composer.thinking, Qt.MouseButton.LeftButton)
    assert told.args[0].thinking_enabled is False
    assert told.args[0].temperature == 0.7
    assert window.composer.thinking.text() == "Thinking off"


def test_greedy_choice_is_no_danger_for_a_model_that_cannot_think(window):
    window.show_capabilities(frozenset())
    window.show_settings(with_value(window.settings_panel.settings, "temperature", 0.0))
    assert window.composer.thinking.text() == "Does not think"
    assert "answers at once" in window.composer.thinking.toolTip()
    assert window.settings_panel.rows["temperature"].message == ""
    window.show_capabilities(frozenset(Capability))
    assert window.composer.thinking.isChecked()
    assert "repeat itself" in window.settings_panel.rows["temperature"].message


def test_enter_while_a_reply_runs_keeps_the_question_and_says_so(window, qtbot):
    window.show_exchange(scenes.running())
    window.show_chat_state(ChatState.ANSWERING)
    qtbot.keyClicks(window.composer.edit, "And then?")
    with qtbot.assertNotEmitted(window.submitted):
        qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
    assert window.composer.text == "And then?"
    [notice] = window.notices.notices
    assert "stays here" in notice.text
    window.show_chat_state(ChatState.IDLE)
    assert window.notices.notices == ()
    with qtbot.waitSignal(window.submitted) as told:
        qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
    assert told.args == ["And then?"]


def test_nothing_moves_when_stop_takes_the_place_of_send(window):
    window.show_exchange(scenes.running())
    parts = (window.composer, window.composer.edit, window.composer.thinking)
    before = [part.geometry() for part in parts]
    window.show_chat_state(ChatState.ANSWERING)
    QTest.qWait(50)
    assert window.composer.stop.isVisible()
    assert [part.geometry() for part in parts] == before
    window.show_chat_state(ChatState.STOPPING)
    QTest.qWait(50)
    assert window.composer.stop.text() == "Stopping"
    assert [part.geometry() for part in parts] == before


def test_words_typed_in_the_moment_in_which_a_chat_is_shown_are_kept(window, qtbot):
    composer = window.composer
    window.show_conversation(Conversation("c1", draft="old"))
    assert composer.text == "old"
    qtbot.keyClicks(composer.edit, " and new")
    window.show_conversation(Conversation("c1", draft="old"))
    assert composer.text == "old and new", "the same chat, shown again"
    window.show_conversation(Conversation("c2", draft="its own"))
    assert composer.text == "its own\nold and new", "another one, as at the start of the app"
    composer.flush_draft()
    window.show_conversation(Conversation("c3"))
    assert composer.text == "", "what was told belongs to the chat that was left"
