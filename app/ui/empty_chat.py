"""A chat without questions: the model's name, ten suggestions, one line on privacy."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QScrollArea,
    QSizePolicy,
    QStyle,
    QStyleOptionButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.controls import TextButton, label
from app.ui.theme import Theme


class SuggestionButton(TextButton):
    """Ends in an ellipsis where its words do not fit; the tooltip has all of them."""

    def initStyleOption(self, option: QStyleOptionButton) -> None:
        """What is painted; `text` stays whole."""
        super().initStyleOption(option)
        room = self.style().subElementRect(QStyle.SubElement.SE_PushButtonContents, option, self)
        option.text = option.fontMetrics.elidedText(
            self.text(), Qt.TextElideMode.ElideRight, room.width(), Qt.TextFlag.TextShowMnemonic
        )


class EmptyChat(QScrollArea):
    """Stands in for the transcript.

    Signals:
        suggestion_chosen(str): to be put into the composer.
    """

    suggestion_chosen = Signal(str)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._texts: tuple[str, ...] = ()
        self._temporary = False
        metrics = theme.metrics
        self.setObjectName("transcript")
        self.setAccessibleName(self.tr("Suggestions"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        body = QWidget()
        body.setObjectName("transcriptBody")
        self.setWidget(body)
        outer = QVBoxLayout(body)
        outer.setContentsMargins(metrics.gap_xl, metrics.gap_xl, metrics.gap_xl, metrics.gap_xl)
        outer.setSpacing(metrics.gap_s)
        outer.addStretch(2)
        self._title = self._centered("title")
        self._privacy = self._centered("quiet")
        outer.addWidget(self._title)
        outer.addWidget(self._privacy)
        outer.addSpacing(metrics.gap_l)
        self._grid_host = QWidget(body)
        keeps_place = self._grid_host.sizePolicy()
        keeps_place.setRetainSizeWhenHidden(True)
        self._grid_host.setSizePolicy(keeps_place)
        self._grid = QGridLayout(self._grid_host)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(metrics.gap_s)
        outer.addWidget(self._grid_host, 0, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(3)
        self.buttons = [self._button(index) for index in range(len(self._suggestions()))]
        self.set_columns(metrics.suggestion_columns)
        theme.changed.connect(self._fit)
        self.show_model("")

    def _centered(self, role: str) -> QLabel:
        text = label("", role)
        text.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        text.setWordWrap(True)
        return text

    def _suggestions(self) -> tuple[str, ...]:
        return (
            self.tr("Why is the sky blue, and why are sunsets red?"),
            self.tr("What is 17 × 23? Show the steps."),
            self.tr("Explain binary search to a ten-year-old."),
            self.tr("Write a palindrome check in Python."),
            self.tr("Plan three quick dinners with rice."),
            self.tr("Say “Good morning, how are you?” in Chinese."),
            self.tr("Write a polite email to move a meeting."),
            self.tr("Compare tea and coffee in a small table."),
            self.tr("Is 91 a prime number? Explain."),
            self.tr("Give me a haiku about a quiet harbour."),
        )

    def _button(self, index: int) -> TextButton:
        button = SuggestionButton("", "suggestion", self._grid_host)
        button.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        # A long suggestion may be cut in a narrow window, but must not widen it.
        button.setMinimumWidth(self._theme.metrics.bubble_min_width)
        button.clicked.connect(lambda: self.suggestion_chosen.emit(self._texts[index]))
        return button

    def set_columns(self, columns: int) -> None:
        """Arrange the suggestions in that many columns."""
        for index, button in enumerate(self.buttons):
            self._grid.addWidget(button, index // columns, index % columns)
        for column in range(self._theme.metrics.suggestion_columns):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The suggestions take what room there is, up to a width that reads well."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        metrics = self._theme.metrics
        room = self.viewport().width() - 2 * metrics.gap_xl
        most = self._theme.zoomed(metrics.suggestion_max_width)
        self._grid_host.setFixedWidth(max(1, min(most, room)))

    def show_model(self, name: str, suggestions: Sequence[str] = ()) -> None:
        """Name the model that will answer, and offer its suggestions, or those for any model.

        Without a name nothing is offered: the next model may not be able to do it.
        """
        self._grid_host.setVisible(bool(name))
        self._texts = tuple(suggestions) or self._suggestions()
        for index, button in enumerate(self.buttons):
            text = self._texts[index] if index < len(self._texts) else ""
            button.setText(text)
            button.setToolTip(text)
            button.setVisible(bool(text))
        self._title.setText(name or self.tr("Ask anything"))
        self.set_temporary(self._temporary)

    def set_temporary(self, temporary: bool) -> None:
        """Say what becomes of what is written here."""
        self._temporary = temporary
        self._privacy.setText(
            self.tr("Nothing of this chat is stored. It is gone when you close the window.")
            if temporary
            else self.tr("It runs on this computer. What you write and what it answers stay here.")
        )
