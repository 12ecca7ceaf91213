"""The wizard's last page: the model loads and says its first sentence."""

from __future__ import annotations

from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.ui.controls import set_role
from app.ui.theme import Theme
from app.ui.wizard_parts import WizardPageArea, set_text, wide_meter, wrapped
from app.wizard_view import AnswerPage


class FirstAnswerPage(WizardPageArea):
    """Question and answer as they look in the chat, and the speed below."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        metrics = theme.metrics
        self.meter = wide_meter(theme, self.tr("Loading"))
        self.column.addWidget(self.meter)
        self.column.addSpacing(metrics.gap_s)
        self._bubble, self.question = self._make_text("bubble")
        # The question stands at the right, as in the chat.
        row = QHBoxLayout()
        row.addStretch(1)
        row.addWidget(self._bubble, 1)
        self.column.addLayout(row)
        self._card, self.answer = self._make_text("card")
        self.column.addWidget(self._card)
        self.numbers = wrapped("", "quiet")
        self.column.addWidget(self.numbers)
        self.column.addStretch(1)

    def _make_text(self, name: str) -> tuple[QFrame, QLabel]:
        metrics = self.theme.metrics
        frame = QFrame()
        frame.setObjectName(name)
        column = QVBoxLayout(frame)
        column.setContentsMargins(metrics.gap_l, metrics.gap_m, metrics.gap_l, metrics.gap_m)
        text = wrapped("", "body", frame)
        column.addWidget(text)
        return frame, text

    def show_answer(self, page: AnswerPage) -> None:
        """Fill the page."""
        self.show_title(page.title, page.detail)
        self.meter.setVisible(page.share is not None)
        self.meter.set_share(page.share or 0.0)
        is_loaded = page.share is None
        self._bubble.setVisible(is_loaded)
        self.question.setText(page.question)
        self._card.setVisible(is_loaded)
        self.answer.setText(page.answer or self.tr("Reading the question."))
        set_role(self.answer, "role", "body" if page.answer else "amount")
        set_text(self.numbers, page.numbers_text)
