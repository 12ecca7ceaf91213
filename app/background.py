"""Work off the GUI thread, results back on it: the two bridges every other thread uses."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot

T = TypeVar("T")

logger = logging.getLogger(__name__)


class Deadline:
    """The time that several threads have to end in, together; each gets a moment at least."""

    def __init__(
        self,
        seconds: float,
        least_s: float = 0.2,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._least_s = least_s
        self._end_s = clock() + seconds

    @property
    def left_s(self) -> float:
        """What the next one may take."""
        return max(self._least_s, self._end_s - self._clock())


class GuiCalls(QObject):
    """Runs callables on the GUI thread; `post` may be called from any thread.

    Lives in the GUI thread. The signal goes to a bound method of this object, since a lambda would
    run in the emitting thread.
    """

    _posted = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._closed = False
        self._posted.connect(self._on_posted, Qt.ConnectionType.QueuedConnection)

    def post(self, call: Callable[[], None]) -> None:
        """Run `call` soon, on the GUI thread, in the order of posting."""
        self._posted.emit(call)

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        """Run `call` on the GUI thread after that time; asked for on the GUI thread."""
        QTimer.singleShot(round(seconds * 1000), self, partial(self._on_posted, call))

    def close(self) -> None:
        """Drop whatever is still posted: what it would change is about to go."""
        self._closed = True

    @Slot(object)
    def _on_posted(self, call: Callable[[], None]) -> None:
        if not self._closed:
            call()


class JobRunner:
    """One thread for short jobs, done in order: what waits for a disk or a driver, or formulas."""

    def __init__(self, deliver: Callable[[Callable[[], None]], None], name: str = "jobs") -> None:
        self._deliver = deliver
        self._jobs: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        # A daemon: a hung driver call must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def run(self, job: Callable[[], T], on_done: Callable[[T], None]) -> None:
        """Do `job` on the thread, then `on_done(result)` on the GUI thread.

        A job handles the errors that it expects; another one is logged and has no `on_done`.
        """
        self._jobs.put(partial(self._carry_out, job, on_done))

    def close(self, timeout_s: float) -> None:
        """End the thread after the job that it is doing; what is queued is dropped."""
        self._closing.set()
        self._jobs.put(None)
        self._thread.join(timeout_s)

    def _carry_out(self, job: Callable[[], T], on_done: Callable[[T], None]) -> None:
        result = job()
        self._deliver(partial(on_done, result))

    def _run(self) -> None:
        while (carry_out := self._jobs.get()) is not None and not self._closing.is_set():
            try:
                carry_out()
            except Exception:
                logger.exception("a background job failed")
