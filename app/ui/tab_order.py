"""The way of the Tab key through the window: zone by zone, in each as one reads.

Qt's own order is that in which widgets were made; exchanges are made late and would come last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget


def move_focus(zones: Sequence[QWidget], line_height: int, *, forward: bool) -> bool:
    """Give the focus to the next or the previous stop, and scroll it into view.

    False where the focus is at none of the stops. `line_height` is that of a control, in pixels.
    """
    stops = [stop for zone in zones if zone.isVisible() for stop in _stops(zone, line_height)]
    current = QApplication.focusWidget()
    if current not in stops:
        return False
    stop = stops[(stops.index(current) + (1 if forward else -1)) % len(stops)]
    reason = Qt.FocusReason.TabFocusReason if forward else Qt.FocusReason.BacktabFocusReason
    stop.setFocus(reason)
    area = stop.parentWidget()
    while area is not None:
        if isinstance(area, QScrollArea):
            area.ensureWidgetVisible(stop)
        area = area.parentWidget()
    return True


def _stops(zone: QWidget, line_height: int) -> list[QWidget]:
    return _as_read(filter(_is_stop, [zone, *zone.findChildren(QWidget)]), line_height)


def _as_read(widgets: Iterable[QWidget], line_height: int) -> list[QWidget]:
    """Line by line, in each from the left; neighbours in a line differ a little in height."""
    corners = [(widget.mapTo(widget.window(), QPoint(0, 0)), widget) for widget in widgets]
    # Tall ones begin where their first line is.
    middles = [(at.y() + min(w.height(), line_height) // 2, at.x(), w) for at, w in corners]
    lines: list[list[tuple[int, int, QWidget]]] = []
    for middle in sorted(middles, key=lambda each: each[:2]):
        if lines and middle[0] - lines[-1][0][0] < line_height // 3:
            lines[-1].append(middle)
        else:
            lines.append([middle])
    return [widget for line in lines for _, _, widget in sorted(line, key=lambda each: each[1])]


def _is_stop(widget: QWidget) -> bool:
    tab = widget.focusPolicy() & Qt.FocusPolicy.TabFocus
    return bool(tab) and widget.isVisible() and widget.isEnabled() and widget.focusProxy() is None
