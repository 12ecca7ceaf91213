"""A half-fetched file that survives kill -9 and power loss: the `.part` and its journal.

A killed process loses nothing that it has written, since the system keeps it: as long as the
computer has not been started anew, the length of the `.part` tells the truth. After a power loss
its end may be zeros; then only the journal counts. Its first line names the file that is being
fetched, every further line a number of bytes that are safely on the disk: data is synced before its
line is written, so a line never promises too much. A torn last line is ignored, and what the
`.part` holds beyond is cut off.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

CHECKPOINT_BYTES = 16 * 1024 * 1024
CHECKPOINT_BYTES_WITHOUT_BOOT_ID = 512 * 1024
"""Bytes between two lines; fewer where a kill cannot be told from a power loss. A sync takes
several milliseconds, so one for each half MiB would hold a fast connection down to 40 MB/s."""
CHECKPOINT_S = 2.0
"""Seconds between two lines where bytes come slowly."""
_BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")


class PartFile:
    """The `.part` beside `target`, opened for appending; one process at a time (see folder_lock).

    The pinned `sha256` identifies the content, whatever the revision: a partial file of other
    content is never continued.
    """

    def __init__(self, target: Path, total_bytes: int, sha256: str) -> None:
        self.path = target.with_name(target.name + ".part")
        self.journal_path = target.with_name(target.name + ".part.journal")
        self.total_bytes = total_bytes
        self._sha256 = sha256
        self._boot_id = boot_id()
        self._checkpoint_bytes = (
            CHECKPOINT_BYTES if self._boot_id else CHECKPOINT_BYTES_WITHOUT_BOOT_ID
        )
        self.etag, self.done_bytes = self._read_journal()
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._data_fd = os.open(self.path, flags, 0o600)
        try:
            self._cut(self.done_bytes)
            _sync(self._data_fd)  # the first line of the new journal promises these bytes
            self._journal_fd = self._start_journal()
        except BaseException:
            os.close(self._data_fd)
            raise
        self._synced_bytes = self.done_bytes
        self._synced_s = time.monotonic()

    @property
    def complete(self) -> bool:
        """Whether all bytes have arrived (not whether they are the right ones)."""
        return self.done_bytes == self.total_bytes

    def append(self, data: bytes) -> None:
        """Write `data` at the end, with a checkpoint now and then.

        Raises:
            OSError: the disk is full or gone; what was written before is counted.
        """
        view = memoryview(data)
        while view:
            written = os.write(self._data_fd, view)
            self.done_bytes += written
            view = view[written:]
        waited_s = time.monotonic() - self._synced_s
        unsynced_bytes = self.done_bytes - self._synced_bytes
        if unsynced_bytes >= self._checkpoint_bytes or waited_s >= CHECKPOINT_S:
            self.checkpoint()

    def checkpoint(self) -> None:
        """Make everything so far durable."""
        if self.done_bytes == self._synced_bytes:
            return
        _sync(self._data_fd)
        os.write(self._journal_fd, b"%d\n" % self.done_bytes)
        _sync(self._journal_fd)
        self._synced_bytes = self.done_bytes
        self._synced_s = time.monotonic()

    def start_over(self, etag: str) -> None:
        """Forget all bytes; the file is fetched from the beginning, tagged `etag`."""
        self.etag, self.done_bytes, self._synced_bytes = etag, 0, 0
        self._cut(0)
        old_journal_fd, self._journal_fd = self._journal_fd, self._start_journal()
        os.close(old_journal_fd)

    def close(self) -> None:
        """Close both files; they stay."""
        os.close(self._data_fd)
        os.close(self._journal_fd)

    def delete(self) -> None:
        """Remove both files (after `close`)."""
        self.path.unlink(missing_ok=True)
        self.journal_path.unlink(missing_ok=True)

    def _cut(self, length: int) -> None:
        os.ftruncate(self._data_fd, length)
        os.lseek(self._data_fd, length, os.SEEK_SET)

    def _header(self) -> dict[str, object]:
        return {
            "format": 1,
            "size_bytes": self.total_bytes,
            "sha256": self._sha256,
            "etag": self.etag,
            "boot_id": self._boot_id,
        }

    def _start_journal(self) -> int:
        """Write a fresh journal beside the old one and put it in its place; its descriptor."""
        fresh = self.journal_path.with_name(self.journal_path.name + ".new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
        fd = os.open(fresh, flags, 0o600)
        os.write(fd, f"{json.dumps(self._header())}\n{self.done_bytes}\n".encode())
        _sync(fd)
        os.close(fd)
        fresh.replace(self.journal_path)
        return os.open(self.journal_path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))

    def _read_journal(self) -> tuple[str, int]:
        """(etag, bytes that can be relied on) of an earlier run; ("", 0) where there is none."""
        try:
            held_bytes = self.path.stat().st_size
            lines = self.journal_path.read_bytes().split(b"\n")[:-1]
            header = json.loads(lines[0])
            etag = str(header["etag"])
            expected = {**header, "size_bytes": self.total_bytes, "sha256": self._sha256}
        except (OSError, ValueError, LookupError, TypeError):
            return "", 0
        if header != expected:
            return "", 0
        if self._boot_id and header.get("boot_id") == self._boot_id:
            return etag, min(held_bytes, self.total_bytes)
        counts = [int(line) for line in lines[1:] if line.isdigit()]
        return etag, min(counts[-1] if counts else 0, held_bytes, self.total_bytes)


def adopt_as_part(target: Path, total_bytes: int, sha256: str) -> None:
    """Turn a finished file that has lost its end into a `.part`, so that only the end is fetched.

    What it holds is not trusted: the whole file is hashed once it is complete.
    """
    held_bytes = target.stat().st_size
    part_path = target.with_name(target.name + ".part")
    target.replace(part_path)
    header = {"format": 1, "size_bytes": total_bytes, "sha256": sha256, "etag": ""}
    journal = target.with_name(target.name + ".part.journal")
    journal.write_text(f"{json.dumps(header)}\n{held_bytes}\n", encoding="utf-8")


def boot_id() -> str:
    """What tells this run of the system from the one before; "" where the system has no such id."""
    try:
        return _BOOT_ID_PATH.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _sync(fd: int) -> None:
    # fdatasync also writes the new length; macOS and Windows have only fsync.
    getattr(os, "fdatasync", os.fsync)(fd)
