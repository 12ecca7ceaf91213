"""Hashing model files, and the record `verified.json` that spares hashing them at each start.

A record counts only while length and modification time of the file are what they were when it was
hashed, and while the sha256 is the pinned one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Generator
from pathlib import Path

from engine.api import GenerationControl, VerifyProgress
from engine.errors import DownloadCancelled
from engine.models.model_catalog import CatalogFile

RECORD_NAME = "verified.json"
_HASH_CHUNK_BYTES = 4 * 1024 * 1024


class VerifiedFiles:
    """The record of one model folder; a damaged one counts as empty."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def holds(self, file: CatalogFile) -> bool:
        """Whether the file is there, unchanged since its sha256 was found to be the pinned one."""
        entry = self._read().get(file.name)
        return entry is not None and entry == self._entry(file)

    def add(self, file: CatalogFile) -> None:
        """Note that the file, as it is now, has the pinned sha256."""
        entries = self._read()
        entry = self._entry(file)
        if entry is not None:
            entries[file.name] = entry
            write_durably(
                self._folder / RECORD_NAME, json.dumps({"format": 1, "files": entries}, indent=1)
            )

    def _entry(self, file: CatalogFile) -> dict[str, object] | None:
        try:
            status = (self._folder / file.name).stat()
        except OSError:
            return None
        if status.st_size != file.size_bytes:
            return None
        return {
            "size_bytes": status.st_size,
            "mtime_ns": status.st_mtime_ns,
            "sha256": file.sha256,
        }

    def _read(self) -> dict[str, object]:
        try:
            record = json.loads((self._folder / RECORD_NAME).read_text(encoding="utf-8"))
            files = record["files"]
        except (OSError, ValueError, LookupError, TypeError):
            return {}
        return files if isinstance(files, dict) else {}


def hash_file(
    path: Path, name: str, control: GenerationControl
) -> Generator[VerifyProgress, None, str]:
    """Yield progress; the generator's return value is the sha256 in hex.

    Raises:
        DownloadCancelled: `control` was cancelled.
        OSError: the file cannot be read.
    """
    digest = hashlib.sha256()
    total_bytes = path.stat().st_size
    done_bytes = 0
    with path.open("rb") as file:
        while chunk := file.read(_HASH_CHUNK_BYTES):
            if control.cancelled:
                raise DownloadCancelled(name)
            digest.update(chunk)
            done_bytes += len(chunk)
            yield VerifyProgress(name, done_bytes, total_bytes)
    return digest.hexdigest()


def write_durably(path: Path, text: str) -> None:
    """Replace `path` by a file with `text`: afterwards there is the old one or the new one."""
    fresh = path.with_name(path.name + ".new")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in `folder` survive a power loss; Windows does so by itself."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
