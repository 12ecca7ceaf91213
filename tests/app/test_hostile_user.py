"""The real window, the demo model on the processor, and a user with quick hands: nothing breaks,
no question is lost, and in the end all is quiet.
"""

from __future__ import annotations

import logging
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.application import Application
from app.chat_view import ChatState
from app.conversation import ReplyStatus
from app.conversation_store import ConversationStore
from app.engine_builder import build_engine
from app.language import ENGLISH
from app.self_test import self_test_model
from app.settings import Settings, with_value
from app.settings_file import Profile, save_profile
from app.store_thread import StoreThread
from tests.app.hostile_user import HostileUser
from tests.app.test_application import Runner

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

STEPS = int(os.environ.get("THINKPANE_HOSTILE_STEPS", "150"))
"""Actions of one run; after each third the app is closed in the middle of things."""

SEEDS = int(os.environ.get("THINKPANE_HOSTILE_SEEDS", "3"))


@pytest.fixture
def runner(qtbot: QtBot, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    settings = with_value(Settings(), "device", "cpu")
    settings = with_value(settings, "context_tokens", 512)
    save_profile(made.paths.settings_file, Profile(settings))
    yield made
    for application in list(made.running):
        close(made, application)


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Every other run has a disk on which answers take long enough for quick hands."""
    carry_out, chance = StoreThread._carry_out_read, random.Random(seed)

    def later(self: StoreThread, store: ConversationStore, work: object) -> None:
        if seed % 2 == 0:
            time.sleep(chance.choice((0.0, 0.02, 0.1, 0.3)))
        carry_out(self, store, work)

    monkeypatch.setattr(StoreThread, "_carry_out_read", later)


def close(runner: Runner, app: Application) -> None:
    """Close as a user does; the language goes back first, for the tests that come after."""
    app.language.use(ENGLISH)
    runner.close(app)


def start(runner: Runner) -> Application:
    paths = runner.paths
    factory = partial(build_engine, paths.models_dir, paths.kernel_cache_dir)
    app = runner.start(models=(self_test_model(),), factory=factory)
    app.window.activateWindow()
    runner.qtbot.waitExposed(app.window)
    return app


def assert_alive(user: HostileUser) -> None:
    """What holds after every action."""
    chats, chat = user.app.chats, user.app.chat
    for exchange in chats.shown.exchanges:
        for reply in exchange.replies:
            running = reply.status is ReplyStatus.RUNNING
            assert not running or chat.is_busy(chats.shown_id), ("runs for ever", user.log)


def rows(runner: Runner, query: str) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(runner.paths.database_file)) as database:
        return database.execute(query).fetchall()


def check_nothing_is_lost(runner: Runner, asked: list[str]) -> None:
    """After closing: every question is stored in one branch or another, and nothing runs."""
    stored = {question for (question,) in rows(runner, "SELECT question FROM exchange")}
    lost = [
        question
        for question in set(asked) - stored
        if not any(each.startswith(f'{question}\n\nFile "') for each in stored)
    ]
    assert lost == [], "lost questions"
    unanswered = rows(
        runner,
        "SELECT question FROM exchange e WHERE NOT EXISTS "
        "(SELECT 1 FROM reply r WHERE r.exchange_id = e.id)",
    )
    assert unanswered == []
    assert rows(runner, "SELECT reply_id FROM reply WHERE status = 'running'") == []


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_quick_hands_break_nothing_and_lose_nothing(runner, seed, slow_disk, caplog):
    app = start(runner)
    user = HostileUser(app, seed)
    with caplog.at_level(logging.WARNING):
        for step in range(STEPS):
            user.act()
            assert_alive(user)
            if step % (STEPS // 3) == STEPS // 3 - 1:
                close(runner, app)
                check_nothing_is_lost(runner, user.asked)
                user.app = app = start(runner)
        # At rest: what still runs is stopped, the model loads, and the last question is answered.
        user.change_to(with_value(Settings(), "device", "cpu"))
        user.new_chat()
        runner.wait(lambda: not app.chats.shown.exchanges)
        user.take_all_chips_out()
        user.send()
        runner.qtbot.waitUntil(
            lambda: (
                (reply := runner.reply(app)) is not None and reply.status is not ReplyStatus.RUNNING
            ),
            timeout=120_000,
        )
        reply = runner.reply(app)
        assert reply is not None
        assert reply.status is ReplyStatus.DONE, reply.error_text
        assert app.chat.state_of(app.chats.shown_id) is ChatState.IDLE
        assert not any(app.chat.is_busy(chat) for chat in user.chats())
        assert app.window.composer.send.isVisible()
        close(runner, app)
    check_nothing_is_lost(runner, user.asked)
    troubles = [record.getMessage() for record in caplog.records if record.name.startswith("app")]
    assert troubles == [], user.log
