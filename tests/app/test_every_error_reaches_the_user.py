"""Each error of the engine, raised while loading and while answering, ends in words and actions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.conversation import ReplyStatus
from app.engine_events import LoadFailed, LoadRequest
from app.error_text import error_text
from engine.api import Channel, Engine, Failed
from engine.errors import EngineError, LoadCancelled, NotEnoughMemory
from engine.scripted_engine import ScriptedEngine, ScriptedReply, reply_of_texts
from tests.app.fakes import Desk
from tests.app.test_application import Runner, runner  # noqa: F401 - a fixture
from tests.app.test_error_text import SAMPLES
from tests.app.test_model_controller import actions

each_error = pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)


@each_error
def test_while_a_model_loads(tmp_path, error: EngineError):
    desk = Desk(tmp_path).with_model(ready=False)
    desk.models.load_at_start()
    desk.chat.on_submitted("Hello?")
    desk.models.on_worker_event(LoadFailed(desk.engine.loads[-1][0].load_id, error))
    words = error_text(error)
    [exchange] = desk.chats.shown.exchanges
    assert exchange.reply is not None
    assert (exchange.reply.status, exchange.reply.error_text) == (ReplyStatus.FAILED, words.text)
    if not isinstance(error, LoadCancelled):  # asked for by the user
        assert desk.view.notices["model"].text == words.text
        assert desk.view.notices["model"].actions == words.actions
    desk.chat.on_submitted("Again?")
    assert len(desk.engine.loads) == 2, "the window stays usable"


@each_error
def test_while_a_reply_comes(tmp_path, error: EngineError):
    desk = Desk(tmp_path).with_model()
    desk.chat.on_submitted("Hello?")
    desk.say("Hm", "So")
    desk.chat.on_engine_event(Failed(desk.request.request_id, error))
    words = error_text(error)
    [exchange] = desk.chats.shown.exchanges
    reply = exchange.reply
    assert reply is not None
    assert (reply.thinking, reply.answer, reply.error_text) == ("Hm", "So", words.text)
    assert desk.view.notices["reply"].text == words.text
    known = actions(desk, [])._plain
    assert all(action in known for action, _ in desk.view.notices["reply"].actions)
    desk.chat.on_submitted("Again?")
    assert len(desk.engine.requests) == 2, "the window stays usable"


def test_too_little_memory_to_load_is_helped_by_halving_the_context(runner: Runner):  # noqa: F811
    loads: list[int] = []

    def factory(request: LoadRequest) -> Engine:
        loads.append(request.capacity_tokens)
        if request.capacity_tokens > 4096:
            raise NotEnoughMemory(3 * 10**9, 10**9, "GPU")
        return ScriptedEngine([reply_of_texts("Hm.", "Yes.")])

    app = runner.start(factory=factory)
    runner.ask(app, "Is it?")
    assert "3.00 GB on GPU, and 1.00 GB are free" in runner.wait_done(app).error_text
    button = app.window.notices.action_button("model", 1)
    assert button.text() == "Halve the context length"
    button.click()
    runner.wait(lambda: (r := runner.reply(app)) is not None and r.answer == "Yes.")
    assert loads == [8192, 4096]
    assert app.window.settings_panel.settings.context_tokens == 4096
    assert app.window.notices.notices == ()


def test_too_little_memory_in_a_reply_is_helped_by_halving_the_context(runner: Runner):  # noqa: F811
    short = NotEnoughMemory(3 * 10**9, 10**9, "GPU")
    cut = ScriptedReply(((Channel.ANSWER, "So"),), error=short, error_after=1)
    loads: list[int] = []

    def factory(request: LoadRequest) -> Engine:
        loads.append(request.capacity_tokens)
        return ScriptedEngine([cut if len(loads) == 1 else reply_of_texts("Hm.", "Yes.")])

    app = runner.start(factory=factory)
    runner.ask(app, "Is it?")
    assert runner.wait_done(app).answer == "So"
    app.window.notices.action_button("reply", 1).click()
    runner.wait(lambda: (r := runner.reply(app)) is not None and r.answer == "Yes.")
    assert loads == [8192, 4096]
    assert [r.answer for r in app.chats.shown.exchanges[0].replies] == ["So", "Yes."]


LOG_ON_A_FULL_DISK = """
import logging, sys
from pathlib import Path
from app.logging_setup import setup_logging

class Full:
    def write(self, text): raise OSError(28, "No space left on device")
    def flush(self): pass
    def close(self): pass

setup_logging(Path(sys.argv[1]) / "thinkpane.log")
logging.getLogger().handlers[0].stream = Full()
logging.getLogger("app").error("something")
"""


def test_a_log_on_a_full_disk_prints_nothing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", LOG_ON_A_FULL_DISK, str(tmp_path)],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("", "")
