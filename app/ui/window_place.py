"""Where windows first stand on a screen; pure geometry, in pixels."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize


def fits_beside_frame(size: QSize, room: QRect, margin: int) -> bool:
    """Whether a window of that size and its frame, at most `margin` thick, lie inside `room`."""
    return size.width() + margin <= room.width() and size.height() + margin <= room.height()


def size_inside(size: QSize, room: QRect, margin: int) -> QSize:
    """The size, cut to what `room` holds with `margin` left over."""
    return size.boundedTo(QSize(room.width() - margin, room.height() - margin))


def centred_inside(size: QSize, over: QRect, room: QRect) -> QRect:
    """A rectangle of that size in the middle of `over`, moved and cut to lie inside `room`."""
    size = size.boundedTo(room.size())
    place = QRect(room.topLeft(), size)
    place.moveCenter(over.center())
    place.moveLeft(max(room.left(), min(place.left(), room.right() + 1 - size.width())))
    place.moveTop(max(room.top(), min(place.top(), room.bottom() + 1 - size.height())))
    return place
