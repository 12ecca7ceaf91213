"""Downloads and checks on a thread of their own: neither the window nor a token waits for them.

`ModelStoreThread` lives in the GUI thread. A download is paused or cancelled through its
GenerationControl, a plain flag: a queued slot would not run before the worker's loop ends.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Qt, QThread, Signal, Slot

from app.engine_events import as_engine_error
from engine.api import DownloadProgress, GenerationControl, ModelStoreEvent
from engine.errors import EngineError
from engine.models.model_catalog import CatalogModel
from engine.models.model_store import ModelStore

EVENT_INTERVAL_S = 0.1


@dataclass(frozen=True, slots=True)
class StoreAdvanced:
    """Bytes of a model arrived, or were hashed."""

    model_id: str
    progress: ModelStoreEvent


@dataclass(frozen=True, slots=True)
class ModelStored:
    """The whole model is in `path`, every file with the pinned sha256."""

    model_id: str
    path: Path


@dataclass(frozen=True, slots=True)
class StoreFailed:
    """The model is not complete; DownloadCancelled where the user stopped it."""

    model_id: str
    error: EngineError


@dataclass(frozen=True, slots=True)
class ModelDeleted:
    """Nothing of the model is on the disk any more."""

    model_id: str


@dataclass(frozen=True, slots=True)
class DeleteFailed:
    """Files of the model are still there."""

    model_id: str
    error: EngineError


StoreEvent = StoreAdvanced | ModelStored | StoreFailed | ModelDeleted | DeleteFailed
"""Everything this thread tells; exactly one of the last four ends what was asked."""


class ModelStoreWorker(QObject):
    """Lives in the store thread; does one thing after the other.

    Signals:
        event_emitted(object): a StoreEvent.
    """

    event_emitted = Signal(object)

    def __init__(self, store: ModelStore) -> None:
        super().__init__()
        self._store = store

    @Slot(object, object)
    def on_ensure_requested(self, model: CatalogModel, control: GenerationControl) -> None:
        """Fetch and check what is missing of the model."""
        last: StoreEvent
        try:
            self._ensure(model, control)
            last = ModelStored(model.model_id, self._store.require_verified(model))
        except BaseException as error:  # noqa: BLE001 - whatever is raised ends this one request
            last = StoreFailed(model.model_id, as_engine_error(error))
        self.event_emitted.emit(last)

    def _ensure(self, model: CatalogModel, control: GenerationControl) -> None:
        told_s, told_file, told_wait = 0.0, "", ""
        for progress in self._store.ensure_model(model, control):
            waiting = progress.waiting_for if isinstance(progress, DownloadProgress) else ""
            now_s = time.monotonic()
            # A new file, the end of one and a change of state are told at once.
            if (
                now_s - told_s >= EVENT_INTERVAL_S
                or progress.file_done_bytes == progress.file_total_bytes
                or (progress.file, waiting) != (told_file, told_wait)
            ):
                told_s, told_file, told_wait = now_s, progress.file, waiting
                self.event_emitted.emit(StoreAdvanced(model.model_id, progress))

    @Slot(object)
    def on_delete_requested(self, model: CatalogModel) -> None:
        """Remove all files of the model."""
        last: StoreEvent
        try:
            self._store.delete(model)
            last = ModelDeleted(model.model_id)
        except BaseException as error:  # noqa: BLE001 - whatever is raised ends this one request
            last = DeleteFailed(model.model_id, as_engine_error(error))
        self.event_emitted.emit(last)

    @Slot()
    def on_end_requested(self) -> None:
        """Leave the thread's loop, after everything that was asked before."""
        QThread.currentThread().quit()


class ModelStoreThread(QObject):
    """The window's side of the model store.

    Signals:
        event_emitted(object): a StoreEvent, on the GUI thread; connect bound methods only.
    """

    event_emitted = Signal(object)

    _ensure_requested = Signal(object, object)
    _delete_requested = Signal(object)
    _end_requested = Signal()

    def __init__(self, store: ModelStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._controls: dict[str, GenerationControl] = {}
        self._runs: Counter[str] = Counter()
        self._thread = QThread(self)
        self._thread.setObjectName("model-store")
        self._worker = ModelStoreWorker(store)
        self._worker.moveToThread(self._thread)
        queued = Qt.ConnectionType.QueuedConnection
        self._ensure_requested.connect(self._worker.on_ensure_requested, queued)
        self._delete_requested.connect(self._worker.on_delete_requested, queued)
        self._end_requested.connect(self._worker.on_end_requested, queued)
        self._worker.event_emitted.connect(self._on_worker_event, queued)

    def start(self) -> None:
        """Start the thread; nothing is asked of network or disk yet."""
        self._thread.start()

    def is_on_disk(self, model: CatalogModel) -> bool:
        """Whether the model is complete and was checked; a few stat calls."""
        return self._store.is_on_disk(model)

    def held_bytes(self, model: CatalogModel) -> int:
        """Bytes of the model that are here already, half-fetched files included."""
        return self._store.held_bytes(model)

    def folder(self, model: CatalogModel) -> Path:
        """Where the model lies or will lie."""
        return self._store.folder(model)

    def ensure(self, model: CatalogModel) -> None:
        """Fetch what is missing and check it; ends with ModelStored or StoreFailed.

        Asked again while it runs, it changes nothing.
        """
        if not self.is_running(model):
            control = self._controls[model.model_id] = GenerationControl()
            self._runs[model.model_id] += 1
            self._ensure_requested.emit(model, control)

    def is_running(self, model: CatalogModel) -> bool:
        """Whether the model is being fetched or checked and nobody has stopped it."""
        control = self._controls.get(model.model_id)
        return control is not None and not control.cancelled

    def stop(self, model: CatalogModel) -> None:
        """Pause or cancel: what has arrived is kept, `ensure` goes on from there."""
        if (control := self._controls.get(model.model_id)) is not None:
            control.cancel()

    def delete(self, model: CatalogModel) -> None:
        """Stop fetching and remove all files of the model; ends with ModelDeleted."""
        self.stop(model)
        self._delete_requested.emit(model)

    def shutdown(self, timeout_s: float) -> bool:
        """Stop everything and end the thread; what has arrived is kept for the next start.

        False: the thread hangs in a call. The process must then end by os._exit, since destroying
        a running QThread aborts.
        """
        for control in self._controls.values():
            control.cancel()
        if not self._thread.isRunning():
            return True
        self._end_requested.emit()
        ended = self._thread.wait(round(timeout_s * 1000))
        QCoreApplication.sendPostedEvents(self)
        return ended

    @Slot(object)
    def _on_worker_event(self, event: StoreEvent) -> None:
        if isinstance(event, ModelStored | StoreFailed):
            self._runs[event.model_id] -= 1
            if self._runs[event.model_id] > 0:
                # A stopped run ends after it was asked for again: nobody waits for that end.
                return
            self._controls.pop(event.model_id, None)
        self.event_emitted.emit(event)
