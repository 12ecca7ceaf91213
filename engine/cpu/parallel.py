"""Shares work between threads of our own, while BLAS itself keeps to one.

OpenBLAS's threads spin while they wait for each other: on a machine whose cores are shared (the
window draws on one of them) a product then takes many times as long. Ours sleep instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextvars import copy_context
from functools import cache, partial
from itertools import pairwise
from queue import SimpleQueue
from threading import Thread

import threadpoolctl

WORTH_SHARING = 1 << 19
"""Multiply-adds below which handing work to another thread costs more than it saves."""


@cache
def thread_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_Job = Callable[[], None]


@cache
def _jobs() -> SimpleQueue[_Job]:
    """What the helping threads take work from.

    A bare queue: the futures of a ThreadPoolExecutor cost 30 us more per product, and a token of a
    0.6B model needs 113 products.
    """
    jobs: SimpleQueue[_Job] = SimpleQueue()

    def help_out() -> None:
        while True:
            jobs.get()()

    for index in range(1, thread_count()):
        Thread(target=help_out, name=f"engine-cpu-{index}", daemon=True).start()
    return jobs


def keep_blas_to_one_thread() -> None:
    """Hold every BLAS of the process to one thread, for good."""
    threadpoolctl.threadpool_limits(limits=1, user_api="blas")


def share(count: int, multiply_adds: int, work: Callable[[int, int], None]) -> None:
    """Call `work(begin, end)` for pieces that cover range(count), on several threads.

    `multiply_adds` is the cost of all of it; cheap work is done at once by the caller. Each piece
    must write to places of its own. An exception of a piece is raised here.
    """
    pieces = min(thread_count(), count) if multiply_adds >= WORTH_SHARING else 1
    bounds = [count * piece // pieces for piece in range(pieces + 1)]
    others = list(pairwise(bounds[1:]))
    ended: SimpleQueue[Exception | None] = SimpleQueue()

    def other(begin: int, end: int) -> None:
        try:
            work(begin, end)
        except Exception as error:  # noqa: BLE001 - raised again by the caller
            ended.put(error)
        else:
            ended.put(None)

    for begin, end in others:
        # A copy of the context takes numpy.errstate along.
        _jobs().put(partial(copy_context().run, other, begin, end))
    try:
        work(bounds[0], bounds[1])
    finally:  # the pieces write to memory of the caller
        errors = [ended.get() for _ in others]
    for error in errors:
        if error is not None:
            raise error
