"""Switches the language when its setting changes, and has everything shown again in it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QTimer, Slot

from app.language import Language
from app.settings import Settings
from app.ui.main_window import MainWindow

AGAIN_MS = 200
"""A text that is being changed in its place is waited for."""


class LanguageSwitch(QObject):
    """Listens to the settings.

    Args:
        language: the translators.
        window: is made anew.
        show_again: tell the window all that it has forgotten by that, in order.
        afterwards: called once the window is done.
    """

    def __init__(
        self,
        language: Language,
        window: MainWindow,
        show_again: Sequence[Callable[[], None]],
        afterwards: Callable[[], None],
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._language = language
        self._window = window
        self._show_again = show_again
        self._afterwards = afterwards

    def on_settings_changed(self, old: Settings, new: Settings) -> None:
        """Speak another language, if that is what changed."""
        if self._language.use(new.language):
            # Soon, not now: the menu of the setting that was changed is still closing.
            QTimer.singleShot(0, self._switch)

    @Slot()
    def _switch(self) -> None:
        if self._window.is_editing:
            QTimer.singleShot(AGAIN_MS, self._switch)
            return
        self._window.speak_anew(self._show_all)
        self._afterwards()

    def _show_all(self) -> None:
        for show in self._show_again:
            show()
