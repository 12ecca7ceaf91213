"""What is said about a reply before trouble comes: it goes round in circles, the context fills up.

Qt-free. `ChatController` tells it what arrives and what has ended; it shows notices and nothing
else. Each is shown once, so that one which was closed stays closed.
"""

from __future__ import annotations

from app.chat_request import context_of
from app.chat_view import ChatView, Notice
from app.conversation import Conversation, Reply
from app.error_text import LEAVE_OUT
from app.language import QT_TRANSLATE_NOOP, translate
from app.number_text import percent_text
from app.running_reply import RunningReply
from engine.api import Channel, Delta, FinishReason

NEARLY_FULL = 0.9
"""Share of the context from which on the chat is told what comes; the meter is red from here."""

LOOP = "loop"
CONTEXT = "context"


class ReplyWatch:
    """Remembers which chats were told that their context is nearly full."""

    def __init__(self, view: ChatView) -> None:
        self._view = view
        self._told: set[str] = set()

    def on_delta(self, running: RunningReply, delta: Delta, *, shown: bool) -> None:
        """Look at new text; a bar comes when it repeats itself, and goes with the thinking."""
        if running.looping is not None and running.looping is not delta.channel:
            running.looping = None
            self._view.hide_notice(LOOP)
        if running.guard.add(delta.channel, delta.text):
            running.looping = delta.channel
            if shown:
                self.show_loop(running)

    def show_loop(self, running: RunningReply) -> None:
        """Offer what helps against the loop that a running reply is in."""
        actions = [("stop", QT_TRANSLATE_NOOP("Actions", "Stop"))]
        if running.looping is Channel.THINKING:
            actions.append(("answer_now", QT_TRANSLATE_NOOP("Actions", "Answer now")))
        text = translate("Chat", "The model repeats itself.")
        self._view.show_notice(Notice(LOOP, text, "warn", (*actions, _less_alike(running))))

    def on_shown(self, running: RunningReply | None) -> None:
        """Another chat is in the window; `running` is its reply, if it has one."""
        for key in (LOOP, CONTEXT, "left_out", "edited"):
            self._view.hide_notice(key)  # they speak of the chat that was left
        if running is not None and running.looping is not None:
            self.show_loop(running)

    def on_model(self) -> None:
        """A model was loaded, perhaps with a longer context."""
        self._view.hide_notice(CONTEXT)

    def on_begin(self) -> None:
        """A reply begins: what was said about the one before is over."""
        self._view.hide_notice(LOOP)
        self._view.hide_notice(CONTEXT)

    def on_end(self, running: RunningReply, reply: Reply, *, shown: bool) -> None:
        """A reply has ended; one that was cut in a loop is best asked for differently."""
        if not shown:
            return
        self._view.hide_notice(LOOP)
        if running.looping is not None and reply.finish_reason != FinishReason.END.value:
            text = translate("Chat", "The model was repeating itself.")
            self._view.show_notice(Notice(LOOP, text, "warn", (_less_alike(running),)))

    def on_context(self, chat: Conversation, capacity_tokens: int) -> None:
        """The last reply of the chat in the window has ended: say what comes when it is full."""
        used = context_of(chat)
        if not capacity_tokens or not chat.exchanges:
            return
        reply = chat.exchanges[-1].reply
        if reply is not None and reply.finish_reason == FinishReason.CONTEXT_FULL.value:
            text = translate(
                "Chat",
                "The context is full, so the reply breaks off here and cannot go on. Leave out the "
                "oldest exchanges and ask again, or set a longer context if the model allows it.",
            )
        elif used < NEARLY_FULL * capacity_tokens:
            self._told.discard(chat.conversation_id)
            return
        elif chat.conversation_id in self._told:
            return
        else:
            text = translate(
                "Chat",
                "This chat fills {percent} of what the model can see. When it is full, a reply "
                "breaks off, and for a new question the oldest exchanges must be left out.",
            ).format(percent=percent_text(min(1.0, used / capacity_tokens)))
        self._told.add(chat.conversation_id)
        actions = [("show_setting:context_tokens", QT_TRANSLATE_NOOP("Actions", "Context length"))]
        if any(not exchange.left_out for exchange in chat.exchanges[:-1]):
            actions.insert(0, LEAVE_OUT)
        self._view.show_notice(Notice(CONTEXT, text, "warn", tuple(actions)))


def _less_alike(running: RunningReply) -> tuple[str, str]:
    """The action that asks again with a higher presence penalty."""
    action = f"raise_presence:{running.conversation_id}:{running.exchange_id}"
    return action, QT_TRANSLATE_NOOP("Actions", "Try a higher presence penalty")
