"""Makes room in the context: leaves out the oldest exchanges of a chat, and takes them back.

Qt-free. Nothing is erased: what is left out stays in the chat; the model no longer sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from app.chat_controller import ChatController, ChatPorts
from app.chat_request import messages_for, oldest_exchanges
from app.chat_view import ChatView, Notice
from app.conversation import Conversation
from app.exchange_edits import ExchangeEdits
from app.language import QT_TRANSLATE_NOOP, translate
from app.settings_controller import Jobs
from engine.api import ChatMessage, Role

ROOM_FOR_REPLY_TOKENS = 1024
"""Tokens that are made free for the reply to a question; a quarter of a small context."""


@dataclass(frozen=True, slots=True)
class _Need:
    """The exchange that room is wanted for, and whether its question is to be asked again."""

    conversation_id: str
    exchange_id: str
    limit_tokens: int
    ask_again: bool

    @property
    def goal_tokens(self) -> int:
        """As much as may be left in: less where the chat is to go on for a while."""
        quarter = self.limit_tokens // 4
        return self.limit_tokens - (
            min(ROOM_FOR_REPLY_TOKENS, quarter) if self.ask_again else quarter
        )


@dataclass(frozen=True, slots=True)
class _Plan:
    """Ids of the exchanges to leave out, and the tokens that the rest takes, where counted."""

    exchange_ids: tuple[str, ...]
    tokens: int | None


class ContextRoom:
    """Works on the shown chat; counting goes on another thread, since it encodes the whole chat."""

    def __init__(
        self,
        view: ChatView,
        ports: ChatPorts,
        controller: ChatController,
        edits: ExchangeEdits,
        jobs: Jobs,
    ) -> None:
        self._view = view
        self._ports = ports
        self._controller = controller
        self._edits = edits
        self._jobs = jobs
        self._too_long: _Need | None = None
        controller.too_long = self._on_too_long

    def on_leave_out_oldest(self) -> None:
        """Leave out as many of the oldest exchanges as are needed; a question that did not fit is
        asked again.
        """
        chat, need = self._ports.chats.shown, self._too_long
        if need is None or not self._still_waits(chat, need):
            capacity_tokens = self._ports.status.status.capacity_tokens
            if not chat.exchanges or not capacity_tokens:
                return
            last_id = chat.exchanges[-1].exchange_id
            need = _Need(chat.conversation_id, last_id, capacity_tokens, ask_again=False)
        for key in ("reply", "context"):
            self._view.hide_notice(key)
        job = partial(self._count, chat, need, self._ports.settings.settings.system_prompt)
        self._jobs.run(job, partial(self._on_counted, need))

    def on_take_back(self, conversation_id: str, *exchange_ids: str) -> None:
        """Let the model see those exchanges again."""
        if conversation_id != self._ports.chats.shown_id or self._edits.refuse_while_busy():
            return
        self._view.hide_notice("left_out")
        self._mark(exchange_ids, left_out=False)

    def _still_waits(self, chat: Conversation, need: _Need) -> bool:
        """Whether the question that was too long is the chat's last, and without an answer."""
        if need.conversation_id != chat.conversation_id or not chat.exchanges:
            return False
        last = chat.exchanges[-1]
        answered = last.reply is not None and last.reply.answer != ""
        return last.exchange_id == need.exchange_id and not answered

    def _count(self, chat: Conversation, need: _Need, system_prompt: str) -> _Plan | None:
        """What to leave out; None where the question alone is too long."""
        left_out: list[str] = []
        tokens: int | None = None
        for exchange in oldest_exchanges(chat, need.exchange_id):
            left_out.append(exchange.exchange_id)
            chat = chat.with_exchange(replace(exchange, left_out=True))
            tokens = self._tokens(chat, need, system_prompt)
            if tokens is None or tokens <= need.goal_tokens:
                return _Plan(tuple(left_out), tokens)
        tokens = self._tokens(chat, need, system_prompt)
        if left_out and tokens is not None and tokens < need.limit_tokens:
            return _Plan(tuple(left_out), tokens)
        return None

    def _tokens(self, chat: Conversation, need: _Need, system_prompt: str) -> int | None:
        messages = messages_for(chat, need.exchange_id, system_prompt)
        exchange = chat.exchange(need.exchange_id)
        reply = None if exchange is None or need.ask_again else exchange.reply
        if reply is not None and reply.answer:
            messages = (*messages, ChatMessage(Role.ASSISTANT, reply.answer, reply.thinking))
        return self._ports.engine.count_tokens(messages)

    def _on_counted(self, need: _Need, plan: _Plan | None) -> None:
        if need.conversation_id != self._ports.chats.shown_id or self._edits.refuse_while_busy():
            return
        if plan is None:
            text = translate(
                "Chat",
                "The question alone is longer than the {limit} tokens that the model can see. It "
                "is kept; shorten it, or set a longer context if the model allows it.",
            ).format(limit=f"{need.limit_tokens:,}")
            self._view.show_notice(Notice("reply", text, "warn"))
            return
        self._mark(plan.exchange_ids, left_out=True)
        self._tell(need, plan)
        if need.ask_again:
            self._edits.on_regenerate(need.exchange_id)
        elif plan.tokens is not None:
            self._ports.status.change(context_tokens=plan.tokens)

    def _mark(self, exchange_ids: Sequence[str], *, left_out: bool) -> None:
        store = self._ports.chats.store_of(self._ports.chats.shown_id)
        store.write(lambda store: store.set_left_out(exchange_ids, left_out))
        for exchange in self._ports.chats.shown.exchanges:
            if exchange.exchange_id in exchange_ids:
                self._edits.put(replace(exchange, left_out=left_out))

    def _tell(self, need: _Need, plan: _Plan) -> None:
        count = len(plan.exchange_ids)
        if count == 1:
            text = translate("Chat", "The oldest exchange is left out. It stays in this chat.")
        else:
            text = translate(
                "Chat", "The {count} oldest exchanges are left out. They stay in this chat."
            ).format(count=count)
        action = ":".join(("take_back", need.conversation_id, *plan.exchange_ids))
        words = QT_TRANSLATE_NOOP("Actions", "Let the model see them again")
        self._view.show_notice(Notice("left_out", text, actions=((action, words),)))

    def _on_too_long(self, conversation_id: str, exchange_id: str, limit_tokens: int) -> None:
        self._too_long = _Need(conversation_id, exchange_id, limit_tokens, ask_again=True)
