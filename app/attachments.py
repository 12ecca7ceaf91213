"""Text files that were dragged in: read off the GUI thread, counted in tokens, sent with the
question of the chat to which they were added. Qt-free; they are kept in memory only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from app.attached_file import (
    AttachedFile,
    BadAttachment,
    FileNotReadable,
    FileTooLarge,
    fenced,
    question_with,
    read_attachment,
)
from app.chat_controller import ChatPorts
from app.chat_request import context_of
from app.chat_view import Attachment, ChatView, Notice
from app.conversation_list import clean_text
from app.language import translate
from app.settings_controller import Jobs
from engine.api import ChatMessage, Role

MAX_FILES = 10
MAX_QUESTION_CHARS = 1_000_000
"""Of all files together; more is refused before it slows anything down."""


class TokenCounter(Protocol):
    """An engine, or the thread that has one."""

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int | None:
        """Tokens of a conversation; None where no model is loaded."""
        ...


@dataclass(frozen=True, slots=True)
class _Held:
    """A file of a chat's next question; `tokens` is None until a model, `counted_by`, did so."""

    file: AttachedFile
    tokens: int | None
    counted_by: str = ""


class Attachments:
    """Holds the files of each chat until its question is sent."""

    def __init__(
        self, view: ChatView, ports: ChatPorts, jobs: Jobs, *, submit: Callable[[str], None]
    ) -> None:
        self._view = view
        self._chats = ports.chats
        self._models = ports.models
        self._engine = ports.engine
        self._jobs = jobs
        self._submit = submit
        self._held: dict[str, list[_Held]] = {}
        self._counting = False
        self._chats.shown_listeners.append(self._on_shown)

    def on_files_dropped(self, paths: Sequence[str]) -> None:
        """Add files to the next question of the shown chat; one that cannot be is told by name."""
        chat_id = self._chats.shown_id
        for path in paths:
            job = partial(_read, Path(path), self._engine)
            self._jobs.run(job, partial(self._on_read, chat_id))

    def on_removed(self, index: int) -> None:
        """Take a file out of the next question again."""
        held = self._held.get(self._chats.shown_id, [])
        if 0 <= index < len(held):
            del held[index]
            self._show()

    def on_submitted(self, text: str) -> None:
        """Send what was written together with the files."""
        held = self._held.pop(self._chats.shown_id, [])
        self._submit(question_with(text, [each.file for each in held]) if held else text)
        self._show()

    def tick(self) -> None:
        """Count what was added while no model was loaded, or another one with other tokens."""
        held = self._held.get(self._chats.shown_id, [])
        model = self._model
        waiting = [h.file for h in held if h.tokens is None or h.counted_by != model]
        if waiting and model and not self._counting:
            self._counting = True
            job = partial(_count_all, waiting, self._engine)
            self._jobs.run(job, partial(self._on_counted, self._chats.shown_id, model))

    def _on_read(self, chat_id: str, found: _Held | BadAttachment) -> None:
        held = self._held.setdefault(chat_id, [])
        if isinstance(found, BadAttachment):
            self._refuse(bad_attachment_text(found))
        elif len(held) >= MAX_FILES:
            text = translate("Attach", "A question takes {most} files; {name} was not added.")
            self._refuse(text.format(most=MAX_FILES, name=found.file.name))
        elif sum(len(h.file.text) for h in (*held, found)) > MAX_QUESTION_CHARS:
            text = translate("Attach", "{name} was not added: the files are too long together.")
            self._refuse(text.format(name=found.file.name))
        else:
            held.append(replace(found, counted_by=self._model))
            self._show()

    @property
    def _model(self) -> str:
        """The loaded model; "" while none is."""
        info = self._models.info
        return "" if info is None else info.model

    def _capacity_tokens(self) -> int:
        """What the loaded model can see; 0 while none is loaded."""
        info = self._models.info
        return 0 if info is None else info.capacity_tokens

    def _refuse(self, text: str) -> None:
        self._view.show_notice(Notice("attach", text, "warn"))

    def _on_counted(self, chat_id: str, model: str, counts: dict[AttachedFile, int | None]) -> None:
        self._counting = False
        held = self._held.get(chat_id, [])
        held[:] = [
            replace(h, tokens=counts[h.file], counted_by=model) if h.file in counts else h
            for h in held
        ]
        self._show()

    def _on_shown(self, conversation_id: str) -> None:
        self._show()

    def _show(self) -> None:
        capacity = self._capacity_tokens()
        held = self._held.get(self._chats.shown_id, [])
        needed = context_of(self._chats.shown) + sum(each.tokens or 0 for each in held)
        fits = not capacity or needed < capacity
        self._view.show_attachments(
            [Attachment(h.file.name, h.tokens, len(h.file.text), fits) for h in held]
        )


def bad_attachment_text(error: BadAttachment) -> str:
    """What the user is told of a file that was refused."""
    match error:
        case FileTooLarge():
            text = translate(
                "Attach", "{name} has {found} KB; a text file may have {limit}. It was not added."
            )
            found, limit = (n >> 10 for n in (error.found_bytes, error.limit_bytes))
            return text.format(name=error.name, found=f"{found:,}", limit=f"{limit:,}")
        case FileNotReadable():
            text = translate("Attach", "{name} could not be read ({reason}). It was not added.")
            return text.format(name=error.name, reason=error.reason)
        case _:
            text = translate(
                "Attach",
                "{name} is no text file that can be read (UTF-8 or UTF-16). It was not added.",
            )
            return text.format(name=error.name)


def _read(path: Path, engine: TokenCounter) -> _Held | BadAttachment:
    try:
        file = read_attachment(path)
    except BadAttachment as error:
        return error
    file = replace(file, text=clean_text(file.text))
    return _Held(file, count_tokens_of(file, engine))


def _count_all(
    files: Sequence[AttachedFile], engine: TokenCounter
) -> dict[AttachedFile, int | None]:
    return {file: count_tokens_of(file, engine) for file in files}


def count_tokens_of(file: AttachedFile, engine: TokenCounter) -> int | None:
    """Tokens that the file adds to a question, by the tokenizer of the loaded model."""
    whole = engine.count_tokens([ChatMessage(Role.USER, f"\n\n{fenced(file)}")])
    alone = engine.count_tokens([ChatMessage(Role.USER, "")])
    return None if whole is None or alone is None else whole - alone
