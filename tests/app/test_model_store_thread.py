"""The real download thread against the fake hub: order of events, pause, resume, orderly end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.engine_events import UnexpectedFailure
from app.model_store_thread import (
    ModelDeleted,
    ModelStored,
    ModelStoreThread,
    StoreAdvanced,
    StoreEvent,
    StoreFailed,
)
from engine.api import DownloadProgress, GenerationControl, VerifyProgress
from engine.errors import DownloadCancelled, DownloadFailed
from engine.models.model_catalog import CatalogModel
from engine.models.model_store import ModelStore
from tests.engine.store.conftest import MIB, QUICK, contents, hub, model
from tests.engine.store.fake_hub import FakeHub, Fault

__all__ = ["contents", "hub", "model"]  # fixtures


class Recorder:
    def __init__(self, thread: ModelStoreThread, qtbot: QtBot) -> None:
        self.events: list[StoreEvent] = []
        self.threads: set[threading.Thread] = set()
        self._qtbot = qtbot
        thread.event_emitted.connect(self.on_event)

    def on_event(self, event: StoreEvent) -> None:
        self.threads.add(threading.current_thread())
        self.events.append(event)

    def wait_for(self, *kinds: type) -> StoreEvent:
        self._qtbot.waitUntil(
            lambda: any(isinstance(e, kinds) for e in self.events), timeout=30_000
        )
        return next(e for e in self.events if isinstance(e, kinds))


@pytest.fixture
def thread(tmp_path: Path, qtbot: QtBot) -> Iterator[ModelStoreThread]:
    running = ModelStoreThread(ModelStore(tmp_path / "models", QUICK))
    running.start()
    yield running
    assert running.shutdown(5.0)


@pytest.fixture
def recorder(thread: ModelStoreThread, qtbot: QtBot) -> Recorder:
    return Recorder(thread, qtbot)


def test_download_ends_with_the_checked_folder(
    thread: ModelStoreThread, recorder: Recorder, hub: FakeHub, model: CatalogModel
) -> None:
    assert not thread.is_on_disk(model)
    thread.ensure(model)
    assert thread.is_running(model)
    stored = recorder.wait_for(ModelStored, StoreFailed)
    assert stored == ModelStored(model.model_id, thread.folder(model))
    assert thread.is_on_disk(model)
    assert not thread.is_running(model)
    assert thread.held_bytes(model) == model.total_bytes
    kinds = [type(e.progress) for e in recorder.events if isinstance(e, StoreAdvanced)]
    assert DownloadProgress in kinds
    assert VerifyProgress in kinds
    assert recorder.threads == {threading.main_thread()}


def test_pause_keeps_bytes_and_resume_goes_on(
    thread: ModelStoreThread, recorder: Recorder, hub: FakeHub, model: CatalogModel, qtbot: QtBot
) -> None:
    hub.faults = [Fault(), Fault(bytes_per_s=2 * MIB)]
    thread.ensure(model)
    qtbot.waitUntil(lambda: hub.sent_bytes > MIB // 2, timeout=30_000)
    thread.stop(model)
    assert not thread.is_running(model)
    failed = recorder.wait_for(StoreFailed)
    assert isinstance(failed, StoreFailed)
    assert isinstance(failed.error, DownloadCancelled)
    kept_bytes = thread.held_bytes(model)
    assert kept_bytes > MIB // 4
    recorder.events.clear()
    thread.ensure(model)
    recorder.wait_for(ModelStored)
    assert hub.requests[-1].headers["range"].startswith("bytes=")


def test_resume_before_the_pause_has_ended_tells_one_end(
    thread: ModelStoreThread, recorder: Recorder, hub: FakeHub, model: CatalogModel, qtbot: QtBot
) -> None:
    hub.faults = [Fault(), Fault(bytes_per_s=2 * MIB)]
    thread.ensure(model)
    qtbot.waitUntil(lambda: hub.sent_bytes > MIB // 4, timeout=30_000)
    thread.stop(model)
    thread.ensure(model)
    assert thread.is_running(model)
    recorder.wait_for(ModelStored, StoreFailed)
    ends = [event for event in recorder.events if not isinstance(event, StoreAdvanced)]
    assert ends == [ModelStored(model.model_id, thread.folder(model))]


def test_asking_twice_downloads_once(
    thread: ModelStoreThread, recorder: Recorder, hub: FakeHub, model: CatalogModel
) -> None:
    thread.ensure(model)
    thread.ensure(model)
    recorder.wait_for(ModelStored)
    assert len(hub.requests) == len(model.files)


def test_failure_is_told_once_and_can_be_retried(
    thread: ModelStoreThread, recorder: Recorder, hub: FakeHub, model: CatalogModel
) -> None:
    hub.faults = [Fault(status=404, body=b"")]
    thread.ensure(model)
    failed = recorder.wait_for(StoreFailed)
    assert isinstance(failed, StoreFailed)
    assert isinstance(failed.error, DownloadFailed)
    thread.ensure(model)
    recorder.wait_for(ModelStored)


def test_unexpected_failure_is_reported_and_the_thread_lives_on(
    thread: ModelStoreThread,
    recorder: Recorder,
    hub: FakeHub,
    model: CatalogModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(_self: ModelStore, _model: CatalogModel, _control: GenerationControl) -> None:
        raise ZeroDivisionError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(ModelStore, "ensure_model", fail)
        thread.ensure(model)
        failed = recorder.wait_for(StoreFailed)
    assert isinstance(failed, StoreFailed)
    assert isinstance(failed.error, UnexpectedFailure)
    assert "planted" in str(failed.error)
    thread.ensure(model)
    recorder.wait_for(ModelStored)


def test_delete_stops_the_download_and_removes_everything(
    thread: ModelStoreThread, recorder: Recorder, hub: FakeHub, model: CatalogModel, qtbot: QtBot
) -> None:
    hub.faults = [Fault(), Fault(bytes_per_s=MIB)]
    thread.ensure(model)
    qtbot.waitUntil(lambda: hub.sent_bytes > MIB // 4, timeout=30_000)
    thread.delete(model)
    recorder.wait_for(ModelDeleted)
    assert thread.held_bytes(model) == 0


def test_end_of_the_app_during_a_stall_keeps_what_has_arrived(
    hub: FakeHub, model: CatalogModel, tmp_path: Path, qtbot: QtBot
) -> None:
    thread = ModelStoreThread(ModelStore(tmp_path))
    hub.faults = [Fault(), Fault(cut_after=MIB, cut_by="stall")]
    thread.start()
    thread.ensure(model)
    qtbot.waitUntil(lambda: hub.sent_bytes > MIB, timeout=30_000)
    assert thread.shutdown(2.0)
    assert thread.held_bytes(model) >= MIB
