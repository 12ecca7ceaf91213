"""kill -9 and cancel at any moment: the next start goes on, and nothing unhashed is ready."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.api import DownloadProgress, GenerationControl
from engine.errors import DownloadCancelled, DownloadFailed, ModelFileMissing, StoreBusy
from engine.models import model_install, part_file, verified_files
from engine.models.folder_lock import LOCK_NAME, folder_lock
from engine.models.model_catalog import CatalogModel
from engine.models.model_store import ModelStore
from tests.engine.store.conftest import MIB, Fetch, model_of
from tests.engine.store.fake_hub import FakeHub, Fault
from tests.engine.store.test_download_faults import SOUND, assert_installed

REPOSITORY = Path(__file__).parents[3]


def start_process(root: Path, model: CatalogModel) -> subprocess.Popen[bytes]:
    files = [f"{file.name}:{file.size_bytes}:{file.sha256}" for file in model.files]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engine.store.fetch_process", str(root), *files],
        cwd=REPOSITORY,
        stdout=subprocess.DEVNULL,
    )


def wait_until_sent(hub: FakeHub, sent_bytes: int) -> None:
    deadline_s = time.monotonic() + 30
    while hub.sent_bytes < sent_bytes:
        assert time.monotonic() < deadline_s, "the process fetches nothing"
        time.sleep(0.005)


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_kill_minus_nine_loses_at_most_one_mebibyte(
    kills: int, hub: FakeHub, tmp_path: Path
) -> None:
    rng = random.Random(kills)
    contents = {"model.safetensors": rng.randbytes(kills * 3 * MIB // 2 + MIB)}
    model, root = model_of(contents), tmp_path
    hub.files = contents
    hub.every_request = Fault(bytes_per_s=8 * MIB)
    store = ModelStore(root)
    part = store.folder(model) / "model.safetensors.part"
    held_bytes = 0
    for _ in range(kills):
        sent_before, requests_before = hub.sent_bytes, len(hub.requests)
        target_bytes = rng.randrange(MIB // 2, 3 * MIB // 2)
        process = start_process(root, model)
        try:
            wait_until_sent(hub, sent_before + target_bytes)
        finally:
            process.kill()
            process.wait()
        assert not store.is_on_disk(model)
        with pytest.raises(ModelFileMissing):
            store.require_verified(model)
        if held_bytes:
            assert hub.requests[requests_before].headers["range"] == f"bytes={held_bytes}-"
        held_bytes = part.stat().st_size
    hub.every_request = None
    for _event in store.ensure_model(model, GenerationControl()):
        pass
    assert_installed(store, model, contents)
    again_bytes = hub.sent_bytes - model.total_bytes
    print(f"{kills} kills: {again_bytes} bytes fetched again")
    assert again_bytes <= kills * MIB


def test_cut_between_last_byte_and_rename_fetches_nothing_again(
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def power_cut(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(model_install, "_rename", power_cut)
        with pytest.raises(KeyboardInterrupt):
            fetch()
    sent_before = hub.sent_bytes
    assert not store.is_on_disk(model)
    fetch()
    assert_installed(store, model, contents)
    assert hub.sent_bytes - sent_before == len(contents["model.safetensors"])


@pytest.fixture
def power_loss(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """After its call the computer has been started anew."""

    def happen() -> None:
        monkeypatch.setattr(part_file, "boot_id", lambda: "another")

    return happen


def test_journal_that_promises_too_much_and_torn_lines_are_cut_down(
    power_loss: Callable[[], None],
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB), Fault(status=404)]
    with pytest.raises(Exception, match="404"):
        fetch()
    power_loss()
    folder = store.folder(model)
    with (folder / "model.safetensors.part.journal").open("ab") as journal:
        journal.write(b"99999999\n31457")
    with (folder / "model.safetensors.part").open("r+b") as part:
        part.truncate(MIB // 2)
    fetch()
    assert_installed(store, model, contents)
    assert hub.requests[-1].headers["range"] == f"bytes={MIB // 2}-"


def test_bytes_behind_the_last_journal_line_are_not_trusted(
    power_loss: Callable[[], None],
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB), Fault(status=404)]
    with pytest.raises(Exception, match="404"):
        fetch()
    power_loss()
    with (store.folder(model) / "model.safetensors.part").open("ab") as part:
        part.write(bytes(MIB))
    fetch()
    assert_installed(store, model, contents)
    assert hub.requests[-1].headers["range"] == f"bytes={MIB}-"


def test_system_without_boot_id_syncs_more_often_and_trusts_the_journal(
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(part_file, "_BOOT_ID_PATH", Path("/proc/no/such/id"))
    hub.faults = [SOUND, Fault(cut_after=2 * MIB), Fault(status=404)]
    with pytest.raises(DownloadFailed, match="404"):
        fetch()
    journal = store.folder(model) / "model.safetensors.part.journal"
    lines = journal.read_text().splitlines()
    assert len(lines) >= 5  # header, 0, and one for each half MiB
    with (store.folder(model) / "model.safetensors.part").open("ab") as part:
        part.write(bytes(MIB // 2))
    fetch()
    assert_installed(store, model, contents)
    assert hub.requests[-1].headers["range"] == f"bytes={2 * MIB}-"


def test_part_of_another_file_is_not_continued(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel, contents: dict[str, bytes]
) -> None:
    folder = store.folder(model)
    folder.mkdir(parents=True)
    (folder / "model.safetensors.part").write_bytes(bytes(MIB))
    (folder / "model.safetensors.part.journal").write_text(
        '{"format": 1, "size_bytes": 5, "sha256": "0", "etag": ""}\n1048576\n'
    )
    fetch()
    assert_installed(store, model, contents)
    assert "range" not in hub.requests[-1].headers


@pytest.mark.parametrize("moment", ["stall", "body", "pause", "hash", "no answer"])
def test_cancel_stops_at_once_and_keeps_what_has_arrived(
    moment: str,
    hub: FakeHub,
    model: CatalogModel,
    contents: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = ModelStore(tmp_path)  # the real times: nothing but cancel ends a wait
    faults = {
        "stall": [SOUND, Fault(cut_after=MIB, cut_by="stall")],
        "body": [SOUND, Fault(bytes_per_s=MIB)],
        "pause": [SOUND, Fault(cut_after=MIB), Fault(status=429, headers=(("Retry-After", "60"),))],
        "hash": [],
        "no answer": [Fault(cut_after=0, cut_by="stall", without_length=True)],
    }
    hub.faults = faults[moment]
    control = GenerationControl()
    asked_s: list[float] = []

    def ask() -> None:
        asked_s.append(time.monotonic())
        control.cancel()

    if moment == "hash":
        real_hash = model_install.hash_file

        def hash_and_cancel(path: Path, name: str, control: GenerationControl) -> object:
            if name == "model.safetensors":
                ask()
            return (yield from real_hash(path, name, control))

        monkeypatch.setattr(model_install, "hash_file", hash_and_cancel)
    else:
        threading.Timer(0.4, ask).start()
    with pytest.raises(DownloadCancelled):
        for _event in store.ensure_model(model, control):
            pass
    latency_s = time.monotonic() - asked_s[0]
    print(f"cancel during {moment}: {latency_s * 1e3:.0f} ms")
    assert latency_s < 1.0
    kept_bytes = store.held_bytes(model)
    monkeypatch.setattr(model_install, "hash_file", verified_files.hash_file)
    sent_before, requests_before = hub.sent_bytes, len(hub.requests)
    hub.faults = []
    for _event in store.ensure_model(model, GenerationControl()):
        pass
    assert_installed(store, model, contents)
    fetched_bytes = sum(request.sent_bytes for request in hub.requests[requests_before:])
    assert fetched_bytes == model.total_bytes - kept_bytes
    assert sent_before - kept_bytes <= MIB, "bytes in flight are the only ones lost"


def test_second_process_is_told_that_the_folder_is_busy(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel
) -> None:
    store.folder(model).mkdir(parents=True)
    with folder_lock(store.folder(model)), pytest.raises(StoreBusy, match="another Thinkpane"):
        fetch()
    assert not hub.requests


def test_lock_file_of_a_killed_process_does_not_count(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel
) -> None:
    store.folder(model).mkdir(parents=True)
    (store.folder(model) / LOCK_NAME).write_text("4711")
    fetch()
    assert store.is_on_disk(model)


def test_progress_reaches_the_end_and_never_passes_it(
    fetch: Fetch, hub: FakeHub, model: CatalogModel
) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB, cut_by="reset")]
    events = [event for event in fetch() if isinstance(event, DownloadProgress)]
    assert [event.done_bytes for event in events] == sorted(event.done_bytes for event in events)
    assert events[-1].done_bytes == events[-1].total_bytes == model.total_bytes
    assert all(event.file_done_bytes <= event.file_total_bytes for event in events)
    assert all(event.seconds_left is None or event.seconds_left >= 0 for event in events)
