"""The chat's state machine: questions in, replies out, one at a time, nothing lost.

Qt-free. A question is stored before anything else happens to it, then waits its turn: for the model
to be loaded, for the reply before it. Events carry a request_id; those of a request that is no
longer the running one are dropped. What is shown follows the chat in the window; a reply goes on in
its own chat when the user looks at another.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from app.chat_request import context_of, request_for
from app.chat_view import ChatState, ChatView, Notice
from app.conversation import Conversation, Exchange, Reply, ReplyStatus
from app.conversation_list import ConversationList, clean_text
from app.engine_events import EnginePort
from app.error_text import error_text
from app.language import translate
from app.model_controller import ModelController
from app.reply_watch import ReplyWatch
from app.running_reply import RunningReply
from app.settings_controller import SettingsController
from app.status_board import StatusBoard, phase_text
from app.title import title_from_question
from engine.api import (
    Capability,
    Channel,
    Delta,
    EngineInfo,
    Failed,
    Finished,
    PrefillProgress,
)
from engine.errors import EngineError, PromptTooLong

LONG_REPLY_S = 10.0
"""A reply that took this long is announced; the window does so when it is in the background."""

STOP_PATIENCE_S = 0.15
"""How long a stopped reply waits for the engine's last word: its text, its seed, its counts."""


@dataclass(frozen=True, slots=True)
class ChatPorts:
    """What the controller works with besides the window."""

    engine: EnginePort
    chats: ConversationList
    models: ModelController
    settings: SettingsController
    status: StatusBoard
    clock: Callable[[], float] = time.monotonic
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex
    later: Callable[[float, Callable[[], None]], None] = lambda seconds, call: None
    """Calls back on the GUI thread after some seconds."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A reply whose turn has not come."""

    conversation_id: str
    exchange_id: str
    base: Reply


class ChatController:
    """Holds the running reply and those that wait.

    `too_long(conversation_id, exchange_id, limit_tokens)` is called when a prompt does not fit.
    """

    def __init__(self, view: ChatView, ports: ChatPorts) -> None:
        self._view = view
        self._ports = ports
        self._running: RunningReply | None = None
        self._state = ChatState.IDLE
        self._queue: deque[_Waiting] = deque()
        self._watch = ReplyWatch(view)
        self.too_long: Callable[[str, str, int], None] = lambda chat, exchange, limit: None
        ports.chats.shown_changed = self._on_shown_changed
        ports.chats.showing = self._bring_up_to_date
        ports.chats.removing = self.end_replies_of
        ports.chats.is_busy = self.is_busy
        ports.models.ready = self._on_model_ready
        ports.models.failed = self._on_model_failed
        ports.models.advanced = self._show_wait

    def is_busy(self, conversation_id: str) -> bool:
        """Whether a chat has a reply that is running or waits."""
        running = self._running is not None and self._running.conversation_id == conversation_id
        return running or any(each.conversation_id == conversation_id for each in self._queue)

    def state_of(self, conversation_id: str) -> ChatState:
        """Where one chat stands; a reply that waits counts as prefilling."""
        if self._running is not None and self._running.conversation_id == conversation_id:
            return self._state
        return ChatState.PREFILLING if self.is_busy(conversation_id) else ChatState.IDLE

    def on_submitted(self, text: str) -> None:
        """Store a question and answer it as soon as its turn comes.

        The window sends none while a reply of the shown chat runs or waits, unless it was stopped.
        """
        question = clean_text(text)
        if not question.strip():
            return
        chat = self._ports.chats.shown
        exchange = Exchange(
            self._ports.new_id(), question, (self.new_reply(),), created_at=chat.updated_at
        )
        title = chat.title or title_from_question(question)
        chat = replace(chat, title=title, draft="", exchanges=(*chat.exchanges, exchange))
        self.begin(self._ports.chats.touched(chat), exchange)

    def on_stop(self) -> None:
        """End the reply of the shown chat; what has arrived stays."""
        shown_id = self._ports.chats.shown_id
        running = self._running
        if running is not None and running.conversation_id == shown_id and not running.stopping:
            running.stopping = True
            running.control.cancel()
            self._set_state(ChatState.STOPPING)
            self._ports.later(STOP_PATIENCE_S, partial(self._end_stopped, running))
        self._drop_waiting(shown_id, ReplyStatus.STOPPED)

    def _end_stopped(self, running: RunningReply) -> None:
        """The engine is still busy with something long; the user need not wait for it."""
        if running is self._running:
            self._end(running, running.so_far(ReplyStatus.STOPPED))

    def on_answer_now(self) -> None:
        """End the thinking of the shown chat's reply."""
        running = self._running
        if running is not None and self._is_shown(running) and self._state is ChatState.THINKING:
            running.control.answer_now()

    def new_reply(self) -> Reply:
        """An empty reply in the mode of the settings."""
        thinking = self._ports.settings.settings.thinking_enabled
        return Reply(self._ports.new_id(), thinking_enabled=thinking)

    def begin(self, chat: Conversation, exchange: Exchange) -> None:
        """Store and show an exchange whose chosen reply is to be generated, and queue it."""
        reply = exchange.reply
        assert reply is not None
        self._ports.chats.put(chat)
        store = self._ports.chats.store_of(chat.conversation_id)
        store.write(lambda store: store.save_exchange(chat, exchange))
        self._view.show_exchange(exchange)
        self._ports.chats.refresh()
        self._queue.append(_Waiting(chat.conversation_id, exchange.exchange_id, reply))
        self._show_state()
        self._start_next()

    def on_engine_event(self, event: PrefillProgress | Delta | Finished | Failed) -> None:
        """Follow the running reply; events of any other request are dropped."""
        running = self._running
        if running is None or event.request_id != running.request_id:
            return
        match event:
            case PrefillProgress():
                self._on_prefill(running, event)
            case Delta():
                self._on_delta(running, event)
            case Finished():
                reply = running.finished(event.reason, event.stats)
                self._ports.status.change(
                    prefill_tokens_per_s=event.stats.prefill_tokens_per_s,
                    decode_tokens_per_s=event.stats.decode_tokens_per_s,
                    first_token_s=event.stats.first_token_s,
                )
                if self._is_shown(running):
                    self._ports.status.change(context_tokens=event.stats.context_tokens)
                self._end(running, reply)
            case Failed():
                self._on_failed(running, event.error)

    def show_again(self) -> None:
        """Show where the chat stands to a window that has forgotten it."""
        if self._state is not ChatState.IDLE:
            self._ports.status.change(phase=phase_text(self._state))
        self._show_state()

    def close(self) -> None:
        """Keep what has arrived of every reply; called after the engine thread has ended."""
        self._queue_over(list(self._queue), ReplyStatus.INTERRUPTED)
        self._queue.clear()
        if self._running is not None:
            self._end(self._running, self._running.so_far(ReplyStatus.INTERRUPTED))

    def _is_shown(self, running: RunningReply) -> bool:
        return running.conversation_id == self._ports.chats.shown_id

    def _start_next(self) -> None:
        if self._running is not None or not self._queue or not self._ports.models.ensure_ready():
            return
        waiting = self._queue.popleft()
        chat = self._ports.chats.get(waiting.conversation_id)
        assert chat is not None, "a chat stays open while a reply of it waits"
        request_id = self._ports.new_id()
        shown = chat.conversation_id == self._ports.chats.shown_id
        settings = self._ports.settings.settings_of(None if shown else chat.settings)
        self._view.hide_notice("reply")
        self._watch.on_begin()
        base = self._fitted(waiting.base)
        try:
            request = request_for(request_id, chat, waiting.exchange_id, base, settings)
        except EngineError as error:
            failed = replace(base, status=ReplyStatus.FAILED, error_text=error_text(error).text)
            self._save_reply(waiting.conversation_id, waiting.exchange_id, failed)
            self._show_state()
            return
        self._ports.models.begin_use()
        self._running = RunningReply(
            waiting.conversation_id,
            waiting.exchange_id,
            request_id,
            base,
            self._ports.engine.generate(request),
            self._ports.clock(),
            is_drawn=request.sampling.temperature > 0.0,
        )
        if base.thinking_enabled is not waiting.base.thinking_enabled:
            self._save_reply(waiting.conversation_id, waiting.exchange_id, base)
        self._set_state(ChatState.PREFILLING)

    def _fitted(self, base: Reply) -> Reply:
        """The reply as the loaded model will give it: named, and without a thinking it lacks."""
        info = self._ports.models.info
        can_think = info is None or Capability.THINKING in info.capabilities
        thinking = base.thinking_enabled and (can_think or bool(base.thinking))
        return replace(base, model=self._ports.status.status.model, thinking_enabled=thinking)

    def _on_prefill(self, running: RunningReply, progress: PrefillProgress) -> None:
        done, total = progress.done_tokens, progress.total_tokens
        running.prompt_tokens = total
        waited_s = self._ports.clock() - running.started_at
        if done == total and waited_s > 0:
            computed = total - progress.reused_tokens
            self._ports.status.change(prefill_tokens_per_s=round(computed / waited_s, 1))
        if self._is_shown(running):
            if running.context_tokens:
                self._ports.status.change(context_tokens=running.context_tokens)
            self._view.show_prefill(running.exchange_id, done, total)

    def _on_delta(self, running: RunningReply, delta: Delta) -> None:
        now = self._ports.clock()
        if running.first_at is None:
            self._ports.status.change(first_token_s=now - running.started_at)
        store = self._ports.chats.store_of(running.conversation_id)
        store.append_text(running.base.reply_id, running.add(delta, now))
        if running.stopping:
            # Nothing moves after Stop; what was on its way stands there once the reply has ended.
            return
        thinking = delta.channel is Channel.THINKING
        self._set_state(ChatState.THINKING if thinking else ChatState.ANSWERING)
        shown = self._is_shown(running)
        counts: dict[str, float] = {"decode_tokens_per_s": round(running.decode_tokens_per_s, 1)}
        if shown and running.context_tokens:
            counts["context_tokens"] = running.context_tokens
        self._ports.status.count(**counts)
        if shown:
            self._view.append_delta(
                running.exchange_id, delta.channel, delta.text, delta.token_count
            )
        self._watch.on_delta(running, delta, shown=shown)

    def _on_failed(self, running: RunningReply, error: EngineError) -> None:
        words = error_text(error)
        self._end(running, running.so_far(ReplyStatus.FAILED, words.text))
        if self._is_shown(running):
            self._view.show_notice(Notice("reply", words.text, "error", words.actions))
        if isinstance(error, PromptTooLong):
            self.too_long(running.conversation_id, running.exchange_id, error.limit)

    def _end(self, running: RunningReply, reply: Reply) -> None:
        self._running = None
        self._save_reply(running.conversation_id, running.exchange_id, reply)
        self._ports.models.end_use()
        self._set_state(ChatState.IDLE)
        self._watch.on_end(running, reply, shown=self._is_shown(running))
        if self._is_shown(running):
            capacity_tokens = self._ports.status.status.capacity_tokens
            self._watch.on_context(self._ports.chats.shown, capacity_tokens)
        took_s = self._ports.clock() - running.started_at
        if took_s >= LONG_REPLY_S and not running.stopping:
            chat = self._ports.chats.get(running.conversation_id)
            outcome = (
                translate("Chat", "The reply failed.")
                if reply.error_text
                else translate("Chat", "The answer is ready.")
            )
            # The desktop may keep what it shows; of a temporary chat it learns nothing.
            named = chat is not None and not chat.temporary
            self._view.notify(chat.title if chat is not None and named else "", outcome)
        self._ports.chats.refresh()
        self._start_next()

    def _save_reply(self, conversation_id: str, exchange_id: str, reply: Reply) -> None:
        exchange = self._put_reply(conversation_id, exchange_id, reply)
        if exchange is not None:
            chosen = exchange.chosen
            store = self._ports.chats.store_of(conversation_id)
            store.write(lambda store: store.save_reply(exchange_id, reply, chosen))
            if conversation_id == self._ports.chats.shown_id:
                self._view.show_exchange(exchange)

    def _put_reply(self, conversation_id: str, exchange_id: str, reply: Reply) -> Exchange | None:
        chat = self._ports.chats.get(conversation_id)
        exchange = None if chat is None else chat.exchange(exchange_id)
        if chat is None or exchange is None:
            return None
        exchange = exchange.with_reply(reply)
        self._ports.chats.put(chat.with_exchange(exchange))
        return exchange

    def _bring_up_to_date(self, conversation_id: str) -> None:
        """A chat is about to be shown: its running reply gets what has arrived meanwhile."""
        running = self._running
        if running is not None and running.conversation_id == conversation_id:
            self._put_reply(conversation_id, running.exchange_id, running.so_far())

    def _drop_waiting(self, conversation_id: str, status: ReplyStatus) -> None:
        dropped = [each for each in self._queue if each.conversation_id == conversation_id]
        for each in dropped:
            self._queue.remove(each)
        self._queue_over(dropped, status)
        self._show_state()

    def _queue_over(
        self, dropped: list[_Waiting], status: ReplyStatus, error_text: str = ""
    ) -> None:
        for each in dropped:
            reply = replace(each.base, status=status, error_text=error_text)
            self._save_reply(each.conversation_id, each.exchange_id, reply)

    def end_replies_of(self, conversation_id: str) -> None:
        """End the replies of a chat at once, keeping their words; it is about to be changed."""
        self._drop_waiting(conversation_id, ReplyStatus.STOPPED)
        running = self._running
        if running is not None and running.conversation_id == conversation_id:
            running.stopping = True
            running.control.cancel()
            self._end(running, running.so_far(ReplyStatus.STOPPED))

    def _on_model_ready(self, info: EngineInfo) -> None:
        self._watch.on_model()
        self._start_next()

    def _on_model_failed(self, text: str) -> None:
        dropped = list(self._queue)
        self._queue.clear()
        self._queue_over(dropped, ReplyStatus.FAILED, text)
        self._show_state()

    def _set_state(self, state: ChatState) -> None:
        if state is not self._state:
            self._state = state
            self._ports.status.change(phase=phase_text(state))
            self._show_state()

    def _on_shown_changed(self, conversation_id: str) -> None:
        self._ports.status.change(context_tokens=context_of(self._ports.chats.shown))
        running = self._running
        self._watch.on_shown(running if running is not None and self._is_shown(running) else None)
        self._show_state()

    def _show_state(self) -> None:
        self._view.show_chat_state(self.state_of(self._ports.chats.shown_id))
        self._show_wait()

    def _show_wait(self) -> None:
        """Tell what the shown chat's reply waits for before its prompt is read."""
        shown_id = self._ports.chats.shown_id
        waiting = next((each for each in self._queue if each.conversation_id == shown_id), None)
        if waiting is None:
            if self._running is not None and self._is_shown(self._running):
                self._view.show_wait(self._running.exchange_id, "", None)
            return
        text, share = "", None
        if self._running is not None:
            if not self._is_shown(self._running):
                text = translate("Chat", "Waiting for the answer in another chat")
        elif self._ports.models.loading is not None:
            label, share = self._ports.models.loading
            # How far it is stands in the header already.
            text = translate("Chat", "Waiting for {model}").format(model=label)
        self._view.show_wait(waiting.exchange_id, text, share)
