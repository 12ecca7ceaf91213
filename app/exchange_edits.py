"""What the user can do to an exchange that is there: ask again, continue, edit, choose.

Qt-free; `ChatController` generates the replies. Nothing is erased: a new or changed reply stands
beside the old one, and an edited question keeps what it replaced.
"""

from __future__ import annotations

from dataclasses import replace

from app.chat_controller import ChatController, ChatPorts
from app.chat_view import ChatView, Notice, ReplyEdit, retold
from app.conversation import EDITED, Exchange, Reply, ReplyStatus, can_continue, has_room
from app.conversation_list import StorePort, clean_text
from app.language import QT_TRANSLATE_NOOP, translate
from app.settings import with_value
from app.title import title_from_question
from engine.api import Capability, Channel

PRESENCE_PENALTY = "presence_penalty"
_FIRST_PRESENCE, _MORE_PRESENCE, _MOST_PRESENCE = 1.0, 0.5, 2.0
"""What is tried against a loop: 1.0 at first, then half a point more at a time."""


class ExchangeEdits:
    """Changes exchanges of the shown chat; all of it waits until no reply of that chat runs."""

    def __init__(self, view: ChatView, ports: ChatPorts, controller: ChatController) -> None:
        self._view = view
        self._ports = ports
        self._controller = controller

    @property
    def _store(self) -> StorePort:
        """Where the shown chat is kept."""
        return self._ports.chats.store_of(self._ports.chats.shown_id)

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
        if not has_room(reply, 0 if info is None else info.capacity_tokens):
            refusal = translate(
                "Chat",
                "The context is full, so this reply cannot go on. Set a longer context if the "
                "model allows it.",
            )
        elif info is not None and Capability.CONTINUE_REPLY not in info.capabilities:
            refusal = translate(
                "Chat", "This model cannot continue a reply. Ask for a new one instead."
            )
        if refusal:
            self._view.show_notice(Notice("continue", refusal, "warn"))
        elif can_continue(reply):
            running = replace(reply, status=ReplyStatus.RUNNING, finish_reason="", error_text="")
            self._ask_again(exchange, running)

    def on_raise_presence(self, conversation_id: str, exchange_id: str) -> None:
        """Ask again with a higher presence penalty, in place of a reply that went in circles."""
        exchange = self._ports.chats.shown.exchange(exchange_id)
        if conversation_id != self._ports.chats.shown_id or exchange is None:
            return
        settings = self._ports.settings.settings
        penalty = max(_FIRST_PRESENCE, settings.presence_penalty + _MORE_PRESENCE)
        self._ports.settings.on_settings_changed(
            with_value(settings, PRESENCE_PENALTY, min(_MOST_PRESENCE, penalty))
        )
        self._view.reveal_setting(PRESENCE_PENALTY, focus=False)
        self._controller.end_replies_of(conversation_id)
        self._view.hide_notice("loop")
        self.on_regenerate(exchange_id)

    def on_reply_edited(self, edit: ReplyEdit) -> None:
        """Keep a changed answer or thinking as a new version, and go on from there if asked to."""
        exchange = self._ports.chats.shown.exchange(edit.exchange_id)
        old = None if exchange is None else exchange.reply
        if exchange is None or old is None or self.refuse_while_busy():
            return
        text = clean_text(edit.text)
        edited = replace(
            old,
            reply_id=self._ports.new_id(),
            status=ReplyStatus.STOPPED,
            finish_reason=EDITED,
            error_text="",
            thinking_closed=edit.thinking_closed,
            answer_s=0.0,
            answer_tokens=0,
        )
        if edit.channel is Channel.ANSWER:
            edited = replace(edited, answer=text)
        else:
            # What was answered does not follow from the changed thinking.
            thinks = bool(text) or not edit.thinking_closed
            edited = replace(edited, thinking=text, answer="", thinking_enabled=thinks)
        if edit.goes_on:
            self._ask_again(exchange, replace(edited, status=ReplyStatus.RUNNING, finish_reason=""))
        elif (edited.thinking, edited.answer) != (old.thinking, old.answer):
            kept = exchange.with_reply(edited)
            chat = self._ports.chats.touched(self._ports.chats.shown.with_exchange(kept))
            self._store.write(lambda store: store.save_exchange(chat, kept))
            self.put(kept)
            self._ports.chats.refresh()

    def on_edit(self, exchange_id: str, question: str) -> None:
        """Ask a changed question in place of an old one, which is kept with what came after it."""
        question = clean_text(question)
        chat = self._ports.chats.shown
        old = chat.exchange(exchange_id)
        if not question.strip() or old is None or self.refuse_while_busy():
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
        self._store.write(lambda store: store.edit_exchange(chat, exchange, branch))
        self._view.remove_exchanges_after(exchange_id)
        action = f"undo_edit:{chat.conversation_id}:{exchange_id}:{branch}"
        self._view.show_notice(_kept(action))
        self._controller.begin(chat, exchange)

    def on_undo_edit(self, conversation_id: str, exchange_id: str, branch: str) -> None:
        """Bring back the exchanges that an edit replaced."""
        if conversation_id != self._ports.chats.shown_id or self.refuse_while_busy():
            return
        self._view.hide_notice("edited")
        hidden_as = self._ports.new_id()
        self._store.write(
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
        self._store.write(lambda store: store.set_chosen(exchange_id, index))
        self.put(replace(exchange, chosen=index))

    def _ask_again(self, exchange: Exchange, reply: Reply) -> None:
        if self.refuse_while_busy():
            return
        exchange = exchange.with_reply(reply)
        chat = self._ports.chats.touched(self._ports.chats.shown.with_exchange(exchange))
        self._controller.begin(chat, exchange)

    def put(self, exchange: Exchange) -> None:
        """Take over and show a changed exchange of the shown chat; it is not stored here."""
        self._ports.chats.put(self._ports.chats.shown.with_exchange(exchange))
        self._view.show_exchange(exchange)

    def refuse_while_busy(self) -> bool:
        """Whether the shown chat has a reply on its way, which must end before it is changed."""
        if not self._controller.is_busy(self._ports.chats.shown_id):
            return False
        text = translate("Chat", "Stop the reply first, then try again.")
        self._view.show_notice(Notice("busy", text, timeout_s=5.0))
        return True


@retold
def _kept(undo_action: str) -> Notice:
    text = translate("Chat", "The earlier question and what followed it are kept.")
    actions = ((undo_action, QT_TRANSLATE_NOOP("Actions", "Bring them back")),)
    return Notice("edited", text, actions=actions)
