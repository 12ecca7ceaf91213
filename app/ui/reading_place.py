"""Where one reads in a conversation, so as to come back to it after it was shown anew."""

from __future__ import annotations

from PySide6.QtCore import QPoint

from app.ui.inline_editor import InlineEditor
from app.ui.metrics import Metrics
from app.ui.transcript_view import TranscriptView


def reading_place(transcript: TranscriptView) -> tuple[str, int] | None:
    """The first exchange in view, and how many pixels of it are above; None at the end."""
    if transcript.following:
        return None
    for exchange_id in transcript.built_ids:
        widget = transcript.exchange_widget(exchange_id)
        top = widget.mapTo(transcript.viewport(), QPoint(0, 0)).y()
        if top + widget.height() > 0:
            return exchange_id, -top
    return None


def return_to(transcript: TranscriptView, place: tuple[str, int] | None) -> None:
    """Scroll to such a place, if its exchange is there."""
    if place is not None and place[0] in transcript.exchange_ids:
        exchange_id, above = place
        transcript.bring_into_view(exchange_id, above + transcript.viewport().height() // 4)


def show_opened_editor(transcript: TranscriptView, metrics: Metrics) -> None:
    """Scroll to the editor that was just opened by hand, with the buttons below it."""
    editor = transcript.focusWidget()
    if isinstance(editor, InlineEditor) and editor.isVisible() and editor.take_unseen():
        above = transcript.verticalScrollBar().value()
        top = above + editor.mapTo(transcript.viewport(), QPoint(0, 0)).y()
        buttons = metrics.control_height + 2 * metrics.gap_m
        transcript.ensureVisible(0, top + editor.height(), 0, buttons)
        transcript.ensureVisible(0, top, 0, 0)
        # Of an editor Qt looks at the cursor alone: where not all fits, that comes first.
        transcript.ensureWidgetVisible(editor, 0, buttons)
