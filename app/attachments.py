"""Text files that were dragged in, and long texts that were pasted: counted in tokens off the GUI
thread, sent with the question of the chat to which they were added. Qt-free; kept as drafts are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from app.attached_file import (
    AttachedFile,
    BadAttachment,
    FileNotReadable,
    FileTooLarge,
    fenced,
    pasted_file,
    question_with,
    read_attachment,
)
from app.chat_controller import ChatPorts
from app.chat_request import context_of
from app.chat_view import Attached, Attachment, ChatView, Notice
from app.conversation_list import clean_text
from app.error_text import CHOOSE_MODEL
from app.fault_text import os_reason
from app.language import QT_TRANSLATE_NOOP, translate
from app.settings_controller import Jobs
from app.token_counting import PIECE_CHARS, CountStep, PieceCounter

SET_CONTEXT = QT_TRANSLATE_NOOP("Actions", "Set a longer context")

MAX_FILES = 10
MAX_QUESTION_CHARS = 16_000_000
"""Of all files together; more is refused before it slows anything down."""

MAX_INLINE_CHARS = 100_000
"""A text that long can still be typed in: a key takes some 50 ms where it is one paragraph."""

_NOTICE_S = 10.0


@dataclass(frozen=True, slots=True)
class _Held:
    """A file of a chat's next question; its tokens are those of the model `counted_by`."""

    key: int
    file: AttachedFile
    size_bytes: int
    tokens: int | None = None
    counted_by: str = ""
    counted: float | None = None


class Attachments:
    """Holds the files of each chat until its question is sent."""

    def __init__(
        self, view: ChatView, ports: ChatPorts, jobs: Jobs, *, submit: Callable[[str], None]
    ) -> None:
        self._view = view
        self._chats = ports.chats
        self._models = ports.models
        self._settings = ports.settings
        self._jobs = jobs
        self._submit = submit
        self._held: dict[str, list[_Held]] = {}
        self._loaded: set[str] = set()
        self._taken_out: tuple[str, int, _Held] | None = None
        self._counter = PieceCounter(ports.engine, jobs)
        self._keys = itertools.count()
        self._chats.shown_listeners.append(self._on_shown)

    def on_files_dropped(self, paths: Sequence[str]) -> None:
        """Add files to the next question of the shown chat; one that cannot be is told by name."""
        chat_id = self._chats.shown_id
        for path in paths:
            self._jobs.run(partial(_read, Path(path)), partial(self._on_read, chat_id))

    def on_pasted(self, text: str) -> None:
        """Add a text that is too long for the composer."""
        name = self._name_of_paste()
        # At once, on this thread: the question may be sent with the next key.
        self._add(self._chats.shown_id, pasted_file(clean_text(text), name))

    def on_paste_undone(self) -> None:
        """Take the text that was pasted last out of the shown chat's question."""
        held = self._of_shown()
        pasted = [index for index, each in enumerate(held) if each.file.pasted]
        if pasted:
            self.on_removed(pasted[-1])

    def on_removed(self, index: int) -> None:
        """Take a file out of the next question again; a pasted text, which may be nowhere else,
        can be put back.
        """
        held = self._of_shown()
        if not 0 <= index < len(held):
            return
        taken = held.pop(index)
        self._changed(self._chats.shown_id)
        if not taken.file.pasted:
            return
        self._taken_out = (self._chats.shown_id, index, taken)
        text = translate("Attach", "“{name}” is taken out of the question.")
        action = (f"put_back:{taken.key}", QT_TRANSLATE_NOOP("Actions", "Put it back"))
        text = text.format(name=taken.file.name)
        self._view.show_notice(Notice("attach", text, actions=(action,), timeout_s=_NOTICE_S))

    def on_put_back(self, key: str) -> None:
        """Take the text in again that was taken out last, in its place of its own chat."""
        if self._taken_out is None or key != str(self._taken_out[2].key):
            return
        chat_id, index, taken = self._taken_out
        self._taken_out = None
        self._held.setdefault(chat_id, []).insert(index, replace(taken, counted=None))
        self._changed(chat_id)
        self._count()

    def on_inlined(self, index: int) -> None:
        """Write the text of a file into the question itself."""
        held = self._of_shown()
        if 0 <= index < len(held) and _can_inline(held[index]):
            text = held.pop(index).file.text
            self._changed(self._chats.shown_id)
            self._view.insert_into_question(text)

    def on_submitted(self, text: str) -> None:
        """Send what was written together with the files."""
        chat_id = self._chats.shown_id
        held = self._held.pop(chat_id, [])
        self._view.hide_notice("attach")
        self._submit(question_with(text, [each.file for each in held]) if held else text)
        if held:
            # Not before the question is stored.
            self._changed(chat_id)

    def on_held_back(self) -> None:
        """Say why the question cannot be sent now; everything stays where it is."""
        if self._is_too_long():
            text = translate("Attach", "Not sent: it is longer than the model can see at once.")
            setting = ("show_setting:context_tokens", SET_CONTEXT)
            action = setting if self._can_see_more() else CHOOSE_MODEL
            self._view.show_notice(Notice("attach", text, "warn", (action,)))
            return
        text = translate(
            "Attach", "The tokens of the text are being counted. The question can be sent then."
        )
        self._view.show_notice(Notice("attach", text, timeout_s=_NOTICE_S))
        # A model that was never loaded, or has given its memory back, counts nothing.
        self._models.ensure_ready()

    def tick(self) -> None:
        """Count what was added while no model was loaded, or another one with other tokens; what
        is loaded now may also see more, or less.
        """
        if self._of_shown():
            self._show()
            self._count()

    def _of_shown(self) -> list[_Held]:
        return self._held.setdefault(self._chats.shown_id, [])

    def _name_of_paste(self) -> str:
        first = translate("Attach", "Pasted text")
        taken = {each.file.name for each in self._of_shown()}
        names = itertools.chain([first], (f"{first} {number}" for number in itertools.count(2)))
        return next(name for name in names if name not in taken)

    def _on_read(self, chat_id: str, found: AttachedFile | BadAttachment) -> None:
        if isinstance(found, BadAttachment):
            self._refuse(bad_attachment_text(found))
        else:
            self._add(chat_id, found)

    def _add(self, chat_id: str, file: AttachedFile) -> None:
        held = self._held.setdefault(chat_id, [])
        if len(held) >= MAX_FILES:
            text = translate("Attach", "A question takes {most} files; {name} was not added.")
            self._refuse(text.format(most=MAX_FILES, name=file.name))
        elif sum(len(h.file.text) for h in held) + len(file.text) > MAX_QUESTION_CHARS:
            text = translate("Attach", "{name} was not added: the files are too long together.")
            self._refuse(text.format(name=file.name))
        else:
            held.append(self._held_of(file))
            self._changed(chat_id)
            self._count()

    def _held_of(self, file: AttachedFile) -> _Held:
        return _Held(next(self._keys), file, len(file.text.encode()))

    def _changed(self, chat_id: str) -> None:
        """Show what goes along now, and keep it."""
        self._show()
        chat = self._chats.get(chat_id)
        if chat is not None and chat_id in self._loaded:
            files = [each.file for each in self._held.get(chat_id, [])]
            self._chats.store_of(chat_id).write(lambda store: store.save_attachments(chat, files))

    @property
    def _model(self) -> str:
        """The loaded model; "" while none is."""
        info = self._models.info
        return "" if info is None else info.model

    def _capacity_tokens(self) -> int:
        """What the loaded model can see; 0 while none is loaded."""
        info = self._models.info
        return 0 if info is None else info.capacity_tokens

    def _can_see_more(self) -> bool:
        """Whether a longer context can be set: what the model has is all that was asked for."""
        return self._capacity_tokens() >= self._settings.settings.context_tokens

    def _refuse(self, text: str) -> None:
        self._view.show_notice(Notice("attach", text, "warn"))

    def _count(self) -> None:
        """Count the first of the shown chat's files that this model has not counted."""
        model = self._model
        if not model or self._counter.is_busy:
            return
        waiting = [held for held in self._of_shown() if held.counted_by != model]
        if waiting:
            first = waiting[0]
            on_step = partial(self._on_step, self._chats.shown_id, first.key, model)
            self._counter.start(partial(_as_sent, first.file), on_step)

    def _on_step(self, chat_id: str, key: int, model: str, step: CountStep) -> bool:
        """Keep what is counted; whether to go on."""
        held = self._held.get(chat_id, [])
        index = next((n for n, each in enumerate(held) if each.key == key), None)
        if index is None or model != self._model:
            self._count()
            return False
        if step.tokens is not None and step.share < 1.0:
            held[index] = replace(held[index], counted=step.share)
            self._show()
            return True
        held[index] = replace(held[index], tokens=step.tokens, counted_by=model, counted=None)
        self._show()
        self._count()
        return False

    def _on_shown(self, conversation_id: str) -> None:
        self._show()
        self._count()
        if conversation_id not in self._loaded:
            self._chats.store_of(conversation_id).read(
                lambda store: store.attachments(conversation_id),
                partial(self._on_loaded, conversation_id),
            )

    def _on_loaded(self, chat_id: str, files: Sequence[AttachedFile]) -> None:
        """What was kept of the last session stands before what a quick hand has added since."""
        if chat_id in self._loaded:
            return
        self._loaded.add(chat_id)
        added = self._held.get(chat_id, [])
        if files:
            self._held[chat_id] = [*map(self._held_of, files), *added]
        if files or added:
            self._changed(chat_id)
            self._count()

    def _show(self) -> None:
        needed, capacity = self._needed_tokens(), self._capacity_tokens()
        fits = not capacity or needed < capacity
        files = tuple(self._shown(held, fits) for held in self._of_shown())
        self._view.show_attachments(Attached(files, *self._note()))

    def _shown(self, held: _Held, fits: bool) -> Attachment:
        tokens = held.tokens if held.counted_by == self._model or not self._model else None
        counted = held.counted
        if counted is None and self._model and held.counted_by != self._model:
            counted = 0.0
        return Attachment(held.file.name, tokens, held.size_bytes, fits, counted, _can_inline(held))

    def _needed_tokens(self) -> int:
        """Tokens of the chat so far and of all files that are counted."""
        return context_of(self._chats.shown) + self._file_tokens()

    def _file_tokens(self) -> int:
        return sum(each.tokens or 0 for each in self._of_shown())

    def _note(self) -> tuple[str, bool]:
        """What does not fit, with counts, and whether the question can be sent all the same."""
        capacity, needed = self._capacity_tokens(), self._needed_tokens()
        counts = {"needed": f"{needed:,}", "limit": f"{capacity:,}"}
        if self._is_too_long():
            text = translate(
                "Attach",
                "This is {needed} tokens, and the model can see {limit} at once. Take something "
                "out, or set a longer context.",
            )
            if not self._can_see_more():
                text = translate(
                    "Attach",
                    "This is {needed} tokens, and this model can see {limit} at once, not more. "
                    "Take something out, or choose another model.",
                )
            counts["needed"] = f"{self._file_tokens():,}"
            return text.format(**counts), False
        long = any(len(h.file.text) > PIECE_CHARS for h in self._of_shown() if self._waits(h))
        if self._of_shown() and 0 < capacity <= needed:
            text = translate(
                "Attach",
                "With the chat so far this is {needed} tokens, and the model can see {limit} at "
                "once. You can leave out the oldest exchanges once it is sent.",
            )
            return text.format(**counts), not long
        return "", not long

    def _is_too_long(self) -> bool:
        """Whether the files alone are more than the model can see."""
        return 0 < self._capacity_tokens() <= self._file_tokens()

    def _waits(self, held: _Held) -> bool:
        """Whether its tokens are still to be counted, by the loaded model where one is."""
        return held.counted_by != self._model if self._model else not held.counted_by


def bad_attachment_text(error: BadAttachment) -> str:
    """What the user is told of a file that was refused."""
    match error:
        case FileTooLarge():
            text = translate(
                "Attach", "{name} has {found} KB; a text file may have {limit}. It was not added."
            )
            found, limit = (n >> 10 for n in (error.found_bytes, error.limit_bytes))
            return text.format(name=error.name, found=f"{found:,}", limit=f"{limit:,}")
        case FileNotReadable(errno=None):
            text = translate("Attach", "{name} is no file. It was not added.")
            return text.format(name=error.name)
        case FileNotReadable():
            text = translate("Attach", "{name} could not be read ({reason}). It was not added.")
            return text.format(name=error.name, reason=os_reason(error.errno))
        case _:
            text = translate(
                "Attach",
                "{name} is no text file that can be read (UTF-8 or UTF-16). It was not added.",
            )
            return text.format(name=error.name)


def _read(path: Path) -> AttachedFile | BadAttachment:
    try:
        file = read_attachment(path)
    except BadAttachment as error:
        return error
    return replace(file, text=clean_text(file.text))


def _as_sent(file: AttachedFile) -> str:
    """What the file adds to a question."""
    return f"\n\n{fenced(file)}"


def _can_inline(held: _Held) -> bool:
    return held.file.pasted and len(held.file.text) <= MAX_INLINE_CHARS
