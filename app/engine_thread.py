"""The one place where Qt meets the engine: a worker on its own thread, and its face for the window.

`EngineThread` lives in the GUI thread and is what controllers call. `EngineWorker` builds the
engine on the engine thread (importing CuPy there, not before the window shows), runs one request
after the other, joins deltas to at most about 30 events a second and turns whatever is raised into
an event. Cancel goes past Qt: the GUI thread sets a flag of GenerationControl directly, since a
queued slot would not run before the worker's loop ends.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from PySide6.QtCore import QCoreApplication, QObject, Qt, QThread, Signal, Slot

from app.engine_events import (
    GraphRefused,
    LoadAdvanced,
    LoadFailed,
    LoadRequest,
    ModelLoaded,
    ModelUnloaded,
    WorkerEvent,
    as_engine_error,
)
from app.gui_garbage import GuiGarbage
from engine.api import (
    ChatMessage,
    Delta,
    Engine,
    Event,
    Failed,
    GenerationControl,
    GenerationRequest,
    LoadProgress,
    PrefillProgress,
    generate,
)
from engine.errors import BadRequest, DeviceLost, EngineError

EVENT_INTERVAL_S = 1 / 30
_SWITCH_INTERVAL_S = 0.0001
"""How long a thread keeps the GIL; the default of 5 ms halves decoding beside a busy window, and
1 ms still costs a tenth of it (docs/window.md)."""

EngineFactory = Callable[[LoadRequest], Engine]


def coalesced(
    events: Iterator[Event],
    clock: Callable[[], float] = time.monotonic,
    interval_s: float = EVENT_INTERVAL_S,
) -> Iterator[Event]:
    """Join deltas of one channel and skip progress, so that at most one event per interval comes.

    Nothing is held back at a change of channel or at the end, and no text is lost or reordered.
    """
    waiting: Delta | PrefillProgress | None = None
    next_at = clock()
    for event in events:
        match waiting, event:
            case Delta(), Delta() if waiting.channel is event.channel:
                waiting = replace(
                    waiting,
                    text=waiting.text + event.text,
                    token_count=waiting.token_count + event.token_count,
                    tokens=waiting.tokens + event.tokens,
                )
            case PrefillProgress(), PrefillProgress():
                waiting = event
            case _:
                if waiting is not None:
                    yield waiting
                    next_at = clock() + interval_s
                waiting = event if isinstance(event, Delta | PrefillProgress) else None
                if waiting is None:
                    yield event
                    continue
        if clock() >= next_at:
            yield waiting
            waiting = None
            next_at = clock() + interval_s
    if waiting is not None:
        yield waiting


class EngineWorker(QObject):
    """Lives in the engine thread; one slot per request, each ends with exactly one last event.

    Only GraphRefused may follow it, once in the life of the worker.

    Signals:
        event_emitted(object): a WorkerEvent.
    """

    event_emitted = Signal(object)

    def __init__(self, factory: EngineFactory) -> None:
        super().__init__()
        self._factory = factory
        self._engine: Engine | None = None
        self._lost: DeviceLost | None = None
        self._told_graph_refused = False

    @property
    def engine(self) -> Engine | None:
        """The loaded engine; other threads may call its `count_tokens` alone."""
        return self._engine

    @Slot(object, object)
    def on_load_requested(self, request: LoadRequest, control: GenerationControl) -> None:
        """Replace the loaded model."""
        self._close_engine()
        last: WorkerEvent
        try:
            self._require_device()
            engine = self._factory(request)
            self._load(engine, request, control)
            last = ModelLoaded(request.load_id, engine.info())
            self._engine = engine
        except BaseException as error:  # noqa: BLE001 - the one place; see _as_engine_error
            last = LoadFailed(request.load_id, self._as_engine_error(error))
        self.event_emitted.emit(last)
        self._tell_graph_refused()

    def _load(self, engine: Engine, request: LoadRequest, control: GenerationControl) -> None:
        next_at = 0.0
        try:
            for event in engine.load(control):
                if isinstance(event, LoadProgress) and time.monotonic() >= next_at:
                    next_at = time.monotonic() + EVENT_INTERVAL_S
                    self.event_emitted.emit(LoadAdvanced(request.load_id, event))
        except DeviceLost:
            raise
        except BaseException:
            engine.close()
            raise

    @Slot(object, object)
    def on_generate_requested(self, request: GenerationRequest, control: GenerationControl) -> None:
        """Answer one request; ends with Finished or Failed."""
        for event in coalesced(self._answer(request, control)):
            self.event_emitted.emit(event)
        self._tell_graph_refused()

    def _tell_graph_refused(self) -> None:
        # A request with other settings may be the first whose capture fails.
        if self._engine is None or self._told_graph_refused:
            return
        if self._engine.info().graph_refused:
            self._told_graph_refused = True
            self.event_emitted.emit(GraphRefused())

    def _answer(self, request: GenerationRequest, control: GenerationControl) -> Iterator[Event]:
        """The engine's events; whatever is raised becomes the last one, after all text."""
        try:
            self._require_device()
            if self._engine is None:
                raise BadRequest("model", None, "a loaded model")
            for event in generate(self._engine, request, control):
                if isinstance(event, Failed):
                    self._as_engine_error(event.error)
                yield event
        except GeneratorExit:
            raise
        except BaseException as error:  # noqa: BLE001 - the one place; see _as_engine_error
            yield Failed(request.request_id, self._as_engine_error(error))

    @Slot()
    def on_unload_requested(self) -> None:
        """Free the model's memory."""
        self._close_engine()
        self.event_emitted.emit(ModelUnloaded())

    @Slot()
    def on_end_requested(self) -> None:
        """Free the model and leave the thread's loop, after everything that was asked before."""
        self._close_engine()
        # Asked from here: quit() from outside may overtake slots that are still queued.
        QThread.currentThread().quit()

    def _require_device(self) -> None:
        # After a sticky CUDA error every further call would fail, or worse: none is made.
        if self._lost is not None:
            raise self._lost

    def _close_engine(self) -> None:
        engine, self._engine = self._engine, None
        if engine is None or self._lost is not None:
            return
        try:
            engine.close()
        except BaseException as error:  # noqa: BLE001 - the memory is gone either way
            self._as_engine_error(error)

    def _as_engine_error(self, error: BaseException) -> EngineError:
        """What to report; a lost device is remembered."""
        if isinstance(error, DeviceLost):
            self._lost = error
        return as_engine_error(error)


class EngineThread(QObject):
    """The window's side of the engine; all methods but none of its work on the GUI thread."""

    _load_requested = Signal(object, object)
    _generate_requested = Signal(object, object)
    _unload_requested = Signal()
    _end_requested = Signal()

    def __init__(
        self,
        factory: EngineFactory,
        on_event: Callable[[WorkerEvent], None],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._on_event = on_event
        self._controls: list[GenerationControl] = []
        self._garbage = GuiGarbage(self)
        self._thread = QThread(self)
        self._thread.setObjectName("engine")
        self._worker = EngineWorker(factory)
        self._worker.moveToThread(self._thread)
        queued = Qt.ConnectionType.QueuedConnection
        self._load_requested.connect(self._worker.on_load_requested, queued)
        self._generate_requested.connect(self._worker.on_generate_requested, queued)
        self._unload_requested.connect(self._worker.on_unload_requested, queued)
        self._end_requested.connect(self._worker.on_end_requested, queued)
        self._worker.event_emitted.connect(self._on_worker_event, queued)

    def start(self) -> None:
        """Start the thread; nothing is imported or loaded yet."""
        sys.setswitchinterval(_SWITCH_INTERVAL_S)
        self._garbage.start()
        self._thread.start()

    def load(self, request: LoadRequest) -> GenerationControl:
        """Load a model in place of the current one; returns the control that cancels it."""
        control = self._control()
        self._load_requested.emit(request, control)
        return control

    def generate(self, request: GenerationRequest) -> GenerationControl:
        """Answer a request; returns the control that cancels it or ends its thinking."""
        control = self._control()
        self._generate_requested.emit(request, control)
        return control

    def unload(self) -> None:
        """Free the model's memory once the running request has ended."""
        self._unload_requested.emit()

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int | None:
        """Tokens of a conversation; any thread. None where no model is loaded."""
        engine = self._worker.engine
        return None if engine is None else engine.count_tokens(messages)

    def shutdown(self, timeout_s: float) -> bool:
        """Cancel everything, free the model and end the thread.

        False: the thread hangs in a call. The process must then end by os._exit, since destroying
        a running QThread aborts.
        """
        for control in self._controls:
            control.cancel()
        if not self._thread.isRunning():
            return True
        self._end_requested.emit()
        ended = self._thread.wait(round(timeout_s * 1000))
        if ended:
            self._garbage.stop()
        # The last words of a cancelled reply are still in the queue of this thread.
        QCoreApplication.sendPostedEvents(self)
        return ended

    def _control(self) -> GenerationControl:
        control = GenerationControl()
        # Requests run one after the other; a handful covers whatever can still be queued.
        self._controls = [*self._controls[-15:], control]
        return control

    @Slot(object)
    def _on_worker_event(self, event: WorkerEvent) -> None:
        self._on_event(event)
