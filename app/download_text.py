"""The numbers of a download as the wizard and the header write them."""

from __future__ import annotations

from collections.abc import Mapping

from app.system_check import gigabytes
from app.wizard_view import FileRow, FileState
from engine.api import DownloadProgress
from engine.models.model_catalog import CatalogFile, CatalogModel

_SMALL_FILE_BYTES = 100_000
_SMALL_FILES_LABEL = "config and templates"


def amount_text(done_bytes: int, total_bytes: int) -> str:
    """Both in the unit of the total, as in "648 of 1,503 MB"."""
    if total_bytes < 1_000_000:
        return f"{done_bytes / 1e3:,.0f} of {total_bytes / 1e3:,.0f} KB"
    if total_bytes < 100_000_000:
        return f"{done_bytes / 1e6:,.1f} of {total_bytes / 1e6:,.1f} MB"
    return f"{done_bytes / 1e6:,.0f} of {total_bytes / 1e6:,.0f} MB"


def file_rows(
    model: CatalogModel, done: Mapping[str, int], checked: frozenset[str]
) -> tuple[FileRow, ...]:
    """A row for each file, the largest first; the small ones share a row."""
    small = [file for file in model.files if file.size_bytes < _SMALL_FILE_BYTES]
    large = [file for file in model.files if file.size_bytes >= _SMALL_FILE_BYTES]
    rows = [_row(file.name, [file], done, checked) for file in reversed(large)]
    if small:
        label = small[0].name if len(small) == 1 else _SMALL_FILES_LABEL
        rows.append(_row(label, small, done, checked))
    return tuple(rows)


def total_row(model: CatalogModel, done: Mapping[str, int]) -> FileRow:
    """All files together."""
    return _row("All files", list(model.files), done, frozenset())


def _row(
    label: str, files: list[CatalogFile], done: Mapping[str, int], checked: frozenset[str]
) -> FileRow:
    total_bytes = sum(file.size_bytes for file in files)
    done_bytes = sum(min(done.get(file.name, 0), file.size_bytes) for file in files)
    if all(file.name in checked for file in files):
        return FileRow(label, 1.0, f"{gigabytes(total_bytes)}, checked", FileState.CHECKED)
    state = FileState.RUNNING if done_bytes else FileState.WAITING
    share = done_bytes / total_bytes if total_bytes else 0.0
    return FileRow(label, share, amount_text(done_bytes, total_bytes), state)


def speed_text(progress: DownloadProgress) -> str:
    """As in "4.8 MB/s, about 3 minutes left."; empty while nothing arrives."""
    if progress.waiting_for or progress.bytes_per_s <= 0:
        return ""
    rate = progress.bytes_per_s
    speed = f"{rate / 1e6:,.1f} MB/s" if rate >= 1e6 else f"{max(1, round(rate / 1e3))} KB/s"
    left = "" if progress.seconds_left is None else f", {time_left_text(progress.seconds_left)}"
    return f"{speed}{left}."


def left_or_waiting_text(progress: DownloadProgress) -> str:
    """For a narrow place: the time left, or that the network is waited for; empty if unknown."""
    if progress.waiting_for:
        return "waiting for the network"
    return "" if progress.seconds_left is None else time_left_text(progress.seconds_left)


def time_left_text(seconds: float) -> str:
    """Rounded so that it does not flicker: "less than a minute left", "about 3 minutes left"."""
    if seconds < 60:
        return "less than a minute left"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"about {minutes} minute{'s' if minutes > 1 else ''} left"
    hours = round(seconds / 3600)
    if hours < 48:
        return f"about {hours} hour{'s' if hours > 1 else ''} left"
    return "more than two days left"


def waiting_text(progress: DownloadProgress) -> str:
    """What is waited for, and when the next try is; empty while bytes arrive."""
    if not progress.waiting_for:
        return ""
    retry = (
        f"; trying again in {max(1, round(progress.retry_in_s))} s"
        if progress.retry_in_s is not None
        else ""
    )
    return f"Waiting for the network ({progress.waiting_for}){retry}. What has arrived is kept."
