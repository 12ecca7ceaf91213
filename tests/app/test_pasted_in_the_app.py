"""A long paste in the whole app: its real threads, database and clipboard."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest

from app.application import Application
from engine.scripted_engine import reply_of_texts
from tests.app.test_application import Runner, runner  # noqa: F401 - a fixture

TEXT = "This is a line of what was copied.\r\n" * 1_000


def paste(app: Application) -> None:
    QGuiApplication.clipboard().setText(TEXT)
    QTest.keySequence(app.window.composer.edit, QKeySequence.StandardKey.Paste)


def names(app: Application) -> list[str]:
    return [chip.attachment.name for chip in app.window.composer.attachments.chips]


def test_a_paste_is_counted_kept_over_a_restart_and_sent(runner: Runner) -> None:  # noqa: F811
    app = runner.start()
    paste(app)
    assert names(app) == ["Pasted text"]
    row = app.window.composer.attachments
    runner.wait(lambda: row.chips[0].attachment.tokens is not None)
    runner.close(app)
    app = runner.start()
    runner.wait(lambda: names(app) == ["Pasted text"])
    runner.ask(app, "What is this?")
    runner.wait_done(app)
    [exchange] = app.chats.shown.exchanges
    assert exchange.question.startswith(
        'What is this?\n\nFile "Pasted text":\n\n```\nThis is a line'
    )
    assert exchange.question.count("This is a line of what was copied.\n") == 1_000
    assert names(app) == []
    runner.close(app)
    app = runner.start()
    runner.wait(lambda: len(app.chats.shown.exchanges) == 1)
    assert names(app) == []


def test_a_paste_while_a_reply_runs_goes_with_the_next_question(runner: Runner) -> None:  # noqa: F811
    app = runner.start(reply_of_texts("", "Yes. " * 50), tokens_per_s=100.0)
    runner.ask(app, "One?")
    runner.wait(lambda: (reply := runner.reply(app)) is not None and reply.answer != "")
    paste(app)
    paste(app)
    assert names(app) == ["Pasted text", "Pasted text 2"]
    runner.wait_done(app)
    assert names(app) == ["Pasted text", "Pasted text 2"]
    assert "Pasted text" not in app.chats.shown.exchanges[0].question
    app.window.composer.attachments.chips[0].close_button.click()
    assert names(app) == ["Pasted text 2"]
    app.window.notices.action_button("attach", 0).click()
    assert names(app) == ["Pasted text", "Pasted text 2"]
    QTest.keySequence(app.window.composer.edit, QKeySequence.StandardKey.Undo)
    assert names(app) == ["Pasted text"], "the last paste is undone"
    app.window.composer.attachments.chips[0].inline_button.click()
    assert names(app) == []
    assert app.window.composer.text == TEXT.replace("\r", "")
