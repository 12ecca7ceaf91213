"""Changes that were begun and not asked for: kept while their chat is out of the window."""

from __future__ import annotations

from dataclasses import dataclass

from app.ui.exchange_widget import ExchangeWidget
from engine.api import Channel


@dataclass(frozen=True, slots=True)
class _Pending:
    """Texts of open editors; None for one that is closed. The reply's belongs to one version."""

    question: str | None
    reply: str | None
    channel: Channel
    reply_id: str


class PendingEdits:
    """Remembers what stands in the editors of exchanges whose widgets go, by exchange."""

    def __init__(self) -> None:
        self._kept: dict[str, _Pending] = {}

    def keep(self, widget: ExchangeWidget) -> None:
        """The widget is about to go."""
        bubble, editor = widget.bubble, widget.editor
        if not (bubble.is_editing or editor.is_open):
            return
        reply = widget.exchange.reply
        self._kept[widget.exchange.exchange_id] = _Pending(
            bubble.editor.toPlainText() if bubble.is_editing else None,
            editor.edit.toPlainText() if editor.is_open else None,
            editor.channel,
            reply.reply_id if reply is not None else "",
        )

    def bring_back(self, widget: ExchangeWidget) -> None:
        """The exchange has a widget again: open what was open, without taking the keyboard."""
        kept = self._kept.pop(widget.exchange.exchange_id, None)
        if kept is None:
            return
        if kept.question is not None:
            widget.bubble.begin_edit(kept.question)
        reply = widget.exchange.reply
        if kept.reply is not None and reply is not None and reply.reply_id == kept.reply_id:
            widget.editor.begin(kept.channel, kept.reply, focus=False)
