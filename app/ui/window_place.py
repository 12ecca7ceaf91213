"""Where windows stand on the screens, in pixels; what the main window remembers of itself."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QByteArray, QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.settings import WindowState
from app.ui.metrics import Metrics
from app.ui.pane_share import PaneShare
from app.ui.side_panels import SidePanels


def place_first(window: QWidget, room: QRect, metrics: Metrics) -> int:
    """Give a window its usual size, or fill a smaller screen; returns the width that it will have.

    Beside the window there must be room for its frame.
    """
    usual = QSize(metrics.window_width, metrics.window_height)
    frame = metrics.window_frame
    inside = usual.boundedTo(QSize(room.width() - frame, room.height() - frame))
    window.resize(inside)
    if inside == usual:
        return usual.width()
    # Filled, nothing lies beyond the edge; the smaller size is for when it is not.
    window.setWindowState(Qt.WindowState.WindowMaximized)
    return room.width()


def centred_inside(size: QSize, over: QRect, room: QRect) -> QRect:
    """A rectangle of that size in the middle of `over`, moved and cut to lie inside `room`."""
    size = size.boundedTo(room.size())
    place = QRect(room.topLeft(), size)
    place.moveCenter(over.center())
    place.moveLeft(max(room.left(), min(place.left(), room.right() + 1 - size.width())))
    place.moveTop(max(room.top(), min(place.top(), room.bottom() + 1 - size.height())))
    return place


def onto_a_screen(frame: QRect, rooms: Sequence[QRect]) -> QRect:
    """The frame of a window, moved and cut until all of it lies on one screen.

    `rooms` are the free areas of the screens that are there, the main one first; the window stays
    on the one that shows most of it.
    """
    if not rooms:
        return frame

    def shown(room: QRect) -> int:
        both = room.intersected(frame)
        return both.width() * both.height() if both.isValid() else 0

    room = max(rooms, key=shown)
    return frame if room.contains(frame) else centred_inside(frame.size(), frame, room)


def state_of(window: QWidget, panels: SidePanels, share: PaneShare) -> WindowState:
    """What is to be saved."""
    geometry = bytes(window.saveGeometry().toBase64().data()).decode("ascii")
    return WindowState(
        thinking_share=share.share,
        list_collapsed=panels.is_collapsed("left"),
        settings_collapsed=panels.is_collapsed("right"),
        geometry=geometry,
        list_width=panels.width_of("left"),
        settings_width=panels.width_of("right"),
    )


def restore_state(
    window: QWidget, panels: SidePanels, share: PaneShare, state: WindowState
) -> None:
    """Put everything back; a place on a screen that is gone becomes one on a screen that is there.

    Qt mends the place too, but leaves a title bar above the screen where it is.
    """
    if state.geometry:
        window.restoreGeometry(QByteArray.fromBase64(state.geometry.encode("ascii")))
        if not window.isMaximized() and not window.isFullScreen():
            screens = QGuiApplication.screens()
            clamp(window, [screen.availableGeometry() for screen in screens])
    panels.restore("left", state.list_width, state.list_collapsed)
    panels.restore("right", state.settings_width, state.settings_collapsed)
    share.set_share(state.thinking_share)


def clamp(window: QWidget, rooms: Sequence[QRect]) -> None:
    """Move and cut a window, its frame included, so that it lies on one of these areas."""
    frame, inside = window.frameGeometry(), window.geometry()
    wanted = onto_a_screen(frame, rooms)
    if wanted != frame:
        edges = frame.size() - inside.size()
        offset = inside.topLeft() - frame.topLeft()
        window.setGeometry(QRect(wanted.topLeft() + offset, wanted.size() - edges))
