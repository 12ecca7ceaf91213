"""The numbers of a download as the wizard and the header write them."""

from __future__ import annotations

from collections.abc import Mapping

from app.fault_text import download_reason
from app.language import translate
from app.system_check import gigabytes
from app.wizard_view import FileRow, FileState
from engine.api import DownloadProgress
from engine.errors import DownloadFault
from engine.models.model_catalog import CatalogFile, CatalogModel

_SMALL_FILE_BYTES = 100_000


def amount_text(done_bytes: int, total_bytes: int) -> str:
    """Both in the unit of the total, as in "648 of 1,503 MB"."""
    unit, scale, decimals = "MB", 1e6, 0
    if total_bytes < 1_000_000:
        unit, scale, decimals = "KB", 1e3, 0
    elif total_bytes < 100_000_000:
        unit, scale, decimals = "MB", 1e6, 1
    done, total = (f"{each / scale:,.{decimals}f}" for each in (done_bytes, total_bytes))
    words = translate("Downloads", "{done} of {total} {unit}")
    return words.format(done=done, total=total, unit=unit)


def file_rows(
    model: CatalogModel, done: Mapping[str, int], checked: frozenset[str]
) -> tuple[FileRow, ...]:
    """A row for each file, the largest first; the small ones share a row."""
    small = [file for file in model.files if file.size_bytes < _SMALL_FILE_BYTES]
    large = [file for file in model.files if file.size_bytes >= _SMALL_FILE_BYTES]
    rows = [_row(file.name, [file], done, checked) for file in reversed(large)]
    if small:
        label = small[0].name if len(small) == 1 else translate("Downloads", "config and templates")
        rows.append(_row(label, small, done, checked))
    return tuple(rows)


def total_row(model: CatalogModel, done: Mapping[str, int]) -> FileRow:
    """All files together."""
    return _row(translate("Downloads", "All files"), list(model.files), done, frozenset())


def _row(
    label: str, files: list[CatalogFile], done: Mapping[str, int], checked: frozenset[str]
) -> FileRow:
    total_bytes = sum(file.size_bytes for file in files)
    done_bytes = sum(min(done.get(file.name, 0), file.size_bytes) for file in files)
    if all(file.name in checked for file in files):
        return FileRow(
            label,
            1.0,
            translate("Downloads", "{size}, checked").format(size=gigabytes(total_bytes)),
            FileState.CHECKED,
        )
    state = FileState.RUNNING if done_bytes else FileState.WAITING
    share = done_bytes / total_bytes if total_bytes else 0.0
    return FileRow(label, share, amount_text(done_bytes, total_bytes), state)


def speed_text(progress: DownloadProgress) -> str:
    """As in "4.8 MB/s, about 3 minutes left."; empty while nothing arrives."""
    if progress.waiting_for or progress.bytes_per_s <= 0:
        return ""
    rate = progress.bytes_per_s
    speed = f"{rate / 1e6:,.1f} MB/s" if rate >= 1e6 else f"{max(1, round(rate / 1e3))} KB/s"
    if progress.seconds_left is None:
        return translate("Downloads", "{speed}.").format(speed=speed)
    left = time_left_text(progress.seconds_left)
    return translate("Downloads", "{speed}, {left}.").format(speed=speed, left=left)


def left_or_waiting_text(progress: DownloadProgress) -> str:
    """For a narrow place: the time left, or that the network is waited for; empty if unknown."""
    if progress.waiting_for:
        return translate("Downloads", "waiting for the network")
    return "" if progress.seconds_left is None else time_left_text(progress.seconds_left)


def time_left_text(seconds: float) -> str:
    """Rounded so that it does not flicker: "less than a minute left", "about 3 minutes left"."""
    if seconds < 60:
        return translate("Downloads", "less than a minute left")
    minutes = round(seconds / 60)
    if minutes < 60:
        return _about(
            minutes,
            translate("Downloads", "about 1 minute left"),
            translate("Downloads", "about {count} minutes left"),
        )
    hours = round(seconds / 3600)
    if hours < 48:
        return _about(
            hours,
            translate("Downloads", "about 1 hour left"),
            translate("Downloads", "about {count} hours left"),
        )
    return translate("Downloads", "more than two days left")


def _about(count: int, one: str, many: str) -> str:
    return one if count == 1 else many.format(count=count)


def waiting_text(progress: DownloadProgress) -> str:
    """What is waited for, and when the next try is; empty while bytes arrive."""
    if not progress.waiting_for:
        return ""
    if progress.retry_in_s is None:
        words = translate(
            "Downloads", "Waiting for the network ({reason}). What has arrived is kept."
        )
        return words.format(reason=_reason(progress))
    words = translate(
        "Downloads",
        "Waiting for the network ({reason}); trying again in {seconds} s. What has arrived is "
        "kept.",
    )
    seconds = max(1, round(progress.retry_in_s))
    return words.format(reason=_reason(progress), seconds=seconds)


def _reason(progress: DownloadProgress) -> str:
    return download_reason(progress.fault or DownloadFault.LOST, progress.about)
