"""Scripted states of the chats' part: search, trash, temporary chat, pins, files of a question."""

from __future__ import annotations

import time

from app.chat_view import Attached, Attachment, Notice
from app.conversation import NO_SEED, Conversation, ConversationSummary
from app.language import translate
from app.ui.main_window import MainWindow
from tests.gui import scenes

DAY = 86_400


def scene_search(window: MainWindow) -> None:
    now = time.time()
    window.chats.search.setText("scatter")
    window.show_conversations(
        [
            ConversationSummary(
                "c1", "Why is the sky blue?", now, "…of light, so they scatter short waves far"
            ),
            ConversationSummary("c9", "Radar and rain", now - DAY, "…the drops scatter the pulse"),
            ConversationSummary("c8", "Scatter plots in one line", now - 9 * DAY),
        ],
        "c1",
    )
    window.chats.search_changed.emit("scatter")
    scenes.show_chat(window, scenes.exchange("e0", "What is Mie scattering?"), scenes.exchange())


def scene_search_versions(window: MainWindow) -> None:
    scene_search(window)
    text = "“scatter” is also in a version that is not shown: answer 1."
    actions = (("show_reply:e1:0", "Show that version"),)
    window.show_notice(Notice("found_version", text, actions=actions))
    window.marks.step(1)


def scene_no_answer(window: MainWindow) -> None:
    scenes.show_chat(
        window,
        scenes.exchange("e0", "Go on thinking.", answer="", finish_reason="max_new_tokens"),
        scenes.exchange("e1", "What is 17 × 23?", answer="", seed=NO_SEED),
    )


def scene_long_question(window: MainWindow) -> None:
    lines = "".join(
        f"2026-11-{n % 28 + 1:02}, sensor {n % 7}, {n * 37 % 100} %\n" for n in range(2_000)
    )
    question = f'What is odd here?\n\nFile "readings.csv":\n\n```csv\n{lines}```'
    scenes.show_chat(window, scenes.exchange("e1", question))
    bubble = window.transcript.exchange_widget("e1").bubble
    bubble.unfold_for(("sensor",))
    window.transcript.verticalScrollBar().setValue(21_500)


def scene_pinned(window: MainWindow) -> None:
    scenes.scene_done(window)
    now = time.time()
    pinned = [
        ConversationSummary("p1", "House rules for the model", now - 40 * DAY, pinned=True),
        ConversationSummary("p2", "天空为什么是蓝色的", now - 3 * DAY, pinned=True),
    ]
    window.show_conversations([*pinned, *scenes.summaries()], "c1")


def scene_temporary(window: MainWindow) -> None:
    now = time.time()
    window.show_conversations(
        [
            ConversationSummary("t", "A question for nobody", now, temporary=True),
            *scenes.summaries(),
        ],
        "t",
    )
    shown = scenes.exchange(question="A question for nobody: what would you ask in my place?")
    window.show_conversation(Conversation("t", "A question", (shown,), temporary=True))


def scene_temporary_empty(window: MainWindow) -> None:
    window.show_conversations(scenes.summaries(), None)
    window.show_conversation(Conversation("t", temporary=True))


def scene_trash(window: MainWindow) -> None:
    scenes.scene_done(window)
    now = time.time()
    window.show_trash(
        [
            ConversationSummary("d1", "Plan a week of dinners", now, deleted_at=now),
            ConversationSummary("d2", "旧的草稿", now, deleted_at=now - DAY),
            ConversationSummary("d3", "Names for a boat", now, deleted_at=now - 12 * DAY),
        ]
    )
    window.chats.show_trash_page()
    window.chats.trash.list.setCurrentRow(0)


def scene_trash_question(window: MainWindow) -> None:
    scene_trash(window)
    window.chats.trash.empty.click()


def scene_files(window: MainWindow) -> None:
    scenes.scene_done(window)
    window.composer.set_text("Which of these readings are wrong, and why?")
    window.show_attachments(
        Attached(
            (
                Attachment("readings-2026-11.csv", 3_204, 9_812),
                Attachment("how the sensor was calibrated.md", 611, 2_420),
                Attachment("notes.txt", None, 1_180),
            )
        )
    )


def scene_files_too_long(window: MainWindow) -> None:
    scenes.scene_done(window)
    note = (
        "This is 91,204 tokens, and the model can see 8,192 at once. Take something out, or set "
        "a longer context."
    )
    file = Attachment("server.log", 91_204, 402_118, fits=False)
    window.show_attachments(Attached((file,), note, can_send=False))


def scene_long_paste(window: MainWindow) -> None:
    scenes.scene_done(window)
    window.composer.set_text("What do these two have in common?")
    name = translate("Attach", "Pasted text")
    files = (
        Attachment(name, 8_211, 36_870, can_inline=True),
        Attachment(f"{name} 2", None, 1_048_576, counted=0.38),
    )
    window.show_attachments(Attached(files, can_send=False))
