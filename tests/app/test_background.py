"""The bridges to the GUI thread: order, thread, dropping after close, bad jobs."""

from __future__ import annotations

import threading

import pytest
from pytestqt.qtbot import QtBot

from app.background import Deadline, GuiCalls, JobRunner
from tests.app.fakes import Clock


def test_calls_posted_from_another_thread_run_on_the_gui_thread_in_order(qtbot: QtBot):
    # PySide6 6.12 on Python 3.11 died after some 580 emits: the pinned version must not.
    calls = GuiCalls()
    seen: list[tuple[int, threading.Thread]] = []

    def work() -> None:
        for number in range(3000):
            calls.post(lambda n=number: seen.append((n, threading.current_thread())))

    thread = threading.Thread(target=work)
    thread.start()
    qtbot.waitUntil(lambda: len(seen) == 3000, timeout=20_000)
    thread.join()
    assert [number for number, _ in seen] == list(range(3000))
    assert {where for _, where in seen} == {threading.main_thread()}


def test_after_close_nothing_that_was_posted_runs(qtbot: QtBot):
    calls = GuiCalls()
    seen: list[str] = []
    calls.post(lambda: seen.append("too late"))
    calls.close()
    other = GuiCalls()
    other.post(lambda: seen.append("after"))
    qtbot.waitUntil(lambda: "after" in seen, timeout=20_000)
    assert seen == ["after"]


def test_a_bad_job_does_not_end_the_thread_of_the_others(qtbot: QtBot, caplog):
    calls = GuiCalls()
    jobs = JobRunner(calls.post)
    results: list[object] = []

    def bad() -> None:
        raise KeyError("bug")

    jobs.run(bad, results.append)
    jobs.run(threading.current_thread, results.append)
    qtbot.waitUntil(lambda: bool(results), timeout=20_000)
    assert results[0] is not threading.main_thread()
    assert "a background job failed" in caplog.text
    jobs.close(20.0)


@pytest.mark.parametrize("queued", [0, 5])
def test_closing_waits_for_the_running_job_and_drops_the_rest(qtbot: QtBot, queued):
    jobs = JobRunner(lambda call: None)
    begun, release, done = threading.Event(), threading.Event(), []

    def first() -> None:
        begun.set()
        release.wait(20)
        done.append("first")

    jobs.run(first, lambda result: None)
    begun.wait(20)
    for _ in range(queued):
        jobs.run(lambda: done.append("queued"), lambda result: None)
    threading.Timer(0.05, release.set).start()
    jobs.close(20.0)
    assert done == ["first"]


def test_threads_that_end_one_after_the_other_share_one_time_and_each_has_a_moment():
    clock = Clock()
    deadline = Deadline(2.0, least_s=0.2, clock=clock)
    assert deadline.left_s == pytest.approx(2.0)
    clock.now += 1.5  # the first one hung for a while
    assert deadline.left_s == pytest.approx(0.5)
    clock.now += 5.0
    assert deadline.left_s == 0.2
