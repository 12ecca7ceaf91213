"""3,000 lines stream into a chat of 500 messages (CherryHQ/cherry-studio#6120, #16934).

The bounds are those that only a window that hangs can break; figures of a quiet machine are in
docs/complaints.md.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.conversation import ReplyStatus
from tests.gui import scenes
from tests.gui.probe_long_chat import THINKING_TOKENS, LongChat
from tests.gui.probe_texts import answer_of, thinking_of


@pytest.fixture
def long_chat(qapp, tmp_path) -> Iterator[LongChat]:
    chat = LongChat(tmp_path, messages=500, lines=3_000, tokens_per_s=3_000)
    yield chat
    chat.close()


@pytest.mark.slow
def test_a_long_reply_into_a_long_chat_arrives_whole_and_the_window_stays_awake(long_chat):
    figures = long_chat.ask()
    reply = figures.reply
    assert reply.status is ReplyStatus.DONE
    assert reply.thinking == "".join(thinking_of(THINKING_TOKENS))
    assert reply.answer == "".join(answer_of(3_000))
    transcript = long_chat.window.transcript
    shown = transcript.exchange_widget(transcript.exchange_ids[-1])
    assert shown.answer.body.text == reply.answer
    assert transcript.following
    # 250 exchanges are there, and those before the reader's eyes alone have widgets.
    assert len(transcript.exchange_ids) == 251
    assert figures.most_built <= 12
    assert max(figures.gaps_s) < 5.0
    assert max(figures.busy_s) < 1.0


def test_long_exchanges_that_are_far_give_their_widgets_back_by_their_size(window, monkeypatch):
    monkeypatch.setattr("app.ui.transcript_room.MOST_CHARACTERS", 12_000)
    transcript = window.transcript
    scenes.show_chat(window)
    for number in range(6):
        window.show_exchange(scenes.exchange(f"e{number}", answer="A line of words.\n\n" * 300))
        scenes.settle(window)
    assert len(transcript.built_ids) <= 3, "each has 5,000 characters, and fills many screens"
    assert transcript.built_ids[-1] == "e5"
    transcript.verticalScrollBar().setValue(0)
    scenes.settle(window)
    assert "e0" in transcript.built_ids
    assert transcript.exchange_widget("e0").answer.body.text == "A line of words.\n\n" * 300


def test_a_chat_of_short_exchanges_keeps_all_of_them(window):
    scenes.show_chat(window)
    for number in range(20):
        window.show_exchange(scenes.exchange(f"e{number}", answer="Yes."))
        scenes.settle(window)
    assert len(window.transcript.built_ids) == 20
