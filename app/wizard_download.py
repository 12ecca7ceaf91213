"""What is known of a running download or check, as pages of the wizard; pure data, no Qt."""

from __future__ import annotations

from app.download_text import file_rows, speed_text, total_row, waiting_text
from app.language import translate
from app.system_check import gigabytes
from app.wizard_view import DownloadPage, FileRow, FileState
from engine.api import DownloadProgress, ModelStoreEvent, VerifyProgress
from engine.models.model_catalog import CatalogModel


class DownloadBoard:
    """Gathers the store's events of one model; `download_page` and `verify_page` show them.

    `free_after_bytes` is what the disk will have left once the model is complete, where known.
    """

    def __init__(
        self, model: CatalogModel, free_after_bytes: int | None, offers_demo: bool
    ) -> None:
        self._model = model
        self._free_after_bytes = free_after_bytes
        self._offers_demo = offers_demo
        self._done: dict[str, int] = {}
        self._hashed: dict[str, int] = {}
        self._checked: set[str] = set()
        self._last: ModelStoreEvent | None = None
        self.paused = False

    @property
    def is_verifying(self) -> bool:
        """Whether every byte has arrived and only the hashing is left."""
        done = sum(self._done.get(file.name, 0) for file in self._model.files)
        return bool(self._hashed) and done >= self._model.total_bytes

    def start_again(self) -> None:
        """The download was asked for again, after a pause or a failure."""
        self.paused, self._last = False, None
        # A whole file that was not found right is not there any more.
        sizes = {file.name: file.size_bytes for file in self._model.files}
        self._done = {
            name: done
            for name, done in self._done.items()
            if done < sizes[name] or name in self._checked
        }
        self._hashed.clear()

    def take(self, event: ModelStoreEvent) -> None:
        """Note one event. The store does one file after the other, hashing included."""
        self.paused = False
        self._last = event
        for file in self._model.files:
            if file.name != event.file and self._done.get(file.name) == file.size_bytes:
                self._checked.add(file.name)
        match event:
            case DownloadProgress():
                complete = event.file_done_bytes == event.file_total_bytes
                if not complete:  # a wrong file is fetched once more
                    self._hashed.pop(event.file, None)
                elif self._hashed.get(event.file) == event.file_total_bytes:
                    self._checked.add(event.file)
                self._done[event.file] = event.file_done_bytes
            case VerifyProgress():
                self._hashed[event.file] = event.file_done_bytes

    def download_page(self) -> DownloadPage:
        """The page while bytes arrive, wait or are paused."""
        speed, waiting = self._state_texts()
        after_bytes = self._free_after_bytes
        return DownloadPage(
            title=translate("Wizard", "Downloading {label}").format(label=self._model.label),
            detail=(
                translate(
                    "Wizard",
                    "{total} from Hugging Face. You can pause, close the window or lose the "
                    "network: it goes on from the same byte.",
                ).format(total=gigabytes(self._model.total_bytes))
            ),
            rows=file_rows(self._model, self._done, frozenset(self._checked)),
            total=total_row(self._model, self._done),
            speed_text=speed,
            disk_text=(
                ""
                if after_bytes is None
                else translate("Wizard", "Free disk after this: {size}.").format(
                    size=gigabytes(max(0, after_bytes))
                )
            ),
            waiting_text=waiting,
            offers_demo=self._offers_demo,
        )

    def _state_texts(self) -> tuple[str, str]:
        """What stands in the line of the speed, and in that of a wait; one of them is empty."""
        if self.paused:
            return translate("Wizard", "Paused. Nothing that has arrived is lost."), ""
        match self._last:
            case VerifyProgress():
                return "", translate("Wizard", "Checking {file}.").format(file=self._last.file)
            case DownloadProgress() if text := waiting_text(self._last):
                return "", text
            case DownloadProgress() if text := speed_text(self._last):
                return text, ""
            case _:
                return "", translate("Wizard", "Connecting.")

    def verify_page(self) -> DownloadPage:
        """The page while the last file is hashed."""
        whole = {file.name: file.size_bytes for file in self._model.files}
        done = {name: whole[name] for name in self._checked}
        done |= {name: count for name, count in self._hashed.items() if name not in self._checked}
        total = total_row(self._model, done)
        return DownloadPage(
            title=translate("Wizard", "Checking what arrived"),
            detail=(
                translate(
                    "Wizard",
                    "The sha256 of every file is compared with the one that came with Thinkpane. "
                    "No file is used before that.",
                )
            ),
            rows=file_rows(self._model, done, frozenset(self._checked)),
            total=FileRow(total.label, total.share, total.amount, FileState.RUNNING),
        )
