"""What was searched for, marked in the opened chat, and the way to where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QTextEdit
from shiboken6 import isValid

from app.conversation import Exchange
from app.conversation_search import places_of
from app.ui.exchange_widget import ExchangeWidget
from app.ui.theme import Theme
from app.ui.transcript_view import TranscriptView

MARK_MS = 150
SETTLE_MS = 500
"""How long a place is held in view while exchanges around it get their true heights."""

HOLD_MS = 5000
"""And at most, on a machine that is slow to draw."""

SHOW_MS = 40
"""Between two looks at a place that is still being drawn: drawing must have its turns."""

MAX_MARKS = 500
"""In one text: the word "the" in a long answer would cost more than it shows."""

_SEEN = "searched_for"

_Mark = tuple[QTextEdit, QTextEdit.ExtraSelection]


class SearchMarks(QObject):
    """Marks the words in every text that is built, now and when it changes."""

    def __init__(self, theme: Theme, transcript: TranscriptView) -> None:
        super().__init__(transcript)
        self._theme = theme
        self._transcript = transcript
        self._words: tuple[str, ...] = ()
        self._wanted = ""
        self._current = ""
        self._at = 0
        self._shown: QTextEdit | None = None
        self._going = False
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_timer)
        self._settled = QTimer(self)
        self._settled.setSingleShot(True)
        self._settled.setInterval(SETTLE_MS)
        self._settled.timeout.connect(self._on_settled)
        self._hold = QTimer(self)
        self._hold.setSingleShot(True)
        self._hold.setInterval(HOLD_MS)
        self._hold.timeout.connect(self._on_settled)
        # The reader's own scrolling counts more than where the place is.
        transcript.verticalScrollBar().actionTriggered.connect(self._on_settled)
        transcript.arranged.connect(self._on_arranged)
        theme.changed.connect(self._mark_anew)

    @property
    def words(self) -> tuple[str, ...]:
        """What is marked."""
        return self._words

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way into view."""
        return not self._wanted

    def show_words(self, words: Sequence[str]) -> None:
        """Mark these words from now on; none takes all marks away."""
        if tuple(words) != self._words:
            self._words = tuple(words)
            self._mark_all()

    def jump(self) -> bool:
        """Bring the first place of the chat that holds a word into view; false if there is none."""
        self._current = ""
        return self.step(1)

    def go_to(self, exchange_id: str) -> None:
        """Bring the first place of that exchange into view, if it holds a word."""
        if any(e.exchange_id == exchange_id and self._is_in(e) for e in self._exchanges):
            self._want(exchange_id, 0)

    def step(self, by: int) -> bool:
        """Go to the next (1) or the previous (-1) place that holds a word, round and round."""
        if not self._words:
            return False
        held = [e.exchange_id for e in self._exchanges if self._is_in(e)]
        if not held:
            return False
        if self._current not in held:
            self._want(held[min(0, by)], min(0, by))
            return True
        marks = self._marks_of(self._transcript.exchange_widget(self._current))
        at = self._place(marks) + by
        if 0 <= at < len(marks):
            self._want(self._current, at)
        else:
            following = held[(held.index(self._current) + by) % len(held)]
            self._want(following, min(0, by))
        return True

    @property
    def _exchanges(self) -> Sequence[Exchange]:
        return self._transcript.exchanges

    def _is_in(self, exchange: Exchange) -> bool:
        """Whether what is shown of it holds a word; other versions are told of in a notice."""
        reply = exchange.reply
        texts = [exchange.question, *((reply.answer, reply.thinking) if reply else ())]
        return any(places_of(self._words, text) for text in texts)

    def _want(self, exchange_id: str, at: int) -> None:
        """Go to a mark of an exchange; -1 is its last one, however many it will have."""
        self._current = self._wanted = exchange_id
        self._at = at
        self._settled.start()
        self._hold.start()
        self._timer.stop()
        self._show_wanted()

    def _place(self, marks: Sequence[_Mark]) -> int:
        """Which of them is gone to; an exchange that is still being drawn has few as yet."""
        return len(marks) - 1 if self._at < 0 else min(self._at, len(marks) - 1)

    def _show_wanted(self) -> None:
        """Go to the place, and again while its text and what is above it are still being drawn."""
        if self._wanted not in self._transcript.exchange_ids:
            self._wanted = ""  # another chat has come meanwhile
            return
        self._going = True
        widget = self._transcript.exchange_widget(self._wanted)
        widget.bubble.unfold_for(self._words)
        self._mark_all()
        height = self._height_of_hit(widget)
        # Words that are only in a hidden thinking have no place: it is shown from its top.
        self._transcript.bring_into_view(self._wanted, height or 0)
        self._going = False
        if widget.is_behind or self._transcript.is_behind:
            self._settled.start()

    def _on_settled(self) -> None:
        self._wanted = ""

    def _marks_of(self, widget: ExchangeWidget) -> list[_Mark]:
        """All marks that can be seen, as one reads: question, answer, thinking."""
        thinking = widget.thinking.view
        texts = [each for each in widget.findChildren(QTextEdit) if each.isVisibleTo(widget)]
        texts.sort(key=lambda each: (each is thinking, each.mapTo(widget, each.pos()).y()))
        return [(text, mark) for text in texts for mark in text.extraSelections()]

    def _height_of_hit(self, widget: ExchangeWidget) -> int | None:
        """Where the wanted mark stands in the exchange; a thinking is scrolled to it."""
        marks = self._marks_of(widget)
        if not marks:
            return None
        at = self._place(marks)
        text, mark = marks[at]
        self._show_current(text, at - [each for each, _ in marks].index(text))
        place = text.cursorRect(mark.cursor).topLeft()
        if text is not widget.thinking.view:
            return text.viewport().mapTo(widget, place).y()
        bar = text.verticalScrollBar()
        bar.setValue(bar.value() + place.y() - text.viewport().height() // 3)
        return widget.card.y()

    def _show_current(self, text: QTextEdit, at: int) -> None:
        """Let the mark that is gone to stand out, and no other one any more."""
        if self._shown is not None and self._shown is not text and isValid(self._shown):
            self._paint(self._shown, -1)
        self._shown = text
        self._paint(text, at)

    def _paint(self, text: QTextEdit, current: int) -> None:
        marks = text.extraSelections()
        for at, mark in enumerate(marks):
            back, front = ("accent", "on_accent") if at == current else ("selection", "text")
            mark.format.setBackground(self._theme.color(back))
            mark.format.setForeground(self._theme.color(front))
        text.setExtraSelections(marks)

    def _on_arranged(self) -> None:
        if self._words and not self._timer.isActive() and not self._going:
            self._timer.start(SHOW_MS if self._wanted else MARK_MS)

    def _on_timer(self) -> None:
        if self._wanted:
            self._show_wanted()
        else:
            self._mark_all()

    def _mark_anew(self) -> None:
        for text in self._transcript.findChildren(QTextEdit):
            text.setProperty(_SEEN, None)
        self._mark_all()

    def _mark_all(self) -> None:
        for text in self._transcript.findChildren(QTextEdit):
            seen = (self._words, text.document().revision())
            if text.property(_SEEN) != seen:
                text.setProperty(_SEEN, seen)
                self._mark(text)

    def _mark(self, text: QTextEdit) -> None:
        marks: list[QTextEdit.ExtraSelection] = []
        for word in self._words:
            cursor = text.document().find(word)
            while not cursor.isNull() and len(marks) < MAX_MARKS:
                marks.append(self._mark_at(cursor))
                cursor = text.document().find(word, cursor)
        marks.sort(key=lambda mark: mark.cursor.selectionStart())
        text.setExtraSelections(marks)

    def _mark_at(self, cursor: QTextCursor) -> QTextEdit.ExtraSelection:
        mark = QTextEdit.ExtraSelection()
        mark.cursor = QTextCursor(cursor)
        mark.format.setBackground(self._theme.color("selection"))
        mark.format.setForeground(self._theme.color("text"))
        return mark
