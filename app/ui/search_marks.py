"""What was searched for, marked in the opened chat, and the way to where it stands."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QTextEdit

from app.conversation import Exchange
from app.conversation_search import places_of
from app.ui.exchange_widget import ExchangeWidget
from app.ui.theme import Theme
from app.ui.transcript_view import TranscriptView

MARK_MS = 150
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
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self._on_timer)
        transcript.arranged.connect(self._on_arranged)
        theme.changed.connect(self._mark_anew)

    @property
    def words(self) -> tuple[str, ...]:
        """What is marked."""
        return self._words

    def show_words(self, words: Sequence[str]) -> None:
        """Mark these words from now on; none takes all marks away."""
        if tuple(words) != self._words:
            self._words = tuple(words)
            self._mark_all()

    def jump(self) -> bool:
        """Bring the first place of the chat that holds a word into view; false if there is none."""
        if not self._words:
            return False
        held = [e.exchange_id for e in self._transcript.exchanges if self._is_in(e)]
        self._wanted = held[0] if held else ""
        self._show_wanted()
        return bool(held)

    def _is_in(self, exchange: Exchange) -> bool:
        texts = [exchange.question]
        for reply in exchange.replies:
            texts += [reply.answer, reply.thinking]
        return any(places_of(self._words, text) for text in texts)

    def _show_wanted(self) -> None:
        """Go to the place; again, as long as its text is still being drawn."""
        if self._wanted not in self._transcript.exchange_ids:
            self._wanted = ""  # another chat has come meanwhile
            return
        exchange_id = self._wanted
        widget = self._transcript.exchange_widget(exchange_id)
        widget.bubble.unfold_for(self._words)
        self._mark_all()
        height = self._height_of_hit(widget)
        self._transcript.bring_into_view(exchange_id, height or 0)
        if height is not None or not widget.is_behind:
            # A word of another version of the reply has no place to go to.
            self._wanted = ""
            # Exchanges around it get their true heights only when they are built.
            QTimer.singleShot(0, self, partial(self._settle, exchange_id, widget))

    def _settle(self, exchange_id: str, widget: ExchangeWidget) -> None:
        if exchange_id in self._transcript.exchange_ids and not self._wanted:
            height = self._height_of_hit(widget) or 0
            self._transcript.bring_into_view(exchange_id, height)

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
        if self._words and not self._timer.isActive():
            self._timer.start(0 if self._wanted else MARK_MS)

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
