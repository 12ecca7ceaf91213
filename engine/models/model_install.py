"""Bring one model to the disk: the steps of `ModelStore.ensure_model`, in order.

What is missing; free disk; then for each missing file: fetch to `.part`, sha256, rename, record.
Any step may be cut by cancel, kill or power loss; the next run goes on where this one stopped.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Generator, Iterator
from pathlib import Path

from engine.api import DownloadProgress, GenerationControl, ModelStoreEvent
from engine.errors import ChecksumMismatch, FolderNotWritable, NotEnoughDisk
from engine.models.file_fetch import DISK_FULL_ERRORS, FetchPolicy, FetchStatus, fetch_file
from engine.models.model_catalog import CatalogFile, CatalogModel
from engine.models.part_file import PartFile, adopt_as_part
from engine.models.transfer_rate import TransferRate
from engine.models.verified_files import VerifiedFiles, hash_file, sync_folder

DISK_MARGIN_BYTES = 64 * 1024 * 1024
"""Room that must be left on the disk besides the missing bytes."""
_EVENT_PAUSE_S = 0.1
_RATE_WINDOW_S = 5.0
_RENAME_PAUSES_S = (0.05, 0.1, 0.2, 0.4)


def require_writable(folder: Path) -> None:
    """Make the folder, for its owner only, and try to write into it.

    Raises:
        FolderNotWritable: with the system's reason.
    """
    probe = folder / ".write-probe"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe.write_bytes(b"")
        probe.unlink()
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of symbolic links
        reason = getattr(error, "strerror", None) or str(error)
        raise FolderNotWritable(str(folder), reason, getattr(error, "errno", None)) from error


def held_bytes(path: Path, size_bytes: int) -> int:
    """Bytes of a file that are here, finished or as its `.part`."""
    for candidate in (path, path.with_name(path.name + ".part")):
        try:
            return min(candidate.stat().st_size, size_bytes)
        except OSError:
            continue
    return 0


def model_file_url(model: CatalogModel, file: CatalogFile) -> str:
    """Where the file is fetched from: the model host, or the mirror named by HF_ENDPOINT."""
    # Late: importing it takes a third of a second, and nothing else in the app needs it.
    from huggingface_hub import constants, hf_hub_url

    endpoint = os.environ.get("HF_ENDPOINT", "").strip() or constants._HF_DEFAULT_ENDPOINT
    return hf_hub_url(
        model.repo_id, file.name, revision=model.revision, endpoint=endpoint.rstrip("/")
    )


class ModelInstall:
    """One run over the files of `model` in `folder`, whose lock the caller holds."""

    def __init__(
        self, model: CatalogModel, folder: Path, policy: FetchPolicy, control: GenerationControl
    ) -> None:
        self._model = model
        self._folder = folder
        self._policy = policy
        self._control = control
        self._record = VerifiedFiles(folder)
        self._rate = TransferRate(_RATE_WINDOW_S)
        self._finished_bytes = 0

    def run(self) -> Iterator[ModelStoreEvent]:
        """All steps; errors as in `ModelStore.ensure_model`."""
        try:
            missing = yield from self._find_missing()
            self._require_free_disk(missing)
            for file in missing:
                yield from self._fetch_and_install(file)
        except OSError as error:
            raise self._disk_problem(error) from error

    def _disk_problem(self, error: OSError) -> NotEnoughDisk | FolderNotWritable:
        folder = str(self._folder)
        if error.errno in DISK_FULL_ERRORS:
            return NotEnoughDisk(folder, DISK_MARGIN_BYTES, shutil.disk_usage(folder).free)
        return FolderNotWritable(folder, error.strerror or str(error), error.errno)

    def _find_missing(self) -> Generator[ModelStoreEvent, None, list[CatalogFile]]:
        missing = []
        for file in self._model.files:
            if self._record.holds(file) or (yield from self._recheck(file)):
                yield self._finished(file)
            else:
                missing.append(file)
        return missing

    def _recheck(self, file: CatalogFile) -> Generator[ModelStoreEvent, None, bool]:
        """Whether a file without a valid record is right after all; a wrong one is put away."""
        path = self._folder / file.name
        if not path.exists():
            return False
        found_bytes = path.stat().st_size
        if found_bytes == file.size_bytes:
            found_sha256 = yield from hash_file(path, file.name, self._control)
            if found_sha256 == file.sha256:
                self._record.add(file)
                return True
        if 0 < found_bytes < file.size_bytes:
            adopt_as_part(path, file.size_bytes, file.sha256)
        else:
            path.unlink()
        return False

    def _require_free_disk(self, missing: list[CatalogFile]) -> None:
        missing_bytes = sum(
            file.size_bytes - held_bytes(self._folder / file.name, file.size_bytes)
            for file in missing
        )
        free_bytes = shutil.disk_usage(self._folder).free
        if missing and missing_bytes + DISK_MARGIN_BYTES > free_bytes:
            raise NotEnoughDisk(str(self._folder), missing_bytes + DISK_MARGIN_BYTES, free_bytes)

    def _fetch_and_install(self, file: CatalogFile) -> Iterator[ModelStoreEvent]:
        """Fetch, hash, rename, record; a file of wrong content is fetched once more, then given up.

        There is no hash of parts, so the repair of a flipped bit is the whole file; the wrong one
        is worth nothing and is not kept.
        """
        path = self._folder / file.name
        for is_last_try in (False, True):
            part = PartFile(path, file.size_bytes, file.sha256)
            try:
                yield from self._fetch(file, part)
            finally:
                part.close()
            found_sha256 = yield from hash_file(part.path, file.name, self._control)
            if found_sha256 == file.sha256:
                break
            part.delete()
            if is_last_try:
                raise ChecksumMismatch(file.name, file.sha256, found_sha256)
        _rename(part.path, path)
        sync_folder(self._folder)
        part.delete()  # the journal; the data has its final name
        self._record.add(file)
        yield self._finished(file)

    def _fetch(self, file: CatalogFile, part: PartFile) -> Iterator[ModelStoreEvent]:
        url = model_file_url(self._model, file)
        seen_bytes, told_s, told_wait = part.done_bytes, 0.0, ""
        self._rate.add(0, time.monotonic())
        for status in fetch_file(url, part, self._policy, self._control):
            now_s = time.monotonic()
            if status.done_bytes > seen_bytes:
                self._rate.add(status.done_bytes - seen_bytes, now_s)
            seen_bytes = status.done_bytes
            if now_s - told_s >= _EVENT_PAUSE_S or status.waiting_for != told_wait:
                told_s, told_wait = now_s, status.waiting_for
                yield self._progress(file, status, now_s)
        yield self._progress(file, FetchStatus(part.done_bytes), time.monotonic())

    def _progress(self, file: CatalogFile, status: FetchStatus, now_s: float) -> DownloadProgress:
        done_bytes = self._finished_bytes + status.done_bytes
        rate = 0.0 if status.waiting_for else self._rate.bytes_per_s(now_s)
        left_bytes = self._model.total_bytes - done_bytes
        return DownloadProgress(
            file=file.name,
            file_done_bytes=status.done_bytes,
            file_total_bytes=file.size_bytes,
            done_bytes=done_bytes,
            total_bytes=self._model.total_bytes,
            bytes_per_s=rate,
            seconds_left=left_bytes / rate if rate > 0 else None,
            waiting_for=status.waiting_for,
            retry_in_s=status.retry_in_s,
            fault=status.fault,
            about=status.about,
        )

    def _finished(self, file: CatalogFile) -> DownloadProgress:
        progress = self._progress(file, FetchStatus(file.size_bytes), time.monotonic())
        self._finished_bytes += file.size_bytes
        return progress


def _rename(source: Path, target: Path) -> None:
    """Give the file its final name; a virus scanner may hold it for a moment."""
    for pause_s in _RENAME_PAUSES_S:
        try:
            source.replace(target)
        except PermissionError:
            time.sleep(pause_s)
        else:
            return
    source.replace(target)
