"""Tells where what is searched for stands in a version of the opened chat that is not shown."""

from __future__ import annotations

from functools import partial

from app.chat_view import ChatView, Notice
from app.conversation import Conversation
from app.conversation_list import ConversationList
from app.conversation_search import places_of, words_of
from app.language import QT_TRANSLATE_NOOP, translate

_KEY = "found_version"


class FoundVersions:
    """Looks at each chat that is opened while something is searched for."""

    def __init__(self, view: ChatView, chats: ConversationList) -> None:
        self._view = view
        self._chats = chats
        chats.shown_listeners.append(self._on_shown)

    def _on_shown(self, conversation_id: str) -> None:
        self._view.hide_notice(_KEY)
        search, chat = self._chats.search, self._chats.shown
        if words_of(search) and chat.exchanges:
            self._chats.store_of(conversation_id).read(
                lambda store: store.hidden_versions(conversation_id, search),
                partial(self._on_found, search),
            )

    def _on_found(self, search: str, hidden: list[tuple[str, int]]) -> None:
        if search != self._chats.search:
            return
        replies = _other_replies(self._chats.shown, words_of(search))
        shown = [each.exchange_id for each in self._chats.shown.exchanges]
        places = [("reply", *place) for place in replies] + [("question", *p) for p in hidden]
        # A quick hand may have opened another chat meanwhile.
        places = [place for place in places if place[1] in shown]
        if not places:
            return
        kind, exchange_id, index = min(places, key=lambda place: shown.index(place[1]))
        text = translate("Chat", "“{search}” is also in a version that is not shown: {version}.")
        version = (
            translate("Chat", "answer {number}")
            if kind == "reply"
            else translate("Chat", "question {number}")
        ).format(number=index + 1)
        words = QT_TRANSLATE_NOOP("Actions", "Show that version")
        action = (f"show_{kind}:{exchange_id}:{index}", words)
        text = text.format(search=search.strip(), version=version)
        self._view.show_notice(Notice(_KEY, text, actions=(action,)))


def _other_replies(chat: Conversation, words: tuple[str, ...]) -> list[tuple[str, int]]:
    """Exchanges and indexes of the replies that hold a word and are not the chosen ones."""
    return [
        (exchange.exchange_id, index)
        for exchange in chat.exchanges
        for index, reply in enumerate(exchange.replies)
        if index != exchange.chosen
        and (places_of(words, reply.answer) or places_of(words, reply.thinking))
    ]
