"""What a disk can do wrong: full, read-only, files that change after they were checked."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from engine.api import GenerationControl, VerifyProgress
from engine.errors import (
    BadModelFile,
    ChecksumMismatch,
    FolderNotWritable,
    ModelFileMissing,
    NotEnoughDisk,
)
from engine.models import model_install
from engine.models.model_catalog import CatalogModel
from engine.models.model_store import ModelStore
from tests.engine.store.conftest import MIB, QUICK, Fetch
from tests.engine.store.fake_hub import FakeHub, Fault
from tests.engine.store.test_download_faults import SOUND, assert_installed


class Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_too_little_room_is_refused_before_the_first_byte(
    fetch: Fetch, hub: FakeHub, model: CatalogModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: Usage(10, 10, MIB))
    with pytest.raises(NotEnoughDisk) as failure:
        fetch()
    assert failure.value.free_bytes == MIB
    assert failure.value.needed_bytes == model.total_bytes + model_install.DISK_MARGIN_BYTES
    assert not hub.requests


@pytest.mark.parametrize("error_number", [errno.ENOSPC, errno.EFBIG])
def test_disk_that_fills_half_way_keeps_the_partial_and_asks_no_more(
    error_number: int,
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real_write, room_bytes = os.write, [2 * MIB]

    def write(fd: int, data: bytes) -> int:
        if len(data) > room_bytes[0]:
            raise OSError(error_number, os.strerror(error_number))
        room_bytes[0] -= len(data)
        return real_write(fd, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(NotEnoughDisk) as failure:
            fetch()
    assert failure.value.needed_bytes < 2 * MIB
    assert len(hub.requests) == 2
    kept_bytes = store.held_bytes(model)
    assert kept_bytes > MIB
    fetch()
    assert_installed(store, model, contents)
    assert hub.sent_bytes - model.total_bytes <= 2 * MIB
    resumed_at = int(hub.requests[2].headers["range"].removeprefix("bytes=").rstrip("-"))
    assert 2 * MIB - resumed_at <= MIB


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_really_full_disk_keeps_the_partial(
    small_disk: Path, hub: FakeHub, model: CatalogModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ModelStore(small_disk, QUICK)
    with monkeypatch.context() as patch:
        patch.setattr(model_install, "DISK_MARGIN_BYTES", -4 * MIB)  # let it start all the same
        with pytest.raises(NotEnoughDisk):
            list(store.ensure_model(model, GenerationControl()))
    assert store.held_bytes(model) > MIB
    assert len(hub.requests) == 2
    assert not store.is_on_disk(model)


def test_folder_that_is_a_file_or_a_loop_is_named(
    hub: FakeHub, model: CatalogModel, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for root in (tmp_path / "file", tmp_path / "loop", Path("/proc/no")):
        with pytest.raises(FolderNotWritable, match=root.name):
            list(ModelStore(root, QUICK).ensure_model(model, GenerationControl()))
    assert not hub.requests


def test_file_that_may_not_be_written_is_named(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel
) -> None:
    (store.folder(model) / "config.json.part").mkdir(parents=True)
    with pytest.raises(FolderNotWritable, match="tiny"):
        fetch()


def test_files_and_folders_are_for_their_owner_only(
    fetch: Fetch, store: ModelStore, model: CatalogModel
) -> None:
    old = os.umask(0)
    try:
        fetch()
    finally:
        os.umask(old)
    folder = store.folder(model)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name


def test_long_folder_with_spaces_and_other_scripts_works(
    hub: FakeHub, model: CatalogModel, contents: dict[str, bytes], tmp_path: Path
) -> None:
    store = ModelStore(tmp_path / "Ünï côde 模型" / ("x" * 120) / ("y" * 120), QUICK)
    list(store.ensure_model(model, GenerationControl()))
    assert_installed(store, model, contents)


def test_rename_that_is_blocked_for_a_moment_succeeds(
    fetch: Fetch, store: ModelStore, model: CatalogModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_replace, blocked = Path.replace, [3]

    def replace(self: Path, target: Path) -> Path:
        if self.name == "model.safetensors.part" and blocked[0]:
            blocked[0] -= 1
            raise PermissionError(errno.EACCES, "in use")
        return real_replace(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    fetch()
    assert store.is_on_disk(model)
    assert blocked == [0]


def test_checked_model_is_ready_without_network_and_without_hashing(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel
) -> None:
    fetch()
    requests_before = len(hub.requests)
    again = fetch()
    assert len(hub.requests) == requests_before
    assert not [event for event in again if isinstance(event, VerifyProgress)]
    for progress in store.verify(model, GenerationControl()):
        assert progress.file_done_bytes == progress.file_total_bytes


def damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    changed = {
        "truncated": data[: MIB + 1],
        "grown": data + b"x",
        "zero-filled": bytes(len(data)),
        "one bit": bytes([data[0] ^ 1]) + data[1:],
        "empty": b"",
    }
    path.write_bytes(changed[how])


@pytest.mark.parametrize("how", ["truncated", "grown", "zero-filled", "one bit", "empty"])
def test_file_that_changed_after_the_check_is_refused_and_repaired(
    how: str,
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
) -> None:
    fetch()
    path = store.folder(model) / "model.safetensors"
    damage(path, how)
    assert not store.is_on_disk(model)
    with pytest.raises((BadModelFile, ChecksumMismatch), match="safetensors"):
        store.require_verified(model)
    sent_before = hub.sent_bytes
    fetch()
    assert_installed(store, model, contents)
    repair_bytes = hub.sent_bytes - sent_before
    print(f"{how}: {repair_bytes} bytes to repair")
    if how == "truncated":
        assert repair_bytes == len(contents["model.safetensors"]) - MIB - 1
    else:
        assert repair_bytes == len(contents["model.safetensors"])


def test_half_a_set_is_not_a_model(fetch: Fetch, store: ModelStore, model: CatalogModel) -> None:
    fetch()
    (store.folder(model) / "config.json").unlink()
    assert not store.is_on_disk(model)
    with pytest.raises(ModelFileMissing, match=r"config\.json"):
        store.require_verified(model)


@pytest.mark.parametrize("record", ["", "[]", '{"files": 3}', '{"files": {"config.json": 1}}'])
def test_damaged_record_means_hashing_again_not_fetching(
    record: str, fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel
) -> None:
    fetch()
    (store.folder(model) / "verified.json").write_text(record)
    requests_before = len(hub.requests)
    events = fetch()
    assert len(hub.requests) == requests_before
    assert [event for event in events if isinstance(event, VerifyProgress)]
    assert store.is_on_disk(model)


def test_record_of_other_content_does_not_count(
    fetch: Fetch, store: ModelStore, model: CatalogModel
) -> None:
    fetch()
    record = store.folder(model) / "verified.json"
    record.write_text(record.read_text().replace(model.files[0].sha256, "0" * 64))
    assert not store.is_on_disk(model)


def test_delete_removes_finished_and_half_fetched_files(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel
) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB), Fault(status=404)]
    with pytest.raises(Exception, match="404"):
        fetch()
    assert store.held_bytes(model) == len(hub.files["config.json"]) + MIB
    store.delete(model)
    assert store.held_bytes(model) == 0
    assert not store.folder(model).exists()
    store.delete(model)
