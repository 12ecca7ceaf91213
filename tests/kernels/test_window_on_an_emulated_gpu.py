"""The whole app on the emulated GPU: memory that runs out in a reply, and a GPU that is lost.

A GPU is lost by a suspend as by a fault: every later call fails, so only a new process helps.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.chat_view import ModelState
from app.conversation import Reply, ReplyStatus
from app.error_text import size_text
from tests.app.emulated_app import EmulatedRunner
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy
from tests.kernels.emulated_device.gpu import OUT_OF_MEMORY

pytestmark = pytest.mark.emulation

LAUNCH_FAILURE, UNKNOWN = 719, 999
"""What a GPU answers to all calls after a fault, and after a suspend that it did not survive."""


@pytest.fixture
def gpu() -> Iterator[EmulatedGpu]:
    with emulated_cupy(EmulatedGpu(compute_capability=86)) as made:
        yield made


@pytest.fixture
def runner(qtbot, tmp_path, gpu) -> Iterator[EmulatedRunner]:
    with EmulatedRunner(qtbot, tmp_path) as made:
        yield made


@pytest.fixture
def app(runner):
    made = runner.start_app()
    runner.wait(lambda: made.models.info is not None)
    return made


def ask(runner: EmulatedRunner, app, question: str) -> Reply:
    before = len(app.chats.shown.exchanges)
    runner.ask(app, question)
    runner.wait(lambda: len(app.chats.shown.exchanges) > before)
    return runner.wait_done(app)


@pytest.mark.parametrize(
    ("operation", "after"),
    [("memcpy", 0), ("launch", 0), ("graphLaunch", 3), ("synchronize", 1)],
)
def test_memory_that_runs_out_in_a_reply_is_told_and_the_reply_can_be_had(
    runner, app, gpu, operation, after
):
    assert ask(runner, app, "First?").answer_tokens == 24
    gpu.used_by_others = gpu.free_bytes - 1_000_000
    gpu.fail(operation, OUT_OF_MEMORY, after=after)
    failed = ask(runner, app, "Second?")
    assert failed.status is ReplyStatus.FAILED
    for text in (failed.error_text, runner.notice(app, "reply")[0]):
        assert size_text(runner.needed_bytes) in text
        assert "1 MB are free" in text
    gpu.used_by_others = 0
    runner.press(app, "reply", "retry")
    runner.wait(lambda: app.chats.shown.exchanges[-1].reply.status is ReplyStatus.DONE)
    assert app.chats.shown.exchanges[-1].reply.answer_tokens == 24
    assert [e.question for e in app.chats.shown.exchanges] == ["First?", "Second?"]


@pytest.mark.parametrize("status", [LAUNCH_FAILURE, UNKNOWN])
def test_a_gpu_lost_in_mid_reply_keeps_the_text_and_offers_a_restart(runner, app, gpu, status):
    gpu.fail("synchronize", status, after=4)
    reply = ask(runner, app, "Is it?")
    assert reply.status is ReplyStatus.FAILED
    assert reply.answer != "", "what had been streamed stays"
    widget = app.window.transcript.exchange_widget(app.chats.shown.exchanges[-1].exchange_id)
    assert widget.answer.body.text == reply.answer
    assert runner.notice(app, "reply")[1] == ["restart", "copy_details"]
    chat_id = app.shown_chat_id
    runner.press(app, "reply", "restart")
    runner.wait(lambda: app._closed)
    assert runner.relaunched == [(chat_id, 1)]
    runner.close(app)
    assert runner.stored() == [("Is it?", reply)]


def test_a_gpu_lost_while_idle_is_found_with_the_next_question_which_is_kept(
    runner, app, gpu, monkeypatch
):
    assert ask(runner, app, "Before the lid was closed?").status is ReplyStatus.DONE
    gpu.fail("memcpy", UNKNOWN)
    reply = ask(runner, app, "And after it was opened?")
    assert (reply.status, reply.answer) == (ReplyStatus.FAILED, "")
    assert runner.notice(app, "reply")[1] == ["restart", "copy_details"]
    # Nothing is asked of a lost GPU again: a call could hang, or end the process.
    calls: list[str] = []
    monkeypatch.setattr(gpu, "call", calls.append)
    assert ask(runner, app, "Is it still lost?").status is ReplyStatus.FAILED
    assert calls == []
    runner.close(app)
    assert [question for question, _ in runner.stored()] == [
        "Before the lid was closed?",
        "And after it was opened?",
        "Is it still lost?",
    ]


def test_a_gpu_lost_while_the_model_loads_offers_a_restart(runner, gpu):
    gpu.fail("synchronize", UNKNOWN)
    app = runner.start_app()
    runner.wait(lambda: app.models.state("tiny") is ModelState.FAILED)
    assert runner.notice(app, "model")[1] == ["restart", "copy_details"]
    assert app.window.isVisible()
