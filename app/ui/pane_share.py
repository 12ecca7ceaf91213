"""What all exchanges share: how the pair is divided, and what of the run they must know."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

DEFAULT_SHARE = 0.38
MIN_SHARE = 0.1
MAX_SHARE = 0.9


class PaneShare(QObject):
    """The thinking pane's share of the pair, and whether thinking is shown at all.

    Signals:
        changed: one of them changed; every exchange places its panes anew.
        thinking_toggled(bool): the reader asked to show or hide thinking.
    """

    changed = Signal()
    thinking_toggled = Signal(bool)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._share = DEFAULT_SHARE
        self._thinking_shown = True
        self._folded = False
        self._opened_when_folded = False
        self._budget_tokens: int | None = None
        self._capacity_tokens = 0

    @property
    def share(self) -> float:
        """The thinking pane's part of the pair's width."""
        return self._share

    def set_share(self, share: float) -> None:
        """Divide the pair anew; clamped so that neither pane vanishes."""
        share = min(MAX_SHARE, max(MIN_SHARE, share))
        if share != self._share:
            self._share = share
            self.changed.emit()

    @property
    def folded(self) -> bool:
        """Whether the window is so narrow that thinking is a header above the answer."""
        return self._folded

    @property
    def thinking_shown(self) -> bool:
        """Whether the text of the thinking is to be seen."""
        return self._opened_when_folded if self._folded else self._thinking_shown

    @property
    def budget_tokens(self) -> int | None:
        """The thinking budget, for the meter that stands in for a spinner."""
        return self._budget_tokens

    def set_budget(self, budget_tokens: int | None) -> None:
        """Tell the budget; seen at the next update of a running exchange."""
        self._budget_tokens = budget_tokens

    @property
    def capacity_tokens(self) -> int:
        """Tokens that the loaded model can see; 0 while none is loaded."""
        return self._capacity_tokens

    def set_capacity(self, capacity_tokens: int) -> None:
        """Follow the model: a reply that fills the context cannot go on."""
        if capacity_tokens != self._capacity_tokens:
            self._capacity_tokens = capacity_tokens
            self.changed.emit()

    def set_thinking_shown(self, shown: bool) -> None:
        """Follow the setting."""
        if shown != self._thinking_shown:
            self._thinking_shown = shown
            self.changed.emit()

    def set_folded(self, folded: bool) -> None:
        """Follow the width of the window."""
        if folded != self._folded:
            self._folded = folded
            self._opened_when_folded = False
            self.changed.emit()

    def toggle_thinking(self) -> None:
        """The reader's key or button; a wide window asks for the setting to be changed."""
        if self._folded:
            self._opened_when_folded = not self._opened_when_folded
            self.changed.emit()
            return
        self.set_thinking_shown(not self._thinking_shown)
        self.thinking_toggled.emit(self._thinking_shown)
