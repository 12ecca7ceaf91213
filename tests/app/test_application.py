"""The whole app in the real window with real threads: answers, closes in order, restarts."""

from __future__ import annotations

import logging
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent
from pytestqt.qtbot import QtBot

from app.application import Application, StartOptions
from app.chat_view import ChatState
from app.conversation import Reply, ReplyStatus
from app.conversation_database import open_store
from app.engine_events import LoadRequest
from app.engine_thread import EngineFactory
from app.logging_setup import UncaughtErrors
from app.main import relaunch_command
from app.model_records import ModelRecord
from app.paths import Paths, ensure_folders, paths_for
from app.render.drawing_process import DrawingProcess
from app.self_test import run_self_test, self_test_model
from app.settings_file import LoadedProfile, Profile, load_profile
from engine.api import Channel, Engine
from engine.errors import DeviceLost
from engine.scripted_engine import (
    ScriptedEngine,
    ScriptedReply,
    reply_of_texts,
    scripted_info,
)
from tests.engine.models.tiny_model import make_tiny_model

MODEL = ModelRecord("m1", "Model one", Path(sys.executable))
LONG = reply_of_texts("Thinking " * 50, "Answer " * 500)


class Runner:
    """Starts the app on a profile and plays its event loop through pytest-qt."""

    def __init__(self, qtbot: QtBot, folder: Path) -> None:
        self.qtbot = qtbot
        self.paths: Paths = paths_for(folder)
        ensure_folders(self.paths)
        self.exits: list[int] = []
        self.relaunched: list[tuple[str, int]] = []
        self.running: list[Application] = []

    def start(
        self,
        *replies: ScriptedReply,
        tokens_per_s: float = 0.0,
        open_chat: str = "",
        restarts: int = 0,
        models: tuple[ModelRecord, ...] = (MODEL,),
        factory: EngineFactory | None = None,
    ) -> Application:
        self.engine = ScriptedEngine(
            replies or (reply_of_texts("Hm.", "Yes."),), tokens_per_s=tokens_per_s
        )

        def play(request: LoadRequest) -> Engine:
            return self.engine

        options = StartOptions(open_chat, only_models=models, restarts=restarts)
        loaded = load_profile(self.paths.settings_file)
        application = Application(self.paths, loaded, factory or play, options, UncaughtErrors())
        application.leave = self.exits.append
        application.relaunch = lambda chat, count: self.relaunched.append((chat, count))
        self.running.append(application)
        application.show()
        return application

    def wait(self, condition: Callable[[], bool]) -> None:
        self.qtbot.waitUntil(condition, timeout=20_000)

    def ask(self, application: Application, question: str) -> None:
        """Type into the composer and send, as a user does."""
        application.window.composer.set_text(question)
        application.window.composer.edit.send_pressed.emit()

    def reply(self, application: Application) -> Reply | None:
        exchanges = application.chats.shown.exchanges
        return exchanges[-1].reply if exchanges else None

    def wait_done(self, application: Application) -> Reply:
        self.wait(
            lambda: (
                (r := self.reply(application)) is not None and r.status is not ReplyStatus.RUNNING
            )
        )
        reply = self.reply(application)
        assert reply is not None
        return reply

    def close(self, application: Application) -> None:
        application.window.close()
        self.wait(lambda: application._closed)
        assert self.exits == [0]
        self.exits.clear()
        self.running.remove(application)
        application.window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    def stored(self) -> list[tuple[str, Reply | None]]:
        store = open_store(self.paths.database_file, 0.0).store
        found = [
            (exchange.question, exchange.reply)
            for summary in store.summaries()
            for exchange in store.load(summary.conversation_id).exchanges
        ]
        store.close()
        return found


@pytest.fixture
def runner(qtbot: QtBot, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    yield made
    for application in list(made.running):
        made.close(application)


def test_a_question_typed_into_the_window_is_answered_shown_and_stored(runner):
    app = runner.start()
    runner.ask(app, "Is it?")
    reply = runner.wait_done(app)
    assert (reply.thinking, reply.answer) == ("Hm.", "Yes.")
    assert app.window.composer.text == ""
    assert app.window.transcript.isVisible()
    runner.close(app)
    [(question, stored)] = runner.stored()
    assert question == "Is it?"
    assert stored == reply


def test_the_same_chat_is_there_after_a_restart(runner):
    app = runner.start()
    runner.ask(app, "Is it?")
    runner.wait_done(app)
    chat_id = app.shown_chat_id
    runner.close(app)
    again = runner.start(open_chat=chat_id)
    runner.wait(lambda: bool(again.chats.shown.exchanges))
    assert again.chats.shown.exchanges[0].question == "Is it?"


def test_the_chat_and_the_draft_of_last_time_are_there_after_closing(runner):
    app = runner.start()
    runner.ask(app, "Is it?")
    runner.wait_done(app)
    app.window.composer.edit.setPlainText("half a thought")
    runner.close(app)
    again = runner.start()
    runner.wait(lambda: bool(again.chats.shown.exchanges))
    assert again.chats.shown.exchanges[0].question == "Is it?"
    assert again.window.composer.text == "half a thought"
    again.window.new_chat_requested.emit()
    runner.close(again)
    third = runner.start()
    runner.wait(lambda: bool(third.window.chats.list.count()))
    assert not third.chats.shown.exchanges


@pytest.mark.parametrize("stage", ["loading", "thinking", "answering"])
def test_closing_at_any_stage_ends_all_threads_and_keeps_every_word(runner, stage):
    app = runner.start(LONG, tokens_per_s=20 if stage == "loading" else 400)
    runner.ask(app, "A long one?")
    wanted = {"thinking": ChatState.THINKING, "answering": ChatState.ANSWERING}.get(stage)
    if wanted is not None:
        runner.wait(lambda: app.chat.state_of(app.chats.shown_id) is wanted)
    runner.close(app)
    assert not app.engine._thread.isRunning()
    [(question, reply)] = runner.stored()
    assert question == "A long one?"
    assert reply is not None
    assert reply.status in (ReplyStatus.INTERRUPTED, ReplyStatus.STOPPED)
    if stage == "thinking":
        assert reply.thinking.startswith("Thinking Thinking")
    if stage == "answering":
        assert reply.answer.startswith("Answer")


def test_stop_from_the_window_ends_the_reply(runner):
    app = runner.start(LONG, tokens_per_s=300)
    runner.ask(app, "A long one?")
    runner.wait(lambda: app.chat.state_of(app.chats.shown_id) is ChatState.THINKING)
    app.window.stop_requested.emit()
    assert runner.wait_done(app).status is ReplyStatus.STOPPED


def test_a_lost_gpu_offers_restart_into_the_same_chat(runner):
    lost = ScriptedReply(((Channel.ANSWER, "Half"),), error=DeviceLost("xid 79"), error_after=1)
    app = runner.start(lost)
    runner.ask(app, "Is it?")
    assert runner.wait_done(app).status is ReplyStatus.FAILED
    chat_id = app.shown_chat_id
    app.window.action_requested.emit("restart")
    runner.wait(lambda: app._closed)
    assert runner.relaunched == [(chat_id, 1)]
    [(_, reply)] = runner.stored()
    assert reply is not None
    assert reply.answer == "Half"


def test_restarting_does_not_go_on_for_ever(runner):
    app = runner.start(restarts=2)
    app.window.action_requested.emit("restart")
    assert not app._closed
    assert runner.relaunched == []
    runner.ask(app, "Is it?")
    runner.wait_done(app)
    app.window.action_requested.emit("restart")
    runner.wait(lambda: app._closed)
    assert [count for _, count in runner.relaunched] == [1], "a reply proves the GPU is back"


def test_settings_and_window_are_remembered(runner):
    from app.settings import with_value

    app = runner.start()
    changed = with_value(app.settings.settings, "temperature", 1.5)
    app.window.settings_changed.emit(changed)
    runner.close(app)
    profile: Profile = load_profile(runner.paths.settings_file).profile
    assert profile.settings.temperature == 1.5
    assert profile.window.geometry


def test_notices_of_the_profile_and_of_the_database_are_shown(runner):
    runner.paths.settings_file.write_text("{broken")
    runner.paths.database_file.write_bytes(b"not a database" * 100)
    app = runner.start()
    shown: list[str] = []
    runner.wait(lambda: len(app.window.notices._rows) >= 2)
    shown = [row.notice.text for row in app.window.notices._rows]
    assert any("settings file" in text for text in shown)
    assert any("chat database was damaged" in text for text in shown)
    runner.ask(app, "Still?")
    assert runner.wait_done(app).status is ReplyStatus.DONE


def test_an_uncaught_error_becomes_a_sentence_with_details_to_copy(runner, caplog):
    app = runner.start()
    errors = UncaughtErrors()
    errors.on_error = app.on_uncaught_error
    try:
        raise ValueError("secret words of a chat")
    except ValueError as error:
        with caplog.at_level(logging.ERROR):
            errors._on_exception(type(error), error, error.__traceback__)
    runner.wait(lambda: any(r.notice.key == "uncaught" for r in app.window.notices._rows))
    [text] = [r.notice.text for r in app.window.notices._rows if r.notice.key == "uncaught"]
    assert "ValueError" not in text
    assert "secret words" in errors.details


def test_self_test_asks_the_demo_model_and_knows_the_answer(qtbot, capsys):
    assert self_test_model().path.name == "demo_model"
    assert run_self_test() == 0
    assert "self-test: ok, 48 + 76 = 124" in capsys.readouterr().out


def test_self_test_fails_when_the_answer_is_wrong(qtbot, tmp_path, capsys):
    untrained = ModelRecord("x", "X", make_tiny_model(tmp_path / "model"))
    assert run_self_test(untrained) == 1
    assert "expected '48 + 76 = 124', found" in capsys.readouterr().out


def test_self_test_fails_with_the_reason_when_the_model_is_damaged(qtbot, tmp_path, capsys):
    folder = make_tiny_model(tmp_path / "model")
    (folder / "model.safetensors").write_bytes(b"nothing")
    model = self_test_model()
    damaged = ModelRecord(model.model_id, model.label, folder)
    assert run_self_test(damaged) == 1
    assert "damaged" in capsys.readouterr().out


def test_self_test_fails_when_no_text_comes(qtbot, tmp_path, capsys):
    folder = make_tiny_model(tmp_path / "model")
    assert run_self_test(ModelRecord("x", "X", folder), timeout_s=0.0) == 1
    assert "no answer came" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ([], []),
        (["--profile", "/p"], ["--profile", "/p"]),
        (["--open-chat", "old", "--restarts", "1", "--device=cpu"], ["--device=cpu"]),
        (["--open-chat=old", "--restarts=1"], []),
    ],
)
def test_a_restart_keeps_the_arguments_and_opens_the_same_chat(words, kept):
    command = relaunch_command(words, "c1", 2)
    assert command == [
        sys.executable, "-m", "app", *kept, "--open-chat", "c1", "--restarts", "2",
    ]  # fmt: skip


def test_the_log_holds_no_chat_text(runner, tmp_path):
    from app.logging_setup import QuietFormatter

    log = tmp_path / "log.txt"
    handler = logging.FileHandler(log)
    handler.setFormatter(QuietFormatter("%(name)s %(message)s"))
    logging.getLogger().addHandler(handler)
    canary = "canary-words-of-the-user"
    try:
        crash = ScriptedReply(
            ((Channel.ANSWER, canary),), crash=ValueError(f"bug at {canary}"), error_after=1
        )
        app = runner.start(crash)
        runner.ask(app, canary)
        assert runner.wait_done(app).answer == canary
        runner.close(app)
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
    text = log.read_text()
    assert "unexpected failure" in text
    assert "ValueError" in text
    assert canary not in text


def test_a_full_disk_is_told_and_the_words_are_saved_when_there_is_room(runner):
    app = runner.start()
    runner.ask(app, "Before?")
    runner.wait_done(app)

    def refuse(store: object) -> None:
        if not room:
            raise sqlite3.OperationalError("database or disk is full")

    room: list[bool] = []
    app._store.write(refuse)
    runner.ask(app, "After?")
    runner.wait(lambda: any(r.notice.key == "saving" for r in app.window.notices._rows))
    assert runner.wait_done(app).status is ReplyStatus.DONE, "the chat goes on meanwhile"
    room.append(True)
    runner.wait(lambda: not any(r.notice.key == "saving" for r in app.window.notices._rows))
    runner.close(app)
    assert [question for question, _ in runner.stored()] == ["Before?", "After?"]


def test_the_profile_argument_keeps_everything_in_one_folder(tmp_path):
    paths = paths_for(tmp_path / "p")
    ensure_folders(paths)
    for path in (paths.models_dir, paths.kernel_cache_dir, paths.logs_dir, paths.database_file):
        assert path.is_relative_to(tmp_path / "p")
    for folder in (paths.data_dir, paths.models_dir, paths.kernel_cache_dir):
        assert folder.stat().st_mode & 0o077 == 0


def test_loaded_profile_is_shown_in_the_panel(runner):
    app = runner.start()
    assert isinstance(app.settings.profile, Profile)
    assert app.window._settings == LoadedProfile(app.settings.profile).profile.settings


def test_a_gpu_that_refuses_graphs_is_told_in_the_window_and_answers(runner):
    info = replace(scripted_info(on_gpu=True), graph_refused=True)
    engine = ScriptedEngine([reply_of_texts("Hm.", "Yes.")], info=info)
    app = runner.start(factory=lambda request: engine)
    runner.ask(app, "Is it?")
    assert runner.wait_done(app).status is ReplyStatus.DONE
    [notice] = [each for each in app.window.notices.notices if each.key == "graph"]
    assert (notice.kind, "answers come a little slower" in notice.text) == ("info", True)


def test_formulas_and_code_colours_are_made_on_a_thread_of_their_own(runner, monkeypatch):
    calls: set[tuple[str, str]] = set()
    for name in ("formula", "colors", "warm_up"):
        real = getattr(DrawingProcess, name)

        def watched(self, *args, name=name, real=real):
            calls.add((name, threading.current_thread().name))
            return real(self, *args)

        monkeypatch.setattr(DrawingProcess, name, watched)
    app = runner.start(reply_of_texts("So $q_7^2$.", "It is\n\n```python\nx = 1\n```\n"))
    runner.ask(app, "Is it?")
    runner.wait_done(app)
    wanted = {(name, "drawing") for name in ("formula", "colors", "warm_up")}
    runner.wait(lambda: calls >= wanted)
    assert calls == wanted
