"""What each key of the window does; `app.ui.shortcuts` says which keys these are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer
from PySide6.QtWidgets import QToolTip

from app.settings import Settings, field_of, with_value
from app.ui.key_list import KeyList

if TYPE_CHECKING:
    from app.ui.main_window import MainWindow


class ZoomKeys(QObject):
    """The size of the text, by key. Presses that pile up while the window is dressed anew, as of a
    key that is held down, are taken together.
    """

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._wanted: int | None = None
        self._turn = QTimer(self, singleShot=True, interval=0)
        self._turn.timeout.connect(self._on_turn)

    def step(self, by: int) -> None:
        """Ask for a size that many pixels larger or smaller."""
        current = self._window.settings.font_size if self._wanted is None else self._wanted
        self.set(current + by)

    def set(self, font_size: int) -> None:
        """Ask for this size, or the nearest that there is."""
        field = field_of("font_size")
        self._wanted = int(max(field.low, min(field.high, font_size)))
        self._turn.start()

    def _on_turn(self) -> None:
        font_size, self._wanted = self._wanted, None
        if font_size != self._window.settings.font_size:
            settings = with_value(self._window.settings, "font_size", font_size)
            self._window.change_settings(settings)


def actions_of(window: MainWindow) -> dict[str, Callable[[], object]]:
    """By the names of `shortcuts.KEYS`; the window's parts may be made anew meanwhile."""
    zoom = ZoomKeys(window)
    return {
        "new_chat": lambda: window.chats.new_chat_requested.emit(),
        "temporary_chat": lambda: window.chats.temporary_chat_requested.emit(),
        "find": lambda: _find_chat(window),
        "next_hit": lambda: window.marks.step(1),
        "earlier_hit": lambda: window.marks.step(-1),
        "composer": lambda: _go_to_composer(window),
        "stop": window.on_escape,
        "answer_now": window.answer_now_requested.emit,
        "regenerate": lambda: _press(window, "regenerate", "retry"),
        "continue": lambda: _press(window, "continue"),
        "thinking": window.toggle_thinking,
        "latest": lambda: window.transcript.jump_to_latest(),
        "models": lambda: window.header.picker.open_menu(),
        "list": lambda: window.panels.toggle("left"),
        "settings": lambda: window.panels.toggle("right"),
        "find_setting": lambda: _find_setting(window),
        "zoom_in": lambda: zoom.step(1),
        "zoom_out": lambda: zoom.step(-1),
        "zoom_reset": lambda: zoom.set(Settings().font_size),
        "explain": lambda: _explain(window),
        "keys": lambda: show_keys(window),
    }


def show_keys(window: MainWindow) -> None:
    """Open the list of keys."""
    KeyList(window.theme, window).show()


def _find_chat(window: MainWindow) -> None:
    if not window.panels.is_shown("left"):
        window.panels.toggle("left")
    window.chats.search.setFocus()
    window.chats.search.selectAll()


def _find_setting(window: MainWindow) -> None:
    if not window.panels.is_shown("right"):
        window.panels.toggle("right")
    window.settings_panel.begin_search()


def _press(window: MainWindow, *names: str) -> None:
    """Press the first of these buttons below the last answer that can be pressed."""
    exchange_ids = window.transcript.exchange_ids
    if not exchange_ids:
        return
    answer = window.transcript.exchange_widget(exchange_ids[-1]).answer
    for button in (answer.action(name) for name in names):
        if not button.isHidden() and button.isEnabled():
            button.click()
            return


def _go_to_composer(window: MainWindow) -> None:
    window.panels.close_overlays()
    window.composer.setFocus()


def _explain(window: MainWindow) -> None:
    """Show the tooltip of what has the focus, for who has no mouse on it."""
    widget = window.focusWidget()
    if widget is not None and widget.toolTip():
        place = widget.mapToGlobal(widget.rect().bottomLeft())
        QToolTip.showText(place, widget.toolTip(), widget)
