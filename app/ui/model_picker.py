"""The header's place of the model: its name, its state, and the menu of all models."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal, SignalInstance
from PySide6.QtWidgets import QHBoxLayout, QMenu, QWidget

from app.chat_view import ModelChoice, ModelState
from app.number_text import percent_text
from app.ui.controls import ElidedLabel, TextButton, without_mnemonic
from app.ui.meter import Meter
from app.ui.theme import Theme

_BUSY = (ModelState.DOWNLOADING, ModelState.VERIFYING, ModelState.LOADING)


class ModelPicker(QWidget):
    """A pill with a menu, and beside it what another model is doing and what can be done about it.

    Signals:
        model_selected(str): model id; of the menu, or of the offer to switch.
        pause_download_requested(str), resume_download_requested(str): model id.
        remove_model_requested(str): take a model of the user off the list.
        add_model_requested, free_memory_requested: lines of the menu.
    """

    model_selected = Signal(str)
    pause_download_requested = Signal(str)
    resume_download_requested = Signal(str)
    remove_model_requested = Signal(str)
    add_model_requested = Signal()
    free_memory_requested = Signal()

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._choices: tuple[ModelChoice, ...] = ()
        self._active_id: str | None = None
        metrics = theme.metrics
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(metrics.gap_l)
        self.button = TextButton(self.tr("Choose a model"), "pill", self)
        self.button.setAccessibleName(self.tr("Model"))
        self.button.setToolTip(self.tr("Choose the model (Ctrl+M)"))
        self.menu = QMenu(self)
        self.menu.setToolTipsVisible(True)
        self.removals = QMenu(self.tr("Remove from the list"), self)
        self.removals.setToolTipsVisible(True)
        self.menu.aboutToShow.connect(self._fill_menu)
        self.button.clicked.connect(self.open_menu)
        row.addWidget(self.button)
        self._detail = ElidedLabel("quiet", self)
        row.addWidget(self._detail, 1)
        self.meter = Meter(theme, self.tr("Progress"), metrics.meter_small_width, self)
        row.addWidget(self.meter)
        self.offer = TextButton(self.tr("Pause"), "accent", self)
        self.offer.clicked.connect(self._on_offer)
        row.addWidget(self.offer)
        self._offer_of = ""
        self._asks: SignalInstance | None = None
        theme.changed.connect(self._on_theme)
        self._on_theme()
        self.show_models((), None)

    @property
    def detail_text(self) -> str:
        """What stands beside the button."""
        return self._detail.full_text()

    def show_models(self, choices: Sequence[ModelChoice], active_id: str | None) -> None:
        """Show which model answers and what another one is doing."""
        self._choices, self._active_id = tuple(choices), active_id
        active = next((choice for choice in choices if choice.model_id == active_id), None)
        if active is None:
            self.button.setText(self.tr("Choose a model"))
        elif active.is_demo:
            self.button.setText(self.tr("Demo model: only small tasks"))
        else:
            self.button.setText(without_mnemonic(active.label))
        shown = self._most_pressing(active)
        self._detail.set_full_text(f"{shown.label} {self._state_of(shown)}" if shown else "")
        self._detail.setVisible(shown is not None)
        self._show_offer(shown)
        moves = shown is not None and (shown.state in _BUSY or shown.is_paused)
        self.meter.setVisible(moves)
        if shown is not None and moves:
            self.meter.set_share(shown.progress)

    def _most_pressing(self, active: ModelChoice | None) -> ModelChoice | None:
        """The model to speak of beside the button; None where there is nothing to say."""
        busy = [choice for choice in self._choices if choice.state in _BUSY]
        new = [choice for choice in self._choices if choice.is_new]
        failed = [active] if active and active.state is ModelState.FAILED else []
        paused = [choice for choice in self._choices if choice.is_paused]
        return next(iter((*busy, *new, *failed, *paused)), None)

    def _show_offer(self, choice: ModelChoice | None) -> None:
        words, asks = "", None
        if choice is not None and choice.state is ModelState.DOWNLOADING:
            words, asks = self.tr("Pause"), self.pause_download_requested
        elif choice is not None and choice.is_paused:
            words, asks = self.tr("Resume"), self.resume_download_requested
        elif choice is not None and choice.is_new:
            words, asks = self.tr("Use it now"), self.model_selected
        self._offer_of = choice.model_id if choice is not None else ""
        self._asks = asks
        self.offer.setVisible(asks is not None)
        if asks is not None:
            self.offer.setText(words)

    def _on_offer(self) -> None:
        if self._asks is not None:
            self._asks.emit(self._offer_of)

    def _state_of(self, choice: ModelChoice, *, why: bool = True) -> str:
        """Where it stands, in words that go on after its name; `why` it failed is a sentence."""
        percent = percent_text(choice.progress)
        absent = self.tr("not on disk")
        if choice.is_paused:
            absent = self.tr("download paused at {percent}").format(percent=percent)
        elif choice.is_added:
            absent = self.tr("not found")
        words = {
            ModelState.ABSENT: absent,
            ModelState.DOWNLOADING: self.tr("downloading {percent}").format(percent=percent),
            ModelState.VERIFYING: self.tr("checking {percent}").format(percent=percent),
            ModelState.ON_DISK: self.tr("is ready") if choice.is_new else self.tr("on disk"),
            ModelState.LOADING: self.tr("loading {percent}").format(percent=percent),
            ModelState.READY: self.tr("ready"),
            ModelState.FAILED: self.tr("failed"),
        }
        text = words[choice.state]
        says_more = choice.detail and (why or choice.state is not ModelState.FAILED)
        return f"{text} · {choice.detail}" if says_more else text

    def open_menu(self) -> None:
        """Open the menu below the button."""
        self.menu.popup(self.button.mapToGlobal(self.button.rect().bottomLeft()))

    def _fill_menu(self) -> None:
        self.menu.clear()
        for choice in self._choices:
            words = f"{choice.label} · {self._state_of(choice, why=False)}"
            action = self.menu.addAction(without_mnemonic(words))
            if choice.model_id == self._active_id:
                action.setIcon(self._theme.icon("check", "accent"))
            action.setData(choice.model_id)
            action.triggered.connect(
                lambda _=False, model_id=choice.model_id: self.model_selected.emit(model_id)
            )
        if self._choices:
            self.menu.addSeparator()
        add = self.menu.addAction(self._theme.icon("plus"), self.tr("Add a model…"))
        add.triggered.connect(self.add_model_requested)
        added = [choice for choice in self._choices if choice.is_added]
        if added:
            self.removals.clear()
            self.menu.addMenu(self.removals)
            for choice in added:
                action = self.removals.addAction(without_mnemonic(choice.label))
                action.setToolTip(self.tr("Its files stay where they are"))
                action.triggered.connect(
                    lambda _=False, model_id=choice.model_id: self.remove_model_requested.emit(
                        model_id
                    )
                )
        loaded = any(choice.state is ModelState.READY for choice in self._choices)
        free = self.menu.addAction(self.tr("Free memory"))
        free.setEnabled(loaded)
        free.setToolTip(self.tr("Unload the model; the next question loads it again"))
        free.triggered.connect(self.free_memory_requested)

    def _on_theme(self) -> None:
        self.button.setIcon(self._theme.icon("chevron-down"))
        self.button.setLayoutDirection(self.layoutDirection().RightToLeft)
