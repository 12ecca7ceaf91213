"""The place of an exchange in the transcript, with or without a widget in it, and such widgets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QWidget

from app.conversation import Exchange, ReplyStatus
from app.ui.exchange_widget import ExchangeWidget
from app.ui.metrics import Metrics
from app.ui.pane_share import PaneShare
from app.ui.theme import Theme

PASSED_ON = (
    "regenerate_requested",
    "continue_requested",
    "edit_requested",
    "reply_edited",
    "reply_chosen",
    "question_chosen",
    "answer_now_requested",
    "seed_chosen",
)
"""Signals of an exchange that the transcript passes on under the same names."""

MOST_BUILT = 24
"""From this number on, exchanges that are far from the reader give their widgets back."""

MOST_CHARACTERS = 200_000
"""And from so much text on: 100,000 characters of prose and code take some 70 MB as widgets."""


@dataclass(slots=True)
class Room:
    """An exchange's place: its top and height in the transcript, and its widget once built."""

    exchange: Exchange
    top: int = 0
    height: int = 0
    widget: ExchangeWidget | None = None
    is_stale: bool = True
    """Whether its widget is still to be laid out: its width or what it holds has changed."""

    @property
    def is_running(self) -> bool:
        """Whether its reply waits or is on its way."""
        reply = self.exchange.reply
        return reply is not None and reply.status is ReplyStatus.RUNNING

    @property
    def characters(self) -> int:
        """Length of its texts, without what is still streaming in."""
        reply = self.exchange.reply
        return 0 if reply is None else len(reply.thinking) + len(reply.answer)

    def empty(self) -> None:
        """Take the widget away; the room keeps its height."""
        if self.widget is not None:
            self.widget.hide()
            self.widget.deleteLater()
            self.widget = None
            self.is_stale = True


class SpareExchange:
    """An exchange widget with nothing in it yet, made a turn before it is needed.

    To make its parts takes as long as to write its first text; both in one turn are felt.

    Args:
        theme: as of the window.
        share: as of the transcript.
        parent: what the exchanges stand in.
        receiver: has the signals of `PASSED_ON`.
    """

    def __init__(self, theme: Theme, share: PaneShare, parent: QWidget, receiver: QWidget) -> None:
        self._theme = theme
        self._share = share
        self._parent = parent
        self._receiver = receiver
        self._widget: ExchangeWidget | None = None

    def prepare(self) -> bool:
        """Have one; whether it had to be made."""
        if self._widget is not None:
            return False
        self._widget = self._made()
        return True

    def take(self) -> ExchangeWidget:
        """The one that is there, or a new one; its owner is the caller now."""
        widget = self._widget or self._made()
        self._widget = None
        return widget

    def drop(self) -> None:
        """It was made in fonts and colours that are no longer used."""
        if self._widget is not None:
            self._widget.deleteLater()
            self._widget = None

    def _made(self) -> ExchangeWidget:
        widget = ExchangeWidget(self._theme, self._share, self._parent)
        for name in PASSED_ON:
            getattr(widget, name).connect(getattr(self._receiver, name))
        return widget


def surplus_of(rooms: Sequence[Room], far: Callable[[int], bool]) -> list[Room]:
    """The rooms to empty so that the widgets of a long chat stay few, the first of the chat first.

    What runs, and what the reader opened or began to edit, keeps its widget. `far(index)` says
    whether a room is far from what is seen.
    """
    built = [room for room in rooms if room.widget is not None]
    surplus = len(built) - MOST_BUILT
    surplus_characters = sum(room.characters for room in built) - MOST_CHARACTERS
    found: list[Room] = []
    for index, room in enumerate(rooms):
        if surplus <= 0 and surplus_characters <= 0:
            break
        stays = room.widget is None or room.is_running or room.widget.is_in_use
        if not stays and far(index):
            found.append(room)
            surplus -= 1
            surplus_characters -= room.characters
    return found


def column_in(room: int, metrics: Metrics, *, folded: bool) -> tuple[int, int]:
    """Left edge and width of the exchanges in a transcript that is `room` pixels wide.

    The scroll bar lies in the margin: nothing moves when it comes.
    """
    side = metrics.gap_m if folded else metrics.gap_xl
    width = max(1, min(metrics.transcript_max_width, room - 2 * side))
    return (room - width) // 2, width


def estimated_height(exchange: Exchange, theme: Theme, answer_width: float) -> int:
    """Height in pixels that the exchange will take, roughly; its answer is so many pixels wide."""
    metrics = theme.metrics
    line = theme.line_height("text")
    reply = exchange.reply
    answer = reply.answer if reply else ""
    em = QFontMetricsF(theme.font("text")).averageCharWidth()
    chars = max(1.0, min(metrics.answer_max_chars, answer_width / em))
    lines = answer.count("\n") + len(answer) / chars + 4
    return round(max(metrics.exchange_thinking_height, lines * line)) + 2 * line
