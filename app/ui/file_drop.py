"""Text files on their way into a question: dropped anywhere on the window, or chosen."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QDragEnterEvent, QDropEvent

from app.ui.chat_dialogs import ask_what_to_attach
from app.ui.composer import Composer, files_of
from app.ui.intentions import Intentions


class FileDrop(QObject):
    """Takes drops of files for the whole window; the composer takes those on itself."""

    def __init__(self, window: Intentions, composer: Composer) -> None:
        super().__init__(composer)
        self._window = window
        self._composer = composer
        composer.attach_chosen.connect(self._on_attach)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Accept files, and nothing else."""
        if isinstance(event, QDragEnterEvent) and event.type() is QEvent.Type.DragEnter:
            if files_of(event.mimeData()):
                event.acceptProposedAction()
                return True
        elif isinstance(event, QDropEvent) and event.type() is QEvent.Type.Drop:
            files = files_of(event.mimeData())
            if files:
                event.acceptProposedAction()
                self._hand_over(files)
                return True
        return super().eventFilter(watched, event)

    def _on_attach(self) -> None:
        files = ask_what_to_attach(self._window)
        if files:
            self._hand_over(files)

    def _hand_over(self, files: list[str]) -> None:
        """Pass them on; what comes next is the question that they belong to."""
        self._window.files_dropped.emit(files)
        self._composer.setFocus()
