"""Shares work between threads of our own, while BLAS itself keeps to one.

OpenBLAS's threads spin while they wait for each other: on a machine whose cores are shared (the
window draws on one of them) a product then takes many times as long. Ours sleep instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from itertools import pairwise

import threadpoolctl

WORTH_SHARING = 1 << 19
"""Multiply-adds below which handing work to another thread costs more than it saves."""


@cache
def thread_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(thread_count(), thread_name_prefix="engine-cpu")


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
    # A copy of the context takes numpy.errstate along.
    others = [
        _threads().submit(copy_context().run, work, begin, end)
        for begin, end in pairwise(bounds[1:])
    ]
    work(bounds[0], bounds[1])
    for other in others:
        other.result()
