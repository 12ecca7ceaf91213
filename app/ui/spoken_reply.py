"""Tells a screen reader what arrives, sentence by sentence and not too often.

A streaming answer changes thirty times a second; read as it changes it would be noise. Thinking is
announced, not read: it stands in its own pane for whoever wants it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from app.chat_view import ChatState
from engine.api import Channel

INTERVAL_MS = 2_000
"""A sentence a breath; a reader speaks some 25 characters a second or more."""

LONGEST = 400
"""Characters without the end of a sentence after which a word's end will do."""

_SENTENCE_END = re.compile(r"[.!?…](?=\s)|[。！？]|\n")
_MARKUP = re.compile(r"[*_`#]+")


def announce(widget: QWidget, text: str) -> None:
    """Have it spoken when the reader is done with what it says now."""
    QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(widget, text))


class SpokenReply(QObject):
    """Fed with what the transcript is told; silent unless a screen reader is there.

    Args:
        widget: what the announcements are of.
        say: speaks for that widget.
    """

    def __init__(self, widget: QWidget, say: Callable[[QWidget, str], None] = announce) -> None:
        super().__init__(widget)
        self._widget = widget
        self._say = say
        self._text = ""
        self._state = ChatState.IDLE
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(INTERVAL_MS)
        self._timer.timeout.connect(self.on_breath)

    def take(self, channel: Channel, text: str) -> None:
        """Text has arrived."""
        if channel is Channel.ANSWER and QAccessible.isActive():
            self._text += text
            if not self._timer.isActive():
                self._timer.start()

    def on_state(self, state: ChatState) -> None:
        """Say that it thinks, and that it has ended, with what was not said yet."""
        before, self._state = self._state, state
        if state is before or not QAccessible.isActive():
            return
        if state is ChatState.THINKING:
            self._speak(self.tr("Thinking"))
        elif state is ChatState.IDLE:
            self._timer.stop()
            rest, self._text = self._text, ""
            self._speak(rest)
            self._speak(self.tr("The reply has ended"))

    def on_breath(self) -> None:
        """Say the whole sentences that are there."""
        ends = [match.end() for match in _SENTENCE_END.finditer(self._text)]
        end = ends[-1] if ends else 0
        if not end and len(self._text) > LONGEST:
            end = self._text.rfind(" ", 0, LONGEST) + 1 or LONGEST
        said, self._text = self._text[:end], self._text[end:]
        self._speak(said)
        if self._text:
            self._timer.start()

    def _speak(self, text: str) -> None:
        spoken = " ".join(_MARKUP.sub("", text).split())
        if spoken:
            self._say(self._widget, spoken)
