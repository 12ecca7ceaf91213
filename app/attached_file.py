"""Files and long pastes that go into a question: read, checked, and written into it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from app.pasted_text import CONTROL_CODES, clean_paste

MAX_FILE_BYTES = 8 << 20
"""Far more text than any context holds; it is counted, and told before it is sent."""

_BACKTICKS = re.compile(r"`{3,}")
_NOT_IN_NAMES = re.compile(r"[\x00-\x1f\x7f\u200e\u200f\u202a-\u202e\u2066-\u2069`]")
_SUFFIX = re.compile(r"[A-Za-z0-9+#-]{1,12}")
_BYTE_ORDER_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)


class BadAttachment(Exception):
    """A file that cannot go into a question (`name`)."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name


class NotText(BadAttachment):
    """The file is no text, or in an encoding that is not UTF-8 or UTF-16."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "expected text in UTF-8 or UTF-16, found something else")


class FileTooLarge(BadAttachment):
    """The file has more bytes than a question can hold (`found_bytes`, `limit_bytes`)."""

    def __init__(self, name: str, found_bytes: int, limit_bytes: int) -> None:
        super().__init__(name, f"expected at most {limit_bytes} bytes, found {found_bytes}")
        self.found_bytes = found_bytes
        self.limit_bytes = limit_bytes


class FileNotReadable(BadAttachment):
    """The file could not be read (`errno`: the system's number for it; None: it is no file)."""

    def __init__(self, name: str, reason: str, errno: int | None = None) -> None:
        super().__init__(name, reason)
        self.errno = errno


@dataclass(frozen=True, slots=True)
class AttachedFile:
    """A file's name, as it is shown, and its text with LF line ends; `pasted`: it is no file."""

    name: str
    text: str
    pasted: bool = False


def read_attachment(path: Path) -> AttachedFile:
    """Read a text file.

    Raises:
        BadAttachment: one of its children.
    """
    name = _NOT_IN_NAMES.sub("", path.name) or "file"
    try:
        if not path.is_file():
            # A pipe or a device would be waited for without end.
            path.stat()
            raise FileNotReadable(name, "it is no file")
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
        size = max(len(data), path.stat().st_size)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise FileNotReadable(name, reason, error.errno) from error
    if size > MAX_FILE_BYTES:
        raise FileTooLarge(name, size, MAX_FILE_BYTES)
    encoding = next((e for mark, e in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise NotText(name) from error
    if CONTROL_CODES.search(text):
        raise NotText(name)
    return AttachedFile(name, text.replace("\r\n", "\n").replace("\r", "\n"))


def pasted_file(text: str, name: str) -> AttachedFile:
    """A text from the clipboard."""
    return AttachedFile(name, clean_paste(text), pasted=True)


def fenced(file: AttachedFile) -> str:
    """The file as a part of a question: its name, and its text in a fence that it cannot close."""
    # Looked for first, since that is a hundred times as fast as an expression.
    found = _BACKTICKS.findall(file.text) if "```" in file.text else []
    longest = max(map(len, found), default=2)
    fence = "`" * (longest + 1)
    suffix = Path(file.name).suffix[1:]
    language = suffix if _SUFFIX.fullmatch(suffix) and suffix.lower() != "txt" else ""
    text = file.text.rstrip("\n")
    return f'File "{file.name}":\n\n{fence}{language}\n{text}\n{fence}'


def question_with(text: str, files: Sequence[AttachedFile]) -> str:
    """The question as the model gets it: what was written, then the files."""
    return "\n\n".join([*([text] if text.strip() else []), *map(fenced, files)])
