"""Every key of the window, defined once: what it does, and what the list of keys (F1) says of it.

A key of the window itself becomes a QShortcut by `make_shortcuts`. One that a part handles while it
has the focus, such as Enter in the question, stands here too, so that the list is whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

from app.language import QT_TRANSLATE_NOOP

ANYWHERE = QT_TRANSLATE_NOOP("Shortcuts", "Anywhere")
IN_QUESTION = QT_TRANSLATE_NOOP("Shortcuts", "In the question")
IN_CHATS = QT_TRANSLATE_NOOP("Shortcuts", "In the list of chats")
IN_SETTINGS = QT_TRANSLATE_NOOP("Shortcuts", "In the settings")


@dataclass(frozen=True, slots=True)
class Key:
    """One action; `keys` in Qt's portable spelling, the first is the one that is written."""

    action: str
    keys: tuple[str, ...]
    place: str
    meaning: str


KEYS = (
    Key("new_chat", ("Ctrl+N",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "New chat")),
    Key("find", ("Ctrl+F",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "Search chats")),
    Key("composer", ("Ctrl+L",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "Go to the question")),
    Key(
        "stop",
        ("Escape",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Stop the answer; close what lies over the chat"),
    ),
    Key(
        "thinking",
        ("Ctrl+T",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Show or hide the thinking"),
    ),
    Key(
        "latest",
        ("Ctrl+End",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Go to the end of the chat and follow it"),
    ),
    Key("models", ("Ctrl+M",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "Choose the model")),
    Key("list", ("Ctrl+B",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "Show or hide the chats")),
    Key(
        "settings",
        ("Ctrl+,",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Show or hide the settings"),
    ),
)


def make_shortcuts(window: QWidget, does: Mapping[str, Callable[[], object]]) -> None:
    """Give the window all keys that `does` has an action for.

    Raises:
        KeyError: it has one that is not in `KEYS`.
    """
    known = {key.action: key for key in KEYS}
    for action, call in does.items():
        for keys in known[action].keys:
            QShortcut(QKeySequence(keys), window).activated.connect(call)
