"""The scrolling text of the thinking: follows its end, and keeps the wheel until a new gesture."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QElapsedTimer, Qt
from PySide6.QtGui import QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from app.render.blocks import Block
from app.ui.controls import TextButton
from app.ui.rich_text import RichText
from app.ui.theme import Theme

GESTURE_PAUSE_MS = 300
"""Wheel events further apart than this belong to two gestures."""


class ThinkingText(RichText):
    """A RichText that scrolls itself.

    `following`: whether the end stays in view as text comes. It does until the reader scrolls up.
    """

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, "thinking", scrolls=True, parent=parent)
        self.following = True
        self._live = False
        self._since_wheel = QElapsedTimer()
        self._passes_on = False
        self.jump_button = TextButton(self.tr("Latest"), "jump", self)
        self.jump_button.setAccessibleName(self.tr("Jump to the latest thinking"))
        self.jump_button.setToolTip(self.tr("Follow the thinking again"))
        self.jump_button.setIcon(theme.icon("arrow-down"))
        self.jump_button.clicked.connect(self.jump_to_latest)
        self.jump_button.hide()
        self.setAccessibleName(self.tr("Thinking text"))
        self.reserve_scroll_bar(theme.metrics.scroll_width)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.verticalScrollBar().rangeChanged.connect(self._place_jump)
        self.formulas_drawn.connect(self._on_formulas_drawn)
        theme.changed.connect(self._on_theme)

    def set_live(self, live: bool) -> None:
        """Whether text is still coming; only then there is a latest line to jump to."""
        self._live = live
        self._place_jump()

    def write(self, closed: Sequence[Block], tail: Sequence[Block]) -> None:
        """As RichText; the end stays in view, or what is being read does."""
        bar = self.verticalScrollBar()
        place, following = bar.value(), self.following
        super().write(closed, tail)
        # Measured now, not at the next paint: the bar's maximum must be right before it is set.
        self.document().size()
        bar.setValue(bar.maximum() if following else place)
        self.following = following
        self._place_jump()

    def keep_end(self) -> None:
        """After the room changed: the end stays in view if it is followed."""
        if self.following:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    def scroll_to_share(self, share: float) -> None:
        """Show that place of the whole height, without following the end."""
        bar = self.verticalScrollBar()
        bar.setValue(round(share * bar.maximum()))
        self.following = False
        self._place_jump()

    def jump_to_latest(self) -> None:
        """Go to the end and follow it again."""
        self.following = True
        self.keep_end()
        self._place_jump()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the thinking; the conversation only by a gesture that begins at its end.

        So a swing that reaches the end does not carry the reader away to another exchange.
        """
        bar = self.verticalScrollBar()
        phase = event.phase()
        begins = phase == Qt.ScrollPhase.ScrollBegin or (
            phase == Qt.ScrollPhase.NoScrollPhase
            and (not self._since_wheel.isValid() or self._since_wheel.elapsed() > GESTURE_PAUSE_MS)
        )
        self._since_wheel.start()
        if begins:
            up = event.angleDelta().y() > 0
            self._passes_on = bar.value() == (bar.minimum() if up else bar.maximum())
        if self._passes_on:
            event.ignore()
            return
        super().wheelEvent(event)
        event.accept()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep the button at the lower edge."""
        super().resizeEvent(event)
        self._place_jump()

    def _on_scrolled(self, value: int) -> None:
        bar = self.verticalScrollBar()
        self.following = value >= bar.maximum() - self._theme.metrics.gap_xs
        self._place_jump()

    def _on_formulas_drawn(self) -> None:
        # Measured now, as in `write`.
        self.document().size()
        self.keep_end()

    def _place_jump(self) -> None:
        away = self._live and not self.following and self.verticalScrollBar().maximum() > 0
        self.jump_button.setVisible(away)
        if away:
            button, view = self.jump_button, self.viewport()
            button.adjustSize()
            button.move(
                (view.width() - button.width()) // 2,
                view.height() - button.height() - self._theme.metrics.gap_s,
            )
            button.raise_()

    def _on_theme(self) -> None:
        self.jump_button.setIcon(self._theme.icon("arrow-down"))
