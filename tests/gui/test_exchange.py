"""Thinking beside answer: counters, splitter, actions, and that neither pane moves the other."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from app.chat_view import ChatState
from app.conversation import NO_SEED, Exchange, ReplyStatus
from app.settings import WindowState
from engine.api import Channel
from tests.gui import scenes


@pytest.fixture
def answering(window, qtbot):
    """A reply that has thought and answered a little."""
    scenes.scene_answering(window)
    flush(window)
    return window.transcript.exchange_widget("e1")


def flush(window):
    scenes.settle(window)


def test_thinking_stands_to_the_left_of_the_answer(window, qtbot):
    scenes.scene_done(window)
    flush(window)
    widget = window.transcript.exchange_widget("e1")
    assert widget.thinking.geometry().right() <= widget.answer.geometry().left()
    assert widget.thinking.y() == widget.answer.y()
    assert widget.thinking.height() == widget.answer.height()


def test_however_long_the_thinking_the_answer_never_moves(window, answering, qtbot):
    answer, bar = answering.answer, window.transcript.verticalScrollBar()
    before = (answer.geometry(), answer.body.geometry(), answering.geometry(), bar.value())
    for _ in range(40):
        window.append_delta("e1", Channel.THINKING, scenes.THINKING, 300)
    flush(window)
    assert (answer.geometry(), answer.body.geometry(), answering.geometry(), bar.value()) == before
    assert answering.thinking.view.verticalScrollBar().maximum() > 1_000


def test_the_answer_never_moves_what_is_being_read_of_the_thinking(window, answering):
    for _ in range(10):
        window.append_delta("e1", Channel.THINKING, scenes.THINKING, 300)
    flush(window)
    bar = answering.thinking.view.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    place = bar.value()
    window.append_delta("e1", Channel.ANSWER, "\n\nshort", 2)
    flush(window)
    assert bar.value() == place


def test_the_answer_sets_the_height_and_a_short_one_has_a_least(window):
    scenes.show_chat(window, scenes.exchange(answer="Yes."))
    flush(window)
    short = window.transcript.exchange_widget("e1").card.height()
    scenes.show_chat(window, scenes.exchange(answer="Yes.", thinking=scenes.THINKING * 30))
    flush(window)
    assert window.transcript.exchange_widget("e1").card.height() == short >= 240
    scenes.show_chat(window, scenes.exchange(answer="Yes.\n\n" * 60))
    flush(window)
    assert window.transcript.exchange_widget("e1").card.height() > 1_000


def test_the_thinking_stays_in_view_while_a_long_answer_is_read(window):
    scenes.show_chat(window, scenes.exchange(answer="A line.\n\n" * 120))
    flush(window)
    view = window.transcript.viewport()
    thinking = window.transcript.exchange_widget("e1").thinking
    bar = window.transcript.verticalScrollBar()
    for value in (0, bar.maximum() // 2, bar.maximum()):
        bar.setValue(value)
        flush(window)
        text = thinking.view
        top = text.mapTo(window.transcript, QPoint(0, 0)).y()
        assert text.height() <= view.height()
        assert 0 <= top < view.height(), value
        assert text.isVisible()


def test_live_thinking_follows_its_end_until_the_reader_scrolls_up(window):
    scenes.scene_thinking(window)
    window.append_delta("e1", Channel.THINKING, scenes.THINKING * 5, 900)
    flush(window)
    pane = window.transcript.exchange_widget("e1").thinking
    bar = pane.view.verticalScrollBar()
    assert bar.value() == bar.maximum() > 0
    bar.setValue(10)
    window.append_delta("e1", Channel.THINKING, scenes.THINKING, 100)
    flush(window)
    assert bar.value() == 10
    bar.setValue(bar.maximum())
    window.append_delta("e1", Channel.THINKING, scenes.THINKING, 100)
    flush(window)
    assert bar.value() == bar.maximum()


def test_thinking_that_is_over_is_read_from_its_beginning(window):
    scenes.show_chat(window, scenes.exchange(thinking=scenes.THINKING * 5))
    flush(window)
    bar = window.transcript.exchange_widget("e1").thinking.view.verticalScrollBar()
    assert bar.maximum() > 0
    assert bar.value() == 0


def test_the_header_counts_while_it_thinks_and_then_says_how_long(window):
    scenes.show_chat(window)
    window.show_exchange(scenes.running())
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("e1", Channel.THINKING, "Hm", 1_096)
    flush(window)
    pane = window.transcript.exchange_widget("e1").thinking
    assert pane.header_text.startswith("Thinking 0.")
    assert pane.header_text.endswith("s · 1,096 tokens")
    assert pane.answer_now_button.isVisible()
    window.show_chat_state(ChatState.ANSWERING)
    assert pane.header_text.startswith("Thought for 0.")
    assert not pane.answer_now_button.isVisible()
    window.show_exchange(scenes.exchange())
    window.show_chat_state(ChatState.IDLE)
    assert pane.header_text == "Thought for 12 s, 310 tokens"


def test_the_seconds_that_the_engine_measured_stay_when_a_reply_ends_while_thinking(window):
    """A fast model's whole reply comes in one piece: the window's own clock saw nothing of it."""
    scenes.show_chat(window)
    window.show_exchange(scenes.running())
    window.show_chat_state(ChatState.THINKING)
    window.show_exchange(scenes.exchange())
    window.show_chat_state(ChatState.IDLE)
    pane = window.transcript.exchange_widget("e1").thinking
    assert pane.header_text == "Thought for 12 s, 310 tokens"


def test_answer_now_is_asked_for_by_its_link(window, qtbot):
    scenes.scene_thinking(window)
    flush(window)
    pane = window.transcript.exchange_widget("e1").thinking
    with qtbot.waitSignal(window.answer_now_requested):
        qtbot.mouseClick(pane.answer_now_button, Qt.MouseButton.LeftButton)


def test_before_the_first_token_it_says_what_it_reads_and_for_how_long(window):
    scenes.scene_waiting(window)
    answer = window.transcript.exchange_widget("e1").answer
    assert answer.waiting_text == "Reading the conversation: 768 of 2,048 tokens"
    assert answer.info_text.endswith(" s")
    window.show_chat_state(ChatState.ANSWERING)
    window.append_delta("e1", Channel.ANSWER, "Now", 1)
    flush(window)
    assert answer.waiting_text == ""


def test_what_a_reply_waits_for_is_said_until_its_prompt_is_read(window):
    scenes.scene_waiting(window)
    answer = window.transcript.exchange_widget("e1").answer
    window.show_wait("e1", "Loading Qwen3-0.6B", 0.4)
    assert answer.waiting_text == "Loading Qwen3-0.6B"
    assert answer._meter.share == 0.4
    window.show_wait("e1", "", None)
    assert answer.waiting_text == "Reading the conversation: 768 of 2,048 tokens"
    window.show_wait("unknown", "nothing", None)


def test_the_thinking_budget_stands_where_the_answer_will_come(window):
    scenes.scene_thinking(window)
    flush(window)
    answer = window.transcript.exchange_widget("e1").answer
    assert answer.info_text == "comes after the thinking"
    assert answer.waiting_text == "Budget: 1,096 of 2,048 tokens"


def test_a_reply_that_did_not_think_says_so(window):
    scenes.show_chat(window, scenes.exchange(thinking="", thinking_tokens=0, thinking_s=0.0))
    flush(window)
    widget = window.transcript.exchange_widget("e1")
    texts = [label.text() for label in widget.thinking.findChildren(type(widget.thinking._empty))]
    assert "Did not think" in texts
    plain = scenes.exchange(thinking="", thinking_enabled=False, thinking_tokens=0)
    scenes.show_chat(window, plain)
    flush(window)
    widget = window.transcript.exchange_widget("e1")
    assert not widget.thinking.isVisible()
    assert "without thinking" in widget.answer.info_text


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (ReplyStatus.DONE, "end", "stopped by itself"),
        (ReplyStatus.STOPPED, "cancelled", "stopped by you"),
        (ReplyStatus.DONE, "max_new_tokens", "reached the token limit"),
        (ReplyStatus.DONE, "context_full", "context full"),
        (ReplyStatus.INTERRUPTED, "", "interrupted when the app ended"),
    ],
)
def test_the_reader_is_told_why_a_reply_ended(window, status, reason, words):
    scenes.show_chat(window, scenes.exchange(status=status, finish_reason=reason))
    assert window.transcript.exchange_widget("e1").answer.reason_text == words


@pytest.mark.parametrize(
    ("status", "reason", "offered"),
    [
        (ReplyStatus.STOPPED, "cancelled", True),
        (ReplyStatus.DONE, "max_new_tokens", True),
        (ReplyStatus.INTERRUPTED, "", True),
        (ReplyStatus.DONE, "end", False),
        (ReplyStatus.DONE, "context_full", False),
    ],
)
def test_only_a_reply_that_was_cut_can_be_continued(window, status, reason, offered):
    scenes.show_chat(window, scenes.exchange(status=status, finish_reason=reason))
    flush(window)
    button = window.transcript.exchange_widget("e1").answer.action("continue")
    assert button.isVisible() == offered


def test_only_the_last_reply_can_be_continued(window):
    cut = {"status": ReplyStatus.STOPPED, "finish_reason": "cancelled"}
    scenes.show_chat(window, scenes.exchange("e1", **cut))
    flush(window)
    first = window.transcript.exchange_widget("e1").answer.action("continue")
    assert first.isVisible()
    window.show_exchange(scenes.exchange("e2", **cut))
    flush(window)
    assert not first.isVisible()
    assert window.transcript.exchange_widget("e2").answer.action("continue").isVisible()


def test_a_failed_reply_gives_one_sentence_and_one_action(window, qtbot):
    scenes.scene_failed(window)
    flush(window)
    answer = window.transcript.exchange_widget("e1").answer
    assert answer.failure_text.startswith("The GPU has too little free memory")
    assert not answer.action("regenerate").isVisible()
    with qtbot.waitSignal(window.regenerate_requested) as told:
        qtbot.mouseClick(answer.action("retry"), Qt.MouseButton.LeftButton)
    assert told.args == ["e1"]


def test_copy_takes_the_answer_as_it_was_written(window, qtbot):
    scenes.scene_done(window)
    flush(window)
    answer = window.transcript.exchange_widget("e1").answer
    qtbot.mouseClick(answer.action("copy"), Qt.MouseButton.LeftButton)
    assert QApplication.clipboard().text() == scenes.ANSWER
    assert answer.action("copy").text() == "Copied"


def test_edit_asks_the_changed_question_again(window, qtbot):
    scenes.scene_done(window)
    flush(window)
    widget = window.transcript.exchange_widget("e1")
    qtbot.mouseClick(widget.answer.action("edit"), Qt.MouseButton.LeftButton)
    editor = widget.bubble.editor
    assert editor.toPlainText() == scenes.QUESTION
    editor.setPlainText("Another question")
    with qtbot.waitSignal(window.edit_requested) as told:
        qtbot.keyClick(editor, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert told.args == ["e1", "Another question"]


def test_edit_can_be_given_up(window, qtbot):
    scenes.scene_done(window)
    flush(window)
    widget = window.transcript.exchange_widget("e1")
    asked = []
    window.edit_requested.connect(lambda *args: asked.append(args))
    widget.bubble.begin_edit()
    assert widget.bubble.editor.isVisible()
    qtbot.keyClick(widget.bubble.editor, Qt.Key.Key_Escape)
    assert not widget.bubble.editor.isVisible()
    assert asked == []


def test_arrows_walk_through_the_versions_of_a_reply(window, qtbot):
    replies = tuple(scenes.reply(reply_id=f"r{i}", answer=f"Version {i}") for i in range(3))
    scenes.show_chat(window, Exchange("e1", "Q", replies, 1))
    flush(window)
    answer = window.transcript.exchange_widget("e1").answer
    chosen = []
    window.reply_chosen.connect(lambda *args: chosen.append(args))
    qtbot.mouseClick(answer.versions.earlier, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(answer.versions.later, Qt.MouseButton.LeftButton)
    assert chosen == [("e1", 0), ("e1", 2)]
    window.show_exchange(Exchange("e1", "Q", replies, 2))
    assert answer.body.text == "Version 2"
    assert not answer.versions.later.isEnabled()


def test_nothing_new_can_be_asked_of_a_reply_while_one_runs(window, answering):
    scenes.show_chat(window, scenes.exchange("e0"))
    window.show_exchange(scenes.running("e1"))
    window.show_chat_state(ChatState.ANSWERING)
    flush(window)
    old = window.transcript.exchange_widget("e0").answer
    assert not old.action("regenerate").isEnabled()
    assert not old.action("edit").isEnabled()
    assert old.action("copy").isEnabled()
    window.show_chat_state(ChatState.IDLE)
    assert old.action("regenerate").isEnabled()


def test_what_the_model_no_longer_sees_is_marked(window):
    scenes.scene_versions(window)
    window.transcript.verticalScrollBar().setValue(0)
    flush(window)
    seen = [
        w for w in window.transcript.exchange_widget("e0").findChildren(type(window.chats._empty))
    ]
    marks = [w for w in seen if w.text() == "The model no longer sees this"]
    assert marks
    assert marks[0].isVisible()


def drag(qtbot, grip, by):
    start = grip.rect().center()
    qtbot.mousePress(grip, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(grip, start + QPoint(by, 0))
    qtbot.mouseRelease(grip, Qt.MouseButton.LeftButton, pos=grip.rect().center())


def test_the_splitter_is_shared_by_all_exchanges_and_remembered(window, qtbot):
    scenes.show_chat(window, scenes.exchange("e1"), scenes.exchange("e2"))
    flush(window)
    first = window.transcript.exchange_widget("e1")
    second = window.transcript.exchange_widget("e2")
    before = first.thinking.width()
    drag(qtbot, second.grip, 100)
    assert first.thinking.width() == second.thinking.width() == pytest.approx(before + 100, abs=2)
    state = window.window_state()
    assert state.thinking_share == pytest.approx(
        (before + 100) / (first.card.width() - 2), abs=0.01
    )
    window.restore_window_state(WindowState(thinking_share=0.38, settings_collapsed=False))
    window.restore_window_state(state)
    assert window.transcript.exchange_widget("e1").thinking.width() == first.thinking.width()


def test_neither_pane_can_be_dragged_away(window, qtbot):
    scenes.scene_done(window)
    flush(window)
    widget = window.transcript.exchange_widget("e1")
    drag(qtbot, widget.grip, -2_000)
    assert widget.thinking.width() == 240
    drag(qtbot, widget.grip, 4_000)
    assert widget.answer.width() >= 240


def test_the_splitter_moves_by_arrow_keys_and_goes_back_on_a_double_click(window, qtbot):
    scenes.scene_done(window)
    flush(window)
    widget = window.transcript.exchange_widget("e1")
    before = widget.thinking.width()
    qtbot.keyClick(widget.grip, Qt.Key.Key_Right)
    assert widget.thinking.width() > before
    qtbot.mouseDClick(widget.grip, Qt.MouseButton.LeftButton)
    assert widget.thinking.width() == before


def test_thinking_hides_by_its_button_and_comes_back_by_the_key(window, qtbot):
    scenes.scene_done(window)
    flush(window)
    widget = window.transcript.exchange_widget("e1")
    with qtbot.waitSignal(window.settings_changed) as told:
        qtbot.mouseClick(widget.thinking.hide_button, Qt.MouseButton.LeftButton)
    assert told.args[0].show_thinking is False
    assert not widget.thinking.isVisible()
    assert widget.answer.width() > 800
    qtbot.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    assert widget.thinking.isVisible()


@pytest.mark.parametrize("seed", [0, 2**32 - 1])
def test_the_seed_of_a_reply_is_shown_and_can_be_set_again(window, qtbot, seed):
    scenes.show_chat(window, scenes.exchange(seed=seed))
    button = window.transcript.exchange_widget("e1").answer.action("seed")
    assert button.isVisible()
    assert button.text() == f"Seed {seed}"
    with qtbot.waitSignal(window.settings_changed) as told:
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert told.args[0].seed == seed
    assert window.settings_panel.settings.seed == seed


def test_a_reply_that_the_engine_did_not_end_has_no_seed_to_tell(window):
    cut = scenes.exchange(status=ReplyStatus.INTERRUPTED, finish_reason="")
    scenes.show_chat(window, cut)
    assert not window.transcript.exchange_widget("e1").answer.action("seed").isVisible()


def test_a_reply_without_a_draw_has_no_seed_to_tell(window):
    scenes.show_chat(window, scenes.exchange(seed=NO_SEED))
    assert not window.transcript.exchange_widget("e1").answer.action("seed").isVisible()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "No answer: the model ended after its thinking."),
        ({"thinking": ""}, "No answer: the model ended at once."),
        ({"answer": " \n"}, "No answer: the model ended after its thinking."),
        ({"finish_reason": "max_new_tokens"}, "No answer: the thinking took all the tokens"),
        ({"finish_reason": "context_full"}, "No answer: the thinking took all the tokens"),
        ({"status": ReplyStatus.STOPPED}, "No answer yet: it was cut before it began."),
        ({"status": ReplyStatus.INTERRUPTED}, "No answer yet: it was cut before it began."),
    ],
)
def test_where_no_answer_came_that_is_said_in_its_place(window, changes, words):
    scenes.show_chat(window, scenes.exchange(**{"answer": "", **changes}))
    flush(window)
    answer = window.transcript.exchange_widget("e1").answer
    assert answer.nothing_text.startswith(words)
    said = answer._nothing.geometry()
    assert answer._title.geometry().bottom() < said.top()
    assert said.bottom() < answer.action("regenerate").geometry().top()


def test_nothing_is_said_of_an_answer_that_is_there_comes_or_failed(window):
    answer = {"thinking": "Hm.", "answer": ""}
    for shown in (
        scenes.exchange(),
        scenes.exchange(status=ReplyStatus.RUNNING, **answer),
        scenes.exchange(status=ReplyStatus.FAILED, error_text="It failed.", **answer),
    ):
        scenes.show_chat(window, shown)
        assert window.transcript.exchange_widget("e1").answer.nothing_text == ""


def test_an_edited_question_shows_its_earlier_wordings_by_arrows(window, qtbot):
    edited = replace(scenes.exchange(), question_versions=("b1", "", "b2"))
    scenes.show_chat(window, edited)
    steps = window.transcript.exchange_widget("e1").bubble.versions
    assert steps.isVisible()
    assert steps.text == "2 / 3"
    for arrow, index in ((steps.earlier, 0), (steps.later, 2)):
        with qtbot.waitSignal(window.question_chosen) as told:
            qtbot.mouseClick(arrow, Qt.MouseButton.LeftButton)
        assert told.args == ["e1", index]
    window.show_chat_state(ChatState.ANSWERING)
    assert not steps.earlier.isEnabled()
    window.show_chat_state(ChatState.IDLE)
    card = window.transcript.exchange_widget("e1").card
    assert steps.geometry().bottom() < card.geometry().top()


def test_a_question_that_was_never_edited_has_no_arrows(window):
    scenes.show_chat(window, scenes.exchange())
    assert not window.transcript.exchange_widget("e1").bubble.versions.isVisible()
