"""Chats as JSON: all of them that there is, out and in again; what comes in is trusted in nothing.

    {"format": "thinkpane-chats", "version": 1, "exported_at": 1767225600.0, "chats": [
      {"id": ..., "title": ..., "draft": ..., "created_at": ..., "updated_at": ..., "pinned": ...,
       "settings": ..., "exchanges": [
         {"id": ..., "question": ..., "chosen": 0, "left_out": false, "created_at": ...,
          "branch": "", "replies": [{"reply_id": ..., "thinking": ..., "answer": ..., ...}]}]}]}

The names are the fields of `app.conversation_archive` and of `Reply`; one that is missing has its
default, one that is not known is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from app.conversation import NO_SEED, Reply, ReplyStatus
from app.conversation_archive import ArchivedChat, ArchivedExchange
from app.conversation_rows import LATEST_TIME

FORMAT = "thinkpane-chats"
VERSION = 1
MAX_IMPORT_BYTES = 256 << 20
"""Some two hundred thousand pages of text; a larger file is no export of ours."""

_MAX_WHOLE = 2**63 - 1


class BadImport(Exception):
    """A file that cannot be imported; nothing of it is."""


class ImportTooLarge(BadImport):
    """The file has more bytes than an import may have (`found_bytes`, `limit_bytes`)."""

    def __init__(self, found_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"expected at most {limit_bytes} bytes, found {found_bytes}")
        self.found_bytes = found_bytes
        self.limit_bytes = limit_bytes


class NotJson(BadImport):
    """The file is no JSON (`reason`)."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"expected JSON, found something else: {reason}")
        self.reason = reason


class NotAnExport(BadImport):
    """The file is JSON, but no export of this app."""

    def __init__(self) -> None:
        super().__init__(f'expected an object with "format": "{FORMAT}"')


class UnknownVersion(BadImport):
    """The export has a version that this app does not know (`found`, `supported`)."""

    def __init__(self, found: object, supported: int) -> None:
        super().__init__(f"expected version {supported}, found {found!r:.40}")
        self.found = found
        self.supported = supported


class BadValue(BadImport):
    """A value of the export is not as it must be (`place`, `expected`, `found`)."""

    def __init__(self, place: str, expected: str, found: object) -> None:
        super().__init__(f"{place}: expected {expected}, found {found!r:.60}")
        self.place = place
        self.expected = expected
        self.found = found


def to_json(chats: Sequence[ArchivedChat], exported_at: float) -> str:
    """The chats with every version, branch, setting and number of them."""
    found = {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": exported_at,
        "chats": [_plain_chat(chat) for chat in chats],
    }
    return json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _plain_chat(chat: ArchivedChat) -> dict[str, Any]:
    plain = {f.name: getattr(chat, f.name) for f in fields(chat)}
    plain["id"] = plain.pop("conversation_id")
    plain["exchanges"] = [_plain_exchange(exchange) for exchange in chat.exchanges]
    return plain


def _plain_exchange(exchange: ArchivedExchange) -> dict[str, Any]:
    plain = {f.name: getattr(exchange, f.name) for f in fields(exchange)}
    plain["id"] = plain.pop("exchange_id")
    replies = [
        {f.name: getattr(reply, f.name) for f in fields(reply)} for reply in exchange.replies
    ]
    plain["replies"] = [reply | {"status": reply["status"].value} for reply in replies]
    return plain


def from_json(data: bytes) -> list[ArchivedChat]:
    """The chats of an export, under the ids that they had there.

    Raises:
        BadImport: one of its children, if anything is not as `to_json` writes it.
    """
    if len(data) > MAX_IMPORT_BYTES:
        raise ImportTooLarge(len(data), MAX_IMPORT_BYTES)
    try:
        found = json.loads(data.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise NotJson(f"byte {error.start} is no UTF-8") from error
    except RecursionError as error:
        raise NotJson("it is nested too deeply") from error
    except ValueError as error:
        raise NotJson(str(error)) from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NotAnExport
    version = found.get("version")
    if version != VERSION or isinstance(version, bool):
        raise UnknownVersion(version, VERSION)
    return [
        _chat(_Node(f"chats[{number}]", each))
        for number, each in enumerate(_Node("", found).list("chats"))
    ]


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


@dataclass(frozen=True, slots=True)
class _Node:
    """An object of the file and where it stands; gives its values out once they are checked."""

    place: str
    value: object

    def _get(self, name: str) -> tuple[str, object]:
        if not isinstance(self.value, dict):
            raise BadValue(self.place, "an object", self.value)
        return f"{self.place}.{name}".lstrip("."), self.value.get(name)

    def list(self, name: str) -> Sequence[object]:
        place, value = self._get(name)
        if not isinstance(value, list):
            raise BadValue(place, "a list", value)
        return value

    def name(self, name: str) -> str:
        """An id: a text that is not empty."""
        place, value = self._get(name)
        if not isinstance(value, str) or not value or len(value) > 200:
            raise BadValue(place, "an id", value)
        return value

    def value_like(self, name: str, default: object) -> Any:  # noqa: ANN401 - the default's type
        """The value if it has the default's type and a range that the database takes."""
        place, value = self._get(name)
        if value is None:
            return default
        match default:
            case bool():
                sound, expected = isinstance(value, bool), "true or false"
            case int():
                whole = isinstance(value, int) and not isinstance(value, bool)
                low = NO_SEED if name == "seed" else 0
                sound = whole and low <= value <= _MAX_WHOLE  # type: ignore[operator]
                expected = "a whole number"
            case float():
                number = isinstance(value, int | float) and not isinstance(value, bool)
                # A whole number may be larger than any float.
                sound = number and 0 <= value <= LATEST_TIME  # type: ignore[operator]
                expected = "a number that is not negative"
            case _:
                sound, expected = isinstance(value, str), "a text"
        if not sound:
            raise BadValue(place, expected, value)
        if isinstance(value, str):
            # A lone half of a surrogate pair, as "\ud800", is taken by neither SQLite nor a model.
            return value.encode("utf-8", "replace").decode("utf-8")
        return float(value) if isinstance(default, float) else value  # type: ignore[arg-type]


def _chat(node: _Node) -> ArchivedChat:
    exchanges = []
    ids: set[str] = set()
    for number, each in enumerate(node.list("exchanges")):
        exchange = _exchange(_Node(f"{node.place}.exchanges[{number}]", each))
        if exchange.exchange_id in ids:
            place = f"{node.place}.exchanges[{number}].id"
            raise BadValue(place, "an id of its own", exchange.exchange_id)
        ids.add(exchange.exchange_id)
        exchanges.append(exchange)
    blank = ArchivedChat("")
    values = {
        f.name: node.value_like(f.name, getattr(blank, f.name))
        for f in fields(ArchivedChat)
        if f.name not in ("conversation_id", "exchanges")
    }
    return ArchivedChat(node.name("id"), exchanges=tuple(exchanges), **values)


def _exchange(node: _Node) -> ArchivedExchange:
    replies = tuple(
        _reply(_Node(f"{node.place}.replies[{number}]", each))
        for number, each in enumerate(node.list("replies"))
    )
    blank = ArchivedExchange("", "")
    values = {
        f.name: node.value_like(f.name, getattr(blank, f.name))
        for f in fields(ArchivedExchange)
        if f.name not in ("exchange_id", "replies")
    }
    if not values["chosen"] < max(1, len(replies)):
        raise BadValue(f"{node.place}.chosen", "the number of a reply", values["chosen"])
    return ArchivedExchange(node.name("id"), replies=replies, **values)


def _reply(node: _Node) -> Reply:
    blank = Reply("")
    values = {
        f.name: node.value_like(f.name, getattr(blank, f.name))
        for f in fields(Reply)
        if f.name not in ("reply_id", "status")
    }
    status = node.value_like("status", "")
    try:
        values["status"] = ReplyStatus(status)
    except ValueError as error:
        raise BadValue(f"{node.place}.status", "a status of a reply", status) from error
    return Reply(node.name("reply_id"), **values)
