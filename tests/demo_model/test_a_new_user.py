"""What a new user does on the first evening, in the whole app with the true demo model, by keys:
open, ask, stop, edit, search, export, delete, undo, restart."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidgetItem
from pytestqt.qtbot import QtBot

from app.conversation import ReplyStatus
from app.ui import chat_side
from app.wizard_view import WizardAction
from tests.demo_model.test_demo_first_run import (
    SUM,
    SUM_ANSWER,
    FirstRun,
    hub,
    run,
)
from tests.gui.test_trash_and_menus import choose

__all__ = ["hub", "run"]  # the fixtures
PRODUCT, PRODUCT_ANSWER = "What is 47 × 86?", "47 × 86 = 4042"
CONTROL = Qt.KeyboardModifier.ControlModifier


def row_of(run: FirstRun, title: str) -> QListWidgetItem | None:
    rows = run.app.window.chats.list
    found = [rows.item(row) for row in range(rows.count()) if rows.item(row).text() == title]
    return found[0] if found else None


def test_the_first_evening(
    run: FirstRun, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.press(WizardAction.TRY_DEMO)
    run.wait(lambda: run.wizard is None or not run.wizard.isVisible())
    window = run.app.window
    edit = window.composer.edit
    window.activateWindow()  # as a window manager does when the wizard goes
    run.wait(window.isActiveWindow)

    # Asked, and answered with the thinking beside it.
    assert run.ask(SUM).answer == SUM_ANSWER

    # Stopped as soon as it begins; the next question may go at once.
    qtbot.keyClicks(edit, PRODUCT)
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    shown_id = run.app.chats.shown.conversation_id
    run.wait(lambda: len(run.replies()) == 2 and run.app.chat.is_busy(shown_id))
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    run.wait(lambda: run.replies()[-1].status is not ReplyStatus.RUNNING)
    assert run.replies()[-1].status is ReplyStatus.STOPPED
    assert not run.replies()[-1].answer

    # The first question is edited: a branch of its own, and the old one stays.
    first = window.transcript.exchange_widget(run.app.chats.shown.exchanges[0].exchange_id)
    assert first is not None
    first.bubble.begin_edit()
    first.bubble.editor.selectAll()
    qtbot.keyClicks(first.bubble.editor, PRODUCT)
    qtbot.keyClick(first.bubble.editor, Qt.Key.Key_Return, CONTROL)
    run.wait(lambda: [reply.answer for reply in run.replies()] == [PRODUCT_ANSWER])

    # Another chat; the first is found by a word of its answer and opened.
    title = run.app.chats.shown.title
    qtbot.keyClick(window, Qt.Key.Key_N, CONTROL)
    assert run.ask("Hello").answer
    qtbot.keyClick(window, Qt.Key.Key_F, CONTROL)
    qtbot.keyClicks(window.chats.search, "4042")
    run.wait(lambda: row_of(run, title) is not None and window.chats.list.count() == 2)
    qtbot.keyClick(window.chats.search, Qt.Key.Key_Return)
    run.wait(lambda: run.app.chats.shown.title == title)
    window.chats.search.clear()
    run.wait(lambda: window.chats.list.count() == 3)

    # Exported with its thinking.
    target = tmp_path / "chat.md"
    monkeypatch.setattr(chat_side, "ask_where_to_export", lambda *a: str(target))
    row = row_of(run, title)
    assert row is not None
    choose(window.chats.menu_of(row), "Markdown with thinking…")
    run.wait(lambda: target.exists() and PRODUCT_ANSWER in target.read_text("utf-8"))

    # Deleted, and brought back.
    choose(window.chats.menu_of(row), "Delete")
    run.wait(lambda: row_of(run, title) is None)
    qtbot.mouseClick(window.chats.undo_bar.button, Qt.MouseButton.LeftButton)
    run.wait(lambda: row_of(run, title) is not None)

    # And the next evening it is all there, without the wizard.
    run.restart()
    run.wait(lambda: row_of(run, title) is not None)
    assert run.wizard is None or not run.wizard.isVisible()
    back = row_of(run, title)
    assert back is not None
    run.app.window.conversation_selected.emit(str(back.data(Qt.ItemDataRole.UserRole)))
    run.wait(lambda: [reply.answer for reply in run.replies()] == [PRODUCT_ANSWER])
    assert run.replies()[0].thinking.strip()
