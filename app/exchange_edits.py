"""What the user can do to an exchange that is there: ask again, continue, edit, choose, leave out.

Qt-free; `ChatController` generates the replies. Nothing is erased: a new reply stands beside the
old one, an edit keeps what it replaced, exchanges that do not fit are only marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from app.chat_controller import ChatController, ChatPorts
from app.chat_request import can_continue, messages_for, oldest_exchanges
from app.chat_view import ChatView, Notice
from app.conversation import Conversation, Exchange, Reply, ReplyStatus
from app.conversation_list import clean_text
from app.settings_controller import Jobs
from app.title import title_from_question
from engine.api import Capability, FinishReason

ROOM_FOR_REPLY_TOKENS = 1024
"""Tokens that leaving out makes free for the reply; a quarter of a small context."""


@dataclass(frozen=True, slots=True)
class _TooLong:
    """The question that did not fit."""

    conversation_id: str
    exchange_id: str
    limit_tokens: int


class ExchangeEdits:
    """Changes exchanges of the shown chat; all of it waits until no reply of that chat runs."""

    def __init__(
        self, view: ChatView, ports: ChatPorts, controller: ChatController, jobs: Jobs
    ) -> None:
        self._view = view
        self._ports = ports
        self._controller = controller
        self._jobs = jobs
        self._too_long: _TooLong | None = None
        controller.too_long = self._on_too_long

    def on_regenerate(self, exchange_id: str) -> None:
        """Add another version of a reply; one without a word is replaced instead."""
        exchange = self._ports.chats.shown.exchange(exchange_id)
        if exchange is None:
            return
        reply, old = self._controller.new_reply(), exchange.reply
        if old is not None and not old.thinking and not old.answer:
            reply = replace(reply, reply_id=old.reply_id)
        self._ask_again(exchange, reply)

    def retry_last(self) -> None:
        """Ask again where the last reply of the shown chat failed."""
        exchanges = self._ports.chats.shown.exchanges
        reply = exchanges[-1].reply if exchanges else None
        if reply is not None and reply.status is ReplyStatus.FAILED:
            self.on_regenerate(exchanges[-1].exchange_id)

    def on_continue(self, exchange_id: str) -> None:
        """Go on with a reply that was cut, in its thinking too."""
        exchange = self._ports.chats.shown.exchange(exchange_id)
        reply = None if exchange is None else exchange.reply
        if exchange is None or reply is None:
            return
        info = self._ports.models.info
        refusal = ""
        if reply.finish_reason == FinishReason.CONTEXT_FULL.value:
            refusal = "The context is full, so this reply cannot go on. Set a longer context."
        elif info is not None and Capability.CONTINUE_REPLY not in info.capabilities:
            refusal = "This model cannot continue a reply. Ask for a new one instead."
        if refusal:
            self._view.show_notice(Notice("continue", refusal, "warn"))
        elif can_continue(reply):
            running = replace(reply, status=ReplyStatus.RUNNING, finish_reason="", error_text="")
            self._ask_again(exchange, running)

    def on_edit(self, exchange_id: str, question: str) -> None:
        """Ask a changed question in place of an old one, which is kept with what came after it."""
        question = clean_text(question)
        chat = self._ports.chats.shown
        old = chat.exchange(exchange_id)
        if not question.strip() or old is None or self._refuse_while_busy():
            return
        before = chat.exchanges[: chat.exchanges.index(old)]
        reply = self._controller.new_reply()
        branch = self._ports.new_id()
        versions = (*(name or branch for name in old.question_versions or ("",)), "")
        exchange = Exchange(
            exchange_id,
            question,
            (reply,),
            created_at=old.created_at,
            question_versions=versions,
        )
        title = chat.title if before else title_from_question(question)
        chat = replace(chat, title=title, exchanges=(*before, exchange))
        chat = self._ports.chats.touched(chat)
        self._ports.store.write(lambda store: store.edit_exchange(chat, exchange, branch))
        self._view.remove_exchanges_after(exchange_id)
        action = f"undo_edit:{chat.conversation_id}:{exchange_id}:{branch}"
        text = "The earlier question and what followed it are kept."
        self._view.show_notice(Notice("edited", text, actions=((action, "Bring them back"),)))
        self._controller.begin(chat, exchange)

    def on_undo_edit(self, conversation_id: str, exchange_id: str, branch: str) -> None:
        """Bring back the exchanges that an edit replaced."""
        if conversation_id != self._ports.chats.shown_id or self._refuse_while_busy():
            return
        self._view.hide_notice("edited")
        hidden_as = self._ports.new_id()
        self._ports.store.write(
            lambda store: store.restore_branch(conversation_id, exchange_id, branch, hidden_as)
        )
        self._ports.chats.reload_shown()

    def on_question_chosen(self, exchange_id: str, index: int) -> None:
        """Show another wording of an edited question, with what followed it."""
        chat = self._ports.chats.shown
        exchange = chat.exchange(exchange_id)
        versions = () if exchange is None else exchange.question_versions
        if 0 <= index < len(versions) and versions[index]:
            self.on_undo_edit(chat.conversation_id, exchange_id, versions[index])

    def on_reply_chosen(self, exchange_id: str, index: int) -> None:
        """Show another version of a reply; the model sees that one from now on."""
        exchange = self._ports.chats.shown.exchange(exchange_id)
        if exchange is None or not 0 <= index < len(exchange.replies):
            return
        if any(reply.status is ReplyStatus.RUNNING for reply in exchange.replies):
            return
        self._ports.store.write(lambda store: store.set_chosen(exchange_id, index))
        self._put(replace(exchange, chosen=index))

    def on_leave_out_oldest(self) -> None:
        """Leave out as many of the oldest exchanges as the question needs, and ask it again."""
        too_long, chat = self._too_long, self._ports.chats.shown
        if too_long is None or too_long.conversation_id != chat.conversation_id:
            return
        self._view.hide_notice("reply")
        system_prompt = self._ports.settings.settings.system_prompt
        # Counting encodes the whole chat, which can take longer than a frame.
        job = partial(self._count_left_out, chat, too_long, system_prompt)
        self._jobs.run(job, partial(self._on_counted, too_long))

    def _count_left_out(
        self, chat: Conversation, too_long: _TooLong, system_prompt: str
    ) -> list[str] | None:
        """Ids of the exchanges to leave out; None where the question alone is too long."""
        limit = too_long.limit_tokens
        room = limit - min(ROOM_FOR_REPLY_TOKENS, limit // 4)
        left_out: list[str] = []
        for exchange in oldest_exchanges(chat, too_long.exchange_id):
            left_out.append(exchange.exchange_id)
            chat = chat.with_exchange(replace(exchange, left_out=True))
            messages = messages_for(chat, too_long.exchange_id, system_prompt)
            tokens = self._ports.engine.count_tokens(messages)
            if tokens is None or tokens <= room:
                return left_out
        alone = messages_for(chat, too_long.exchange_id, system_prompt)
        tokens = self._ports.engine.count_tokens(alone)
        return left_out if left_out and tokens is not None and tokens < limit else None

    def _on_counted(self, too_long: _TooLong, left_out: Sequence[str] | None) -> None:
        if too_long.conversation_id != self._ports.chats.shown_id or self._refuse_while_busy():
            return
        if left_out is None:
            text = (
                f"The question alone is longer than the {too_long.limit_tokens:,} tokens that the "
                "model can see. It is kept; shorten it, or set a longer context."
            )
            self._view.show_notice(Notice("reply", text, "warn"))
            return
        self._ports.store.write(lambda store: store.set_left_out(left_out))
        for exchange in self._ports.chats.shown.exchanges:
            if exchange.exchange_id in left_out:
                self._put(replace(exchange, left_out=True))
        self.on_regenerate(too_long.exchange_id)

    def _on_too_long(self, conversation_id: str, exchange_id: str, limit_tokens: int) -> None:
        self._too_long = _TooLong(conversation_id, exchange_id, limit_tokens)

    def _ask_again(self, exchange: Exchange, reply: Reply) -> None:
        if self._refuse_while_busy():
            return
        exchange = exchange.with_reply(reply)
        chat = self._ports.chats.touched(self._ports.chats.shown.with_exchange(exchange))
        self._controller.begin(chat, exchange)

    def _put(self, exchange: Exchange) -> None:
        self._ports.chats.put(self._ports.chats.shown.with_exchange(exchange))
        self._view.show_exchange(exchange)

    def _refuse_while_busy(self) -> bool:
        """Whether the shown chat has a reply on its way, which must end before it is changed."""
        if not self._controller.is_busy(self._ports.chats.shown_id):
            return False
        text = "Stop the reply first, then try again."
        self._view.show_notice(Notice("busy", text, timeout_s=5.0))
        return True
