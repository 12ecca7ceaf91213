"""A reply of the demo model that is cut again and again, in its thinking too, and goes on each time
(chat-apps.md, row 2: the thinking must end where it ends).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.application import Application
from app.conversation import Reply, ReplyStatus
from app.engine_builder import build_engine
from app.self_test import self_test_model
from app.settings import Settings, with_value
from app.settings_file import Profile, save_profile
from tests.app.test_application import Runner

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

QUESTION = "What is 48 + 17?"


@pytest.fixture
def runner(qtbot: QtBot, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    settings = Settings()
    for name, value in (("device", "cpu"), ("context_tokens", 512), ("temperature", 0.0)):
        settings = with_value(settings, name, value)
    save_profile(made.paths.settings_file, Profile(settings))
    yield made
    for application in list(made.running):
        made.close(application)


def start(runner: Runner) -> Application:
    paths = runner.paths
    factory = partial(build_engine, paths.models_dir, paths.kernel_cache_dir)
    return runner.start(models=(self_test_model(),), factory=factory)


def set_longest(app: Application, tokens: int | None) -> None:
    app.window.settings_changed.emit(with_value(app.settings.settings, "max_new_tokens", tokens))


def ended(runner: Runner, app: Application) -> Reply:
    runner.qtbot.waitUntil(
        lambda: (
            (reply := runner.reply(app)) is not None and reply.status is not ReplyStatus.RUNNING
        ),
        timeout=120_000,
    )
    reply = runner.reply(app)
    assert reply is not None
    return reply


def test_a_reply_cut_every_few_tokens_says_the_same_as_one_that_was_not(runner):
    app = start(runner)
    runner.ask(app, QUESTION)
    whole = ended(runner, app)
    assert whole.finish_reason == "end"
    assert whole.thinking.strip()
    assert "65" in whole.answer
    app.window.new_chat_requested.emit()
    set_longest(app, 9)
    runner.ask(app, QUESTION)
    cuts = cuts_in_thinking = 0
    while ended(runner, app).finish_reason == "max_new_tokens":
        cuts += 1
        reply = ended(runner, app)
        cuts_in_thinking += not reply.thinking_closed
        assert cuts < 100, "it goes on for ever"
        button = app.window.transcript.exchange_widget(
            app.chats.shown.exchanges[-1].exchange_id
        ).answer.action("continue")
        assert button.isVisible()
        button.click()
    reply = ended(runner, app)
    assert cuts_in_thinking >= 3, "the thinking was too short to be cut"
    assert (reply.thinking, reply.answer) == (whole.thinking, whole.answer)
    assert reply.thinking_closed
    assert len(app.chats.shown.exchanges[-1].replies) == 1, "one reply, not many versions"
    assert reply.thinking_tokens + reply.answer_tokens >= cuts * 8


def test_changed_thinking_leads_to_its_own_answer(runner):
    app = start(runner)
    runner.ask(app, QUESTION)
    whole = ended(runner, app)
    exchange_id = app.chats.shown.exchanges[0].exchange_id
    widget = app.window.transcript.exchange_widget(exchange_id)
    runner.wait(widget.thinking.edit_button.isVisible)
    widget.thinking.edit_button.click()
    # Each step says what the next one needs, as the model itself writes it.
    other = "48+17\nones 8+7=15 carry 1: 9\ntens 4+1+1=6 carry 0: 69"
    widget.editor.edit.setPlainText(other)
    widget.editor.button("main").click()
    runner.wait(lambda: len(app.chats.shown.exchanges[0].replies) == 2)
    changed = ended(runner, app)
    assert whole.answer == "48 + 17 = 65"
    assert changed.answer == "48 + 17 = 69", "the answer follows the thinking, not the question"
    assert changed.thinking == other
    runner.close(app)
    [(_, stored)] = runner.stored()
    assert stored == changed
