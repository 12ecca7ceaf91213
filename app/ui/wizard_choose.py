"""The wizard's choice: fetch a model, use one that is here, or try the demo model."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import (
    QButtonGroup,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QRadioButton,
    QVBoxLayout,
    QWidget,
)

from app.ui.controls import TextButton, set_role
from app.ui.file_dialogs import file_dialog
from app.ui.theme import Theme
from app.ui.wizard_parts import WizardPageArea, discard, set_text, wrapped
from app.wizard_view import ModelOption


class OptionCard(QFrame):
    """One way to get a model; the whole card can be clicked."""

    chosen = Signal(str)
    path_chosen = Signal(str)
    delete_requested = Signal()

    def __init__(self, theme: Theme, option_id: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.option_id = option_id
        metrics = theme.metrics
        self.setObjectName("option")
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        column = QVBoxLayout(self)
        column.setContentsMargins(metrics.gap_l, metrics.gap_m, metrics.gap_l, metrics.gap_m)
        column.setSpacing(metrics.gap_xs)
        self.radio = QRadioButton(self)
        self.radio.clicked.connect(self._on_clicked)
        column.addWidget(self.radio)
        texts = QVBoxLayout()
        # Under the words of the radio button, not under its circle.
        texts.setContentsMargins(metrics.radio + metrics.gap_m, 0, 0, 0)
        texts.setSpacing(metrics.gap_xs)
        self.detail = wrapped("", "label", self)
        self.memory = wrapped("", "quiet", self)
        self.problem = wrapped("", "danger", self)
        for words in (self.detail, self.memory):
            # Selectable text would swallow the click that chooses the card.
            words.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        for widget in (self.detail, self.memory, self.problem):
            texts.addWidget(widget)
        texts.addLayout(self._partial_row(metrics.gap_s))
        texts.addLayout(self._path_row(metrics.gap_s))
        column.addLayout(texts)

    def _partial_row(self, gap: int) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(gap)
        self.partial = wrapped("", "quiet", self)
        self.delete = TextButton(self.tr("Delete it"), "accent", self)
        self.delete.clicked.connect(self._on_delete)
        row.addWidget(self.partial, 1)
        row.addWidget(self.delete)
        return row

    def _path_row(self, gap: int) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(gap)
        self.folder = TextButton(self.tr("Choose a folder"), "plain", self)
        self.file = TextButton(self.tr("Choose a GGUF file"), "plain", self)
        self.folder.clicked.connect(self._on_folder)
        self.file.clicked.connect(self._on_file)
        row.addWidget(self.folder)
        row.addWidget(self.file)
        row.addStretch(1)
        return row

    def show_option(self, option: ModelOption, *, is_chosen: bool) -> None:
        """Fill the card."""
        self.radio.setText(option.label)
        self.radio.setAccessibleDescription(option.detail)
        self.radio.setChecked(is_chosen)
        set_role(self, "chosen", is_chosen)
        self.detail.setText(option.detail)
        set_text(self.memory, option.memory_text)
        set_text(self.problem, option.problem)
        set_text(self.partial, option.partial_text)
        self.delete.setVisible(bool(option.partial_text))
        for button in (self.folder, self.file):
            button.setVisible(option.takes_path and is_chosen)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        """A click anywhere on the card chooses it."""
        super().mouseReleaseEvent(event)
        if event.button() is Qt.MouseButton.LeftButton and self.rect().contains(
            event.position().toPoint()
        ):
            self._on_clicked()

    def _on_clicked(self) -> None:
        self.chosen.emit(self.option_id)

    def _on_delete(self) -> None:
        self.delete_requested.emit()

    def _on_folder(self) -> None:
        self._ask(QFileDialog.FileMode.Directory, self.tr("Folder of a model"), "")

    def _on_file(self) -> None:
        self._ask(
            QFileDialog.FileMode.ExistingFile,
            self.tr("GGUF file"),
            self.tr("GGUF models (*.gguf)"),
        )

    def _ask(self, mode: QFileDialog.FileMode, title: str, name_filter: str) -> None:
        dialog = file_dialog(self, title, mode, name_filter=name_filter)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self.path_chosen)
        dialog.open()


class ChoosePage(WizardPageArea):
    """The options as cards.

    Signals:
        option_chosen(str): option_id.
        path_chosen(str): a folder or file of the user.
        delete_requested(): remove what has arrived of the chosen model.
    """

    option_chosen = Signal(str)
    path_chosen = Signal(str)
    delete_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(theme, parent)
        self.cards: list[OptionCard] = []
        self._group = QButtonGroup(self)
        self.column.addStretch(1)

    def show_options(self, options: Sequence[ModelOption], chosen_id: str) -> None:
        """Fill the page; cards of the same options stay, and so does the focus."""
        self.show_title(
            self.tr("Choose a model"),
            self.tr("You can add others later. Nothing is fetched before you press the button."),
        )
        if [card.option_id for card in self.cards] != [option.option_id for option in options]:
            self._make_cards(options)
        for card, option in zip(self.cards, options, strict=True):
            card.show_option(option, is_chosen=option.option_id == chosen_id)

    def _make_cards(self, options: Sequence[ModelOption]) -> None:
        for card in self.cards:
            self._group.removeButton(card.radio)
            self.column.removeWidget(card)
            discard(card)
        self.cards = [OptionCard(self.theme, option.option_id, self.body) for option in options]
        for place, card in enumerate(self.cards):
            self._group.addButton(card.radio)
            card.chosen.connect(self.option_chosen)
            card.path_chosen.connect(self.path_chosen)
            card.delete_requested.connect(self.delete_requested)
            self.column.insertWidget(3 + place, card)
