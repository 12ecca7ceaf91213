"""Streams, events and graphs: queues of operations that run as late as CUDA allows."""

from __future__ import annotations

import itertools
import time
import weakref
from collections.abc import Callable
from typing import ClassVar

from tests.kernels.emulated_device.gpu import (
    CAPTURE_UNSUPPORTED,
    INVALID_VALUE,
    CUDARuntimeError,
    current_gpu,
)

Operation = Callable[[], None]
_numbers = itertools.count(1)


class Stream:
    """As cupy.cuda.Stream."""

    _by_pointer: ClassVar[weakref.WeakValueDictionary[int, Stream]] = weakref.WeakValueDictionary()
    _entered: ClassVar[list[Stream]] = []

    def __init__(self, non_blocking: bool = False) -> None:
        self.non_blocking = non_blocking
        self.ptr = next(_numbers)
        self.enqueued = 0
        self._done = 0
        self._queue: list[Operation] = []
        self._captured: list[Operation] | None = None
        Stream._by_pointer[self.ptr] = self

    def __enter__(self) -> Stream:
        Stream._entered.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        Stream._entered.pop()

    @property
    def capturing(self) -> bool:
        """Whether operations go into a graph now."""
        return self._captured is not None

    def enqueue(self, operation: Operation) -> None:
        """Add an operation to the queue, or to the graph under capture."""
        if self._captured is not None:
            self._captured.append(operation)
        else:
            self._queue.append(operation)
            self.enqueued += 1

    def run_to(self, position: int) -> None:
        """Run queued operations until `position` of them have run since the beginning."""
        while self._done < position:
            self._done += 1
            self._queue.pop(0)()

    def synchronize(self) -> None:
        """Run all that is queued."""
        current_gpu().call("synchronize")
        self.require_no_capture()
        self.run_to(self.enqueued)

    def require_no_capture(self) -> None:
        """Waiting and reading while a graph is captured is an error, as in CUDA."""
        if self._captured is not None:
            raise CUDARuntimeError(CAPTURE_UNSUPPORTED)

    def begin_capture(self) -> None:
        """Collect operations from now on."""
        self.require_no_capture()
        current_gpu().graph_captures += 1
        current_gpu().call("beginCapture")
        self._captured = []

    def end_capture(self) -> Graph:
        """The operations since `begin_capture`; the capture is over even if that fails."""
        if self._captured is None:
            raise CUDARuntimeError(INVALID_VALUE)
        captured, self._captured = self._captured, None
        current_gpu().call("endCapture")
        return Graph(captured)


NULL_STREAM = Stream()


def current_stream() -> Stream:
    """As cupy.cuda.get_current_stream."""
    return Stream._entered[-1] if Stream._entered else NULL_STREAM


def stream_at(pointer: int) -> Stream:
    """The stream of that handle."""
    return Stream._by_pointer[pointer]


class Graph:
    """As cupy.cuda.Graph: replays what was captured."""

    def __init__(self, operations: list[Operation]) -> None:
        self._operations = operations

    def upload(self, stream: Stream) -> None:
        """Nothing to do here."""
        current_gpu().call("graphUpload")

    def launch(self, stream: Stream) -> None:
        """Enqueue the captured operations again."""
        gpu = current_gpu()
        gpu.call("graphLaunch")
        gpu.graph_launches += 1
        for operation in self._operations:
            stream.enqueue(operation)


class Event:
    """As cupy.cuda.Event."""

    def __init__(self, disable_timing: bool = False) -> None:
        self._timed = not disable_timing
        self._stream: Stream | None = None
        self._position = 0
        self._reached_s: float | None = None

    def record(self, stream: Stream) -> None:
        """Mark the end of what is queued now."""
        current_gpu().call("eventRecord")
        stream.enqueue(self._reach)
        self._stream, self._position = stream, stream.enqueued

    def synchronize(self) -> None:
        """Run the stream up to the mark; an event that was never recorded is done."""
        current_gpu().call("synchronize")
        if self._stream is not None:
            self._stream.run_to(self._position)

    def _reach(self) -> None:
        self._reached_s = time.perf_counter()

    def milliseconds_since(self, other: Event) -> float:
        """Time between the marks; both must be reached and measure time."""
        if not (self._timed and other._timed):
            raise CUDARuntimeError(INVALID_VALUE)
        if self._reached_s is None or other._reached_s is None:
            raise CUDARuntimeError(600)  # cudaErrorNotReady
        return (self._reached_s - other._reached_s) * 1000


def get_elapsed_time(begin: Event, end: Event) -> float:
    """As cupy.cuda.get_elapsed_time."""
    return end.milliseconds_since(begin)
