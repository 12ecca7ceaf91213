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
IN_EDIT = QT_TRANSLATE_NOOP("Shortcuts", "While a question or a reply is edited")
IN_NUMBER = QT_TRANSLATE_NOOP("Shortcuts", "In a number of the settings")
ON_EDGE = QT_TRANSLATE_NOOP("Shortcuts", "On the edge between two panes")


@dataclass(frozen=True, slots=True)
class Key:
    """`keys` in Qt's portable spelling; `action` is "" where a part handles the key itself."""

    action: str
    keys: tuple[str, ...]
    place: str
    meaning: str


KEYS = (
    Key("new_chat", ("Ctrl+N",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "New chat")),
    Key(
        "temporary_chat",
        ("Ctrl+Shift+N",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Temporary chat, of which nothing is stored"),
    ),
    Key("find", ("Ctrl+F",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "Search chats")),
    Key(
        "next_hit",
        ("F3",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Next place of what is searched for"),
    ),
    Key(
        "earlier_hit",
        ("Shift+F3",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Earlier place of what is searched for"),
    ),
    Key("composer", ("Ctrl+L",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "Go to the question")),
    Key(
        "stop",
        ("Escape",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Stop the answer; close what lies over the chat"),
    ),
    Key(
        "answer_now",
        ("Ctrl+Shift+A",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "End the thinking and answer now"),
    ),
    Key(
        "regenerate",
        ("Ctrl+R",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Another version of the last answer"),
    ),
    Key(
        "continue",
        ("Ctrl+Shift+R",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Go on with a reply that was cut"),
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
    Key(
        "find_setting",
        ("Ctrl+Shift+F",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Search settings"),
    ),
    Key(
        "zoom_in",
        ("Ctrl++", "Ctrl+="),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Larger text"),
    ),
    Key("zoom_out", ("Ctrl+-",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "Smaller text")),
    Key("zoom_reset", ("Ctrl+0",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "Usual text size")),
    Key(
        "explain",
        ("Shift+F1",),
        ANYWHERE,
        QT_TRANSLATE_NOOP("Shortcuts", "Explain what has the focus"),
    ),
    Key("keys", ("F1",), ANYWHERE, QT_TRANSLATE_NOOP("Shortcuts", "This list")),
    Key("", ("Enter",), IN_QUESTION, QT_TRANSLATE_NOOP("Shortcuts", "Send")),
    Key("", ("Shift+Enter",), IN_QUESTION, QT_TRANSLATE_NOOP("Shortcuts", "New line")),
    Key(
        "",
        ("Ctrl+Enter",),
        IN_EDIT,
        QT_TRANSLATE_NOOP("Shortcuts", "Ask the changed question, or go on from the changed text"),
    ),
    Key("", ("Escape",), IN_EDIT, QT_TRANSLATE_NOOP("Shortcuts", "Leave it as it was")),
    Key("", ("Enter",), IN_CHATS, QT_TRANSLATE_NOOP("Shortcuts", "Open the chat")),
    Key("", ("F2",), IN_CHATS, QT_TRANSLATE_NOOP("Shortcuts", "Rename the chat")),
    Key("", ("Del",), IN_CHATS, QT_TRANSLATE_NOOP("Shortcuts", "Delete the chat")),
    Key(
        "",
        ("Menu", "Shift+F10"),
        IN_CHATS,
        QT_TRANSLATE_NOOP("Shortcuts", "Everything else that can be done with the chat"),
    ),
    Key("", ("Up",), IN_NUMBER, QT_TRANSLATE_NOOP("Shortcuts", "One step more")),
    Key("", ("Down",), IN_NUMBER, QT_TRANSLATE_NOOP("Shortcuts", "One step less")),
    Key("", ("Left",), ON_EDGE, QT_TRANSLATE_NOOP("Shortcuts", "Move the edge to the left")),
    Key("", ("Right",), ON_EDGE, QT_TRANSLATE_NOOP("Shortcuts", "Move the edge to the right")),
)


def make_shortcuts(window: QWidget, does: Mapping[str, Callable[[], object]]) -> None:
    """Give the window every key of its own.

    Raises:
        ValueError: `does` and `KEYS` do not name the same actions.
    """
    known = {key.action: key for key in KEYS if key.action}
    if known.keys() != does.keys():
        raise ValueError(f"keys and actions differ: {sorted(known.keys() ^ does.keys())}")
    for action, call in does.items():
        for keys in known[action].keys:
            QShortcut(QKeySequence(keys), window).activated.connect(call)


def written(keys: str) -> str:
    """A key as this desktop writes it."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
