"""Scenes of what the user does to a reply: a loop is noticed, a text is changed, room is made."""

from __future__ import annotations

from app.chat_view import ChatState, Notice, Status
from app.ui.main_window import MainWindow
from engine.api import Channel
from tests.gui import scenes

LOOP = "Wait, 17 × 23 is 391, but let me check that once more. 17 × 20 is 340, 17 × 3 is 51. "


def scene_loop(window: MainWindow) -> None:
    scenes.show_chat(window)
    window.show_exchange(scenes.running(question="What is 17 × 23?", thinking_s=9.6))
    window.show_chat_state(ChatState.THINKING)
    window.append_delta("e1", Channel.THINKING, LOOP * 14, 420)
    window.show_status(
        Status(
            "q",
            "NVIDIA RTX 3060",
            "Thinking",
            4_812,
            252,
            0.009,
            6_020,
            8_192,
            3_900_000_000,
            12 * 10**9,
            2_200_000_000,
        )
    )
    window.show_notice(
        Notice(
            "loop",
            "The model repeats itself.",
            "warn",
            (
                ("stop", "Stop"),
                ("answer_now", "Answer now"),
                ("raise_presence:c1:e1", "Try a higher presence penalty"),
            ),
        )
    )


def scene_edit_answer(window: MainWindow) -> None:
    scenes.scene_done(window)
    window.transcript.exchange_widget("e1").answer.action("edit_answer").click()


def scene_edit_thinking(window: MainWindow) -> None:
    scenes.scene_done(window)
    window.transcript.exchange_widget("e1").thinking.edit_button.click()


def scene_nearly_full(window: MainWindow) -> None:
    first = scenes.exchange("e0", "What is light?")
    scenes.show_chat(window, first, scenes.exchange())
    window.show_status(
        Status(
            "q", "NVIDIA RTX 3060", "", 4_812, 252, 0.009, 7_700, 8_192, 3_900_000_000, 12 * 10**9
        )
    )
    window.show_notice(
        Notice(
            "context",
            "This chat fills 94% of what the model can see. When it is full, a reply breaks off, "
            "and for a new question the oldest exchanges must be left out.",
            "warn",
            (
                ("leave_out_oldest", "Leave out the oldest exchanges"),
                ("show_setting:context_tokens", "Context length"),
            ),
        )
    )
