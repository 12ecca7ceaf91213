"""Chats in the whole app with real threads, as a user goes through them, over a restart."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTextEdit

from app.conversation_database import TRASH_KEPT_S
from app.ui import chat_side
from app.ui.trash_view import KEPT_DAYS
from engine.scripted_engine import reply_of_texts
from tests.app.test_application import Runner, runner  # noqa: F401 - the fixture
from tests.gui.test_trash_and_menus import choose

REPLIES = (
    reply_of_texts("I think of otters.", "Otters hold hands."),
    reply_of_texts("I think of herons.", "Herons stand still."),
)


def titles(app):
    rows = app.window.chats.list
    return [rows.item(row).text() for row in range(rows.count())]


def row_of(app, title):
    return app.window.chats.list.item(titles(app).index(title))


def two_chats(runner, app):  # noqa: F811
    for question in ("Of otters?", "Of herons?"):
        QTest.keyClick(app.window, Qt.Key.Key_N, Qt.KeyboardModifier.ControlModifier)
        runner.ask(app, question)
        runner.wait_done(app)
    runner.wait(lambda: titles(app) == ["Today", "Of herons?", "Of otters?"])


def test_what_was_thought_is_found_opened_and_marked(runner):  # noqa: F811
    app = runner.start(*REPLIES)
    two_chats(runner, app)
    QTest.keyClick(app.window, Qt.Key.Key_F, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(app.window.chats.search, "think otter")
    runner.wait(lambda: titles(app) == ["Today", "Of otters?"])
    QTest.keyClick(app.window.chats.search, Qt.Key.Key_Return)
    runner.wait(lambda: app.chats.shown.title == "Of otters?")
    widget = app.window.transcript.exchange_widget(app.chats.shown.exchanges[0].exchange_id)

    def marked():
        return sorted(
            mark.cursor.selectedText()
            for text in widget.findChildren(QTextEdit)
            for mark in text.extraSelections()
        )

    runner.wait(lambda: marked() == ["Otter", "otter", "otter", "think"])


def test_a_chat_goes_to_the_trash_stays_there_over_a_restart_and_comes_back(runner):  # noqa: F811
    app = runner.start(*REPLIES)
    two_chats(runner, app)
    chats = app.window.chats
    choose(chats.menu_of(row_of(app, "Of otters?")), "Delete")
    runner.wait(lambda: chats.trash.count == 1)
    assert titles(app) == ["Today", "Of herons?"]
    runner.close(app)
    app = runner.start(*REPLIES)
    trash = app.window.chats.trash
    runner.wait(lambda: trash.count == 1)
    QTest.mouseClick(app.window.chats.trash_button, Qt.MouseButton.LeftButton)
    trash.list.setCurrentRow(0)
    QTest.mouseClick(trash.restore, Qt.MouseButton.LeftButton)
    runner.wait(lambda: "Of otters?" in titles(app))
    assert app.chats.shown.exchanges[0].question == "Of otters?"
    assert trash.count == 0


def test_what_is_erased_leaves_no_word_in_the_profile(runner, tmp_path):  # noqa: F811
    app = runner.start(*REPLIES)
    two_chats(runner, app)
    chats = app.window.chats
    chats.delete(str(row_of(app, "Of otters?").data(Qt.ItemDataRole.UserRole)))
    runner.wait(lambda: chats.trash.count == 1)
    QTest.mouseClick(chats.trash_button, Qt.MouseButton.LeftButton)
    QTest.mouseClick(chats.trash.empty, Qt.MouseButton.LeftButton)
    QTest.mouseClick(chats.trash.confirm, Qt.MouseButton.LeftButton)
    runner.wait(lambda: chats.trash.count == 0)
    runner.close(app)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"tters" not in path.read_bytes(), path


def test_all_chats_leave_as_json_and_come_in_again(runner, tmp_path, monkeypatch):  # noqa: F811
    app = runner.start(*REPLIES)
    two_chats(runner, app)
    target = tmp_path / "all.json"
    monkeypatch.setattr(chat_side, "ask_where_to_export", lambda *a: str(target))
    monkeypatch.setattr(chat_side, "ask_what_to_import", lambda *a: str(target))
    choose(app.window.chats.menu_of_all(), "JSON, to be imported again…")
    runner.wait(target.exists)
    found = json.loads(target.read_text("utf-8"))
    assert [chat["title"] for chat in found["chats"]] == ["Of herons?", "Of otters?"]
    choose(app.window.chats.menu_of_all(), "Import chats…")
    runner.wait(
        lambda: titles(app) == ["Today", "Of herons?", "Of otters?", "Of herons?", "Of otters?"]
    )
    assert "2 chats were imported from all.json." in [n.text for n in app.window.notices.notices]


def test_a_dropped_file_is_counted_by_the_engine_and_goes_with_the_question(
    runner,  # noqa: F811
    tmp_path,
):
    path = tmp_path / "notes.txt"
    path.write_text("Otters hold hands while they sleep. " * 40)
    app = runner.start(*REPLIES)
    runner.wait(lambda: app.models.info is not None)
    app.window.files_dropped.emit([str(path)])
    chips = app.window.composer.attachments
    # A chip is there at once, and has its tokens once they are counted.
    runner.wait(lambda: [chip.attachment.tokens is not None for chip in chips.chips] == [True])
    # The scripted engine counts a token for every four characters.
    assert chips.chips[0].attachment.tokens == pytest.approx(1440 / 4, rel=0.05)
    runner.ask(app, "What do they do?")
    runner.wait_done(app)
    sent = runner.engine.requests[0].messages[-1].text
    assert sent.startswith('What do they do?\n\nFile "notes.txt":\n\n```\nOtters hold hands')
    assert chips.chips == []
    assert app.chats.shown.title == "What do they do?"


def test_the_trash_says_the_days_that_the_store_keeps():
    assert KEPT_DAYS * 24 * 3600 == TRASH_KEPT_S
