"""Chats out to a file and in from one; the disk is met off the GUI thread.

An export is written beside its target and put in its place once it is whole. An import adds chats
under new ids: it never changes or replaces one that is there, and a file with any fault is refused
before its first chat is taken.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from app.chat_view import ChatView, ExportFormat, Notice
from app.conversation_archive import ArchivedChat, with_new_ids
from app.conversation_json import (
    MAX_IMPORT_BYTES,
    BadImport,
    BadValue,
    ImportTooLarge,
    NotAnExport,
    NotJson,
    UnknownVersion,
    from_json,
    to_json,
)
from app.conversation_list import ConversationList
from app.conversation_markdown import to_markdown
from app.fault_text import os_reason
from app.language import translate
from app.settings_controller import Jobs

NOTICE_S = 8.0
CHATS_AT_ONCE = 20


def import_error_text(error: BadImport | OSError, name: str) -> str:
    """What the user is told of a file that could not be imported."""
    match error:
        case ImportTooLarge():
            text = translate(
                "Export", "{name} has {found} MB; an import may have {limit}. Nothing was imported."
            )
            found, limit = (n >> 20 for n in (error.found_bytes, error.limit_bytes))
            return text.format(name=name, found=f"{found:,}", limit=f"{limit:,}")
        case NotJson() | NotAnExport():
            return translate(
                "Export",
                "{name} is no export of Thinkpane. Choose a JSON file that Thinkpane wrote; "
                "nothing was imported.",
            ).format(name=name)
        case UnknownVersion():
            return translate(
                "Export",
                "{name} was written by another version of Thinkpane. Install the newer one to "
                "import it; nothing was imported.",
            ).format(name=name)
        case BadValue():
            return translate(
                "Export", "{name} is damaged at {place}. Nothing was imported."
            ).format(name=name, place=error.place)
        case _:
            reason = os_reason(error if isinstance(error, OSError) else None)
            return translate(
                "Export", "{name} could not be read ({reason}). Nothing was imported."
            ).format(name=name, reason=reason)


class ChatFiles:
    """Exports one chat or all, and imports."""

    def __init__(
        self,
        view: ChatView,
        chats: ConversationList,
        jobs: Jobs,
        *,
        wall_clock: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
    ) -> None:
        self._view = view
        self._chats = chats
        self._jobs = jobs
        self._wall_clock = wall_clock
        self._new_id = new_id

    def on_export(self, conversation_id: str, kind: ExportFormat, path: str) -> None:
        """Write a chat, or all of them where the id is "", into the file."""
        write = partial(self._write, kind, Path(path))
        if conversation_id:
            self._chats.read_archive(
                conversation_id, lambda chat: write([] if chat is None else [chat])
            )
        else:
            self._chats.read_archives(write)

    def _write(self, kind: ExportFormat, path: Path, chats: Sequence[ArchivedChat]) -> None:
        job = partial(_export, chats, kind, path, self._wall_clock())
        self._jobs.run(job, partial(self._on_written, path, len(chats)))

    def _on_written(self, path: Path, count: int, problem: str) -> None:
        if problem:
            text = translate("Export", "{path} could not be written ({reason}).")
            notice = Notice("export", text.format(path=path, reason=problem), "error")
        else:
            text = translate("Export", "The chat was exported to {path}.")
            if count != 1:
                text = translate("Export", "{count} chats were exported to {path}.")
            text = text.format(path=path, count=f"{count:,}")
            notice = Notice("export", text, timeout_s=NOTICE_S)
        self._view.show_notice(notice)

    def on_import(self, path: str) -> None:
        """Add the chats of a file; the first of them is shown."""
        found = Path(path)
        self._jobs.run(partial(_import, found), partial(self._on_read, found.name))

    def _on_read(self, name: str, found: list[ArchivedChat] | BadImport | OSError) -> None:
        if not isinstance(found, list):
            self._view.show_notice(Notice("import", import_error_text(found, name), "error"))
            return
        chats = [with_new_ids(chat, self._new_id) for chat in found]
        self._add(name, len(chats), chats)

    def _add(self, name: str, count: int, left: Sequence[ArchivedChat]) -> None:
        """Some at a time and the last ones first, so that a question asked meanwhile is stored
        between them; the first is shown at the end.
        """
        some, left = left[-CHATS_AT_ONCE:], left[:-CHATS_AT_ONCE]
        if left:
            self._chats.add(some, partial(self._add, name, count, left))
            return
        self._chats.add(some)
        text = translate("Export", "One chat was imported from {name}.")
        if count != 1:
            text = translate("Export", "{count} chats were imported from {name}.")
        text = text.format(count=f"{count:,}", name=name)
        self._view.show_notice(Notice("import", text, timeout_s=NOTICE_S))


def _export(chats: Sequence[ArchivedChat], kind: ExportFormat, path: Path, now: float) -> str:
    """Write the file; returns why that was not possible, or ""."""
    if kind is ExportFormat.JSON:
        text = to_json(chats, now)
    else:
        text = to_markdown(chats, with_thinking=kind is ExportFormat.MARKDOWN_WITH_THINKING)
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
    try:
        # For the user alone, as the chats themselves.
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        return os_reason(error)
    return ""


def _import(path: Path) -> list[ArchivedChat] | BadImport | OSError:
    """Read the file, or say what is wrong with it."""
    try:
        with path.open("rb") as file:
            # One byte more tells a file that is too large, without reading all of it.
            data = file.read(MAX_IMPORT_BYTES + 1)
            size = os.fstat(file.fileno()).st_size
        if len(data) > MAX_IMPORT_BYTES:
            return ImportTooLarge(max(size, len(data)), MAX_IMPORT_BYTES)
        return from_json(data)
    except (BadImport, OSError) as error:
        return error
