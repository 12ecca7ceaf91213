"""Another program holds the GPU's memory: needed and free are told as of now, and retry works.

The GPU is emulated and computes nothing, so that no compiler is needed; what it answers to a
question, and what it says of memory that runs out in a reply, is in tests/kernels.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.chat_view import ModelState
from app.error_text import size_text
from tests.app.emulated_app import EmulatedRunner
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy


@pytest.fixture
def gpu() -> Iterator[EmulatedGpu]:
    with emulated_cupy(EmulatedGpu(executes=False)) as made:
        yield made


@pytest.fixture
def runner(qtbot, tmp_path, gpu) -> Iterator[EmulatedRunner]:
    with EmulatedRunner(qtbot, tmp_path) as made:
        yield made


def leave_free(gpu: EmulatedGpu, free_bytes: int) -> None:
    """Another process takes all but that."""
    gpu.used_by_others = gpu.total_bytes - free_bytes


def test_a_full_gpu_is_told_with_both_numbers_and_loads_once_there_is_room(runner, gpu):
    leave_free(gpu, 50_000)
    app = runner.start_app()
    runner.wait(lambda: app.models.state("tiny") is ModelState.FAILED)
    text, actions = runner.notice(app, "model")
    assert size_text(runner.needed_bytes) in text
    assert "50 KB are free" in text
    assert "Emulated GPU" in text
    assert actions == ["retry", "halve_context"]
    leave_free(gpu, 2_000_000)  # the other program gives some back, though not enough
    runner.press(app, "model", "retry")
    runner.wait(lambda: "2 MB are free" in runner.notice(app, "model")[0])
    assert gpu.allocated_bytes == 0
    gpu.used_by_others = 0
    runner.press(app, "model", "retry")
    runner.wait(lambda: app.models.info is not None)
    assert runner.notice(app, "model") == ("", [])
    assert gpu.allocated_bytes == runner.needed_bytes


def test_a_question_to_a_full_gpu_is_kept_and_says_why(runner, gpu):
    leave_free(gpu, 50_000)
    app = runner.start_app()
    runner.wait(lambda: app.models.state("tiny") is ModelState.FAILED)
    runner.ask(app, "Is it?")
    # Asking loads again, since the memory may be free by now.
    reply = runner.wait_done(app)
    assert size_text(runner.needed_bytes) in reply.error_text
    assert "50 KB are free" in reply.error_text
    runner.close(app)
    assert [question for question, _ in runner.stored()] == ["Is it?"]


def test_memory_that_is_taken_while_the_model_is_loaded_is_told_at_the_next_load(runner, gpu):
    app = runner.start_app()
    runner.wait(lambda: app.models.info is not None)
    app.models.free_memory()
    runner.wait(lambda: app.models.info is None)
    assert gpu.allocated_bytes == 0
    leave_free(gpu, 3_000_000)
    runner.ask(app, "Is it?")
    reply = runner.wait_done(app)
    assert "3 MB are free" in reply.error_text
    assert app.window.isVisible()


def test_memory_that_another_program_takes_between_the_look_and_the_grasp_is_no_crash(runner, gpu):
    gpu.fail("malloc", 2)  # cudaErrorMemoryAllocation, though enough was free a moment before
    app = runner.start_app()
    runner.wait(lambda: app.models.state("tiny") is ModelState.FAILED)
    assert size_text(runner.needed_bytes) in runner.notice(app, "model")[0]
    runner.press(app, "model", "retry")
    runner.wait(lambda: app.models.info is not None)
