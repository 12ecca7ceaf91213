"""What was searched for, marked in the opened chat, and the way to where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QTextEdit

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


class SearchMarks(QObject):
    """Marks the words in every text that is built, now and when it changes."""

    def __init__(self, theme: Theme, transcript: TranscriptView) -> None:
        super().__init__(transcript)
        self._theme = theme
        self._transcript = transcript
        self._words: tuple[str, ...] = ()
        self._wanted = ""
        self._current = ""
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

    def step(self, by: int) -> bool:
        """Go to the next (1) or the previous (-1) exchange that holds a word, round and round."""
        if not self._words:
            return False
        held = [e.exchange_id for e in self._transcript.exchanges if self._is_in(e)]
        if not held:
            return False
        at = held.index(self._current) + by if self._current in held else min(0, by)
        self._current = self._wanted = held[at % len(held)]
        self._settled.start()
        self._hold.start()
        self._timer.stop()
        self._show_wanted()
        return True

    def _is_in(self, exchange: Exchange) -> bool:
        texts = [exchange.question]
        for reply in exchange.replies:
            texts += [reply.answer, reply.thinking]
        return any(places_of(self._words, text) for text in texts)

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
        # A word of another version of the reply has no place: the exchange is shown from its top.
        self._transcript.bring_into_view(self._wanted, height or 0)
        self._going = False
        if widget.is_behind:
            self._settled.start()

    def _on_settled(self) -> None:
        self._wanted = ""

    def _height_of_hit(self, widget: ExchangeWidget) -> int | None:
        """Where the first mark stands in the exchange; a thinking is scrolled to it."""
        thinking = widget.thinking.view
        texts = [each for each in widget.findChildren(QTextEdit) if each is not thinking]
        for text in sorted(texts, key=lambda each: each.mapTo(widget, each.pos()).y()):
            marks = text.extraSelections()
            if marks and text.isVisibleTo(widget):
                place = text.cursorRect(marks[0].cursor).topLeft()
                return text.viewport().mapTo(widget, place).y()
        marks = thinking.extraSelections()
        if marks:
            bar = thinking.verticalScrollBar()
            top = thinking.cursorRect(marks[0].cursor).top()
            bar.setValue(bar.value() + top - thinking.viewport().height() // 3)
        return widget.card.y() if marks else None

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
