"""A message on the desktop while another window is in use."""

from __future__ import annotations

from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from app.ui.theme import Theme


class DesktopNotice:
    """Tells the desktop for a window; the tray icon is there only while something is told."""

    def __init__(self, theme: Theme, window: QWidget) -> None:
        self._theme = theme
        self._window = window
        self._tray: QSystemTrayIcon | None = None

    def show(self, title: str, text: str) -> None:
        """Tell it, unless the window is the one in use."""
        if self._window.isActiveWindow():
            return
        QApplication.alert(self._window)
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._theme.icon("thinking", "accent"), self._window)
            self._tray.messageClicked.connect(self._window.activateWindow)
        self._tray.show()
        self._tray.showMessage(title, text)

    def take_back(self) -> None:
        """The window is in use again."""
        if self._tray is not None:
            self._tray.setVisible(not self._window.isActiveWindow())
