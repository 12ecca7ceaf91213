"""Where windows first stand on a screen, in pixels."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import QWidget

from app.ui.metrics import Metrics


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
