"""List left, conversation in the middle, settings right; panels collapse or lie over the middle."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QRect, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from app.ui.pane_grip import PaneGrip
from app.ui.theme import Theme


@dataclass(slots=True)
class _Side:
    """A panel and what is remembered of it; `open` counts in a narrow window only."""

    panel: QWidget
    grip: PaneGrip
    usual: int
    least: int
    most: int
    width: int
    collapsed: bool = False
    open: bool = False


class SidePanels(QWidget):
    """Places three widgets. Below a width the panels are overlays, one at a time.

    Signals:
        changed: a panel was opened, closed or resized.
    """

    changed = Signal()

    def __init__(self, theme: Theme, left: QWidget, middle: QWidget, right: QWidget) -> None:
        super().__init__()
        self._theme = theme
        metrics = theme.metrics
        self._middle = middle
        self._sides: dict[str, _Side] = {}
        for widget in (middle, left, right):
            widget.setParent(self)
        for key, panel, usual, least, most, name in (
            (
                "left",
                left,
                metrics.list_width,
                metrics.list_min_width,
                metrics.list_max_width,
                self.tr("Width of the list of chats"),
            ),
            (
                "right",
                right,
                metrics.settings_width,
                metrics.settings_min_width,
                metrics.settings_max_width,
                self.tr("Width of the settings"),
            ),
        ):
            grip = PaneGrip(theme, name, self)
            self._sides[key] = _Side(panel, grip, usual, least, most, usual)
        self._sides["left"].grip.moved.connect(lambda step: self._drag("left", step))
        self._sides["right"].grip.moved.connect(lambda step: self._drag("right", -step))
        self._sides["left"].grip.reset.connect(lambda: self._reset("left"))
        self._sides["right"].grip.reset.connect(lambda: self._reset("right"))
        self._overlaid = False
        theme.changed.connect(self._on_theme)

    @property
    def overlays(self) -> bool:
        """Whether panels lie over the conversation."""
        return self.width() < self._theme.zoomed(self._theme.metrics.overlay_below)

    def is_shown(self, key: str) -> bool:
        """Whether the panel "left" or "right" is to be seen."""
        side = self._sides[key]
        return side.open if self.overlays else not side.collapsed

    def toggle(self, key: str, *, focus: bool = True) -> None:
        """Open or close a panel; an overlay closes the other one. An opened one gets the keyboard,
        if `focus` is wanted.
        """
        shown = not self.is_shown(key)
        side = self._sides[key]
        if self.overlays:
            self.close_overlays()
            side.open = shown
        else:
            side.collapsed = not shown
        self._place()
        if shown and focus:
            side.panel.setFocus()
        self.changed.emit()

    def open(self, key: str, *, focus: bool = True) -> None:
        """Open a panel, if it is not open; with `focus` it gets the keyboard."""
        if not self.is_shown(key):
            self.toggle(key, focus=focus)

    def close_overlays(self) -> bool:
        """Close what lies over the conversation; true if something did."""
        was_open = self.overlays and any(side.open for side in self._sides.values())
        for side in self._sides.values():
            side.open = False
        self._place()
        return was_open

    def width_of(self, key: str) -> int:
        """The panel's width to be remembered."""
        return self._sides[key].width

    def is_collapsed(self, key: str) -> bool:
        """Whether the panel is collapsed in a wide window."""
        return self._sides[key].collapsed

    def restore(self, key: str, width: int, collapsed: bool) -> None:
        """Put a panel back as it was; a width of 0 is the usual one."""
        side = self._sides[key]
        side.width = min(side.most, max(side.least, width)) if width else side.usual
        side.collapsed = collapsed
        self._place()

    def _drag(self, key: str, step: int) -> None:
        side = self._sides[key]
        self.restore(key, min(side.most, max(side.least, side.width + step)), collapsed=False)
        self.changed.emit()

    def _reset(self, key: str) -> None:
        self.restore(key, 0, collapsed=False)
        self.changed.emit()

    def _place(self) -> None:
        height, width = self.height(), self.width()
        self._overlaid = self.overlays
        room = QRect(0, 0, width, height)
        focus = self.window().focusWidget()
        for key, side in self._sides.items():
            shown = self.is_shown(key)
            if not shown and focus is not None and side.panel.isAncestorOf(focus):
                # Else Qt would take the next in line, any text of the conversation.
                self._middle.setFocus()
            side.panel.setVisible(shown)
            side.grip.setVisible(shown and not self.overlays)
            if not shown:
                continue
            # Larger text may need more than was chosen; the words come before the width.
            own = min(max(side.width, side.panel.minimumSizeHint().width()), width)
            left = 0 if key == "left" else width - own
            side.panel.setGeometry(left, 0, own, height)
            side.panel.raise_()
            if not self.overlays:
                if key == "left":
                    room.setLeft(own)
                else:
                    room.setRight(left - 1)
                grip = self._theme.metrics.grip_width
                # Centred on the panel's border, which is its last or first column of pixels.
                edge = own - 1 if key == "left" else left
                side.grip.setGeometry(edge - grip // 2, 0, grip, height)
                side.grip.raise_()
        self._middle.setGeometry(room)

    def _on_theme(self) -> None:
        """A panel in which the font is being enlarged stays, even where it becomes an overlay."""
        if self.overlays is not self._overlaid:
            focus = self.window().focusWidget()
            for side in self._sides.values():
                in_use = side.panel.isVisible() and side.panel.isAncestorOf(focus)
                side.open = self.overlays and in_use
        self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place everything; overlays do not survive into a wide window."""
        super().resizeEvent(event)
        if not self.overlays:
            for side in self._sides.values():
                side.open = False
        self._place()
