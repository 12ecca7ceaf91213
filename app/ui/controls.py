"""The small controls that every part uses: labels, text buttons, icon buttons, the clipboard."""

from __future__ import annotations

import html
import re
from typing import Literal

from PySide6.QtCore import QEvent, QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication, QKeyEvent, QResizeEvent, QTextOption
from PySide6.QtWidgets import QAbstractScrollArea, QLabel, QPushButton, QToolButton, QWidget

from app.ui.theme import Theme

ButtonKind = Literal["primary", "plain", "pill", "link", "accent", "suggestion", "jump", "choice"]
_CONFIRM_MS = 1500
_ENDLESS_WORD = re.compile(r"[!-~]{2000}")


def label(text: str, role: str, parent: QWidget | None = None) -> QLabel:
    """A plain-text label; `role` is one of the style sheet ("quiet", "group", "strong", ...)."""
    widget = QLabel(parent)
    # QLabel guesses HTML by itself; nothing that a model or a file says may be taken for markup.
    widget.setTextFormat(Qt.TextFormat.PlainText)
    widget.setProperty("role", role)
    widget.setText(text)
    return widget


def wrap_mode_for(text: str) -> QTextOption.WrapMode:
    """How to break lines: at words, or anywhere where a word is absurdly long.

    Qt looks for the end of the word again for each line: 200,000 letters without a space take
    6 s to lay out, and 0.2 s when broken anywhere.
    """
    if _ENDLESS_WORD.search(text):
        return QTextOption.WrapMode.WrapAnywhere
    return QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere


def plain_tooltip(text: str) -> str:
    """The text as a tooltip that shows it letter by letter; Qt would take "<b>" for markup."""
    return f"<qt>{html.escape(text)}</qt>" if text else ""


def without_mnemonic(text: str) -> str:
    """The text for a button or menu, where Qt would take an "&" for a shortcut's mark."""
    return text.replace("&", "&&")


def set_role(widget: QWidget, name: str, value: object) -> None:
    """Change a property that the style sheet looks at, and let it look again."""
    if widget.property(name) == value:
        return
    widget.setProperty(name, value)
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)


def leave_viewport_unpainted(area: QAbstractScrollArea) -> None:
    """Let what stands behind the area show, without the style sheet painting it; call at once.

    Qt 6.11 keeps the rules of a painted viewport for ever, 1 KB for each text that is long gone.
    """
    area.viewport().setAutoFillBackground(False)


def is_escape_override(event: QEvent) -> bool:
    """Whether Qt asks if a widget wants Esc for itself rather than for a shortcut."""
    return (
        event.type() == QEvent.Type.ShortcutOverride
        and isinstance(event, QKeyEvent)
        and event.key() == Qt.Key.Key_Escape
    )


def copy_to_clipboard(text: str) -> None:
    """Put plain text on the clipboard."""
    QGuiApplication.clipboard().setText(text)


class TextButton(QPushButton):
    """A button with words; reached by Tab, and not left with a focus ring after a click."""

    def __init__(
        self, text: str, kind: ButtonKind = "plain", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setProperty("kind", kind)
        self.setText(text)
        self.setAutoDefault(False)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self._restore = QTimer(self)
        self._restore.setSingleShot(True)
        self._restore.timeout.connect(self._on_restore)
        self._own_text = text

    def confirm(self, text: str) -> None:
        """Show another word for a moment, such as "Copied"."""
        if not self._restore.isActive():
            self._own_text = self.text()
        self.setText(text)
        self._restore.start(_CONFIRM_MS)

    def _on_restore(self) -> None:
        self.setText(self._own_text)


class IconButton(QToolButton):
    """One of our outlines as a button; always with a name and a tooltip."""

    def __init__(
        self, theme: Theme, icon_name: str, name: str, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon_name = icon_name
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(name)
        self.setToolTip(name)
        side = theme.metrics.icon_button
        self.setFixedSize(side, side)
        self.setIconSize(QSize(theme.metrics.icon, theme.metrics.icon))
        theme.changed.connect(self._on_theme)
        self._on_theme()

    def show_as(self, icon_name: str, name: str) -> None:
        """Take another outline and name, for a button whose click leads back."""
        self._icon_name = icon_name
        self.setAccessibleName(name)
        self.setToolTip(name)
        self._on_theme()

    def _on_theme(self) -> None:
        self.setIcon(self._theme.icon(self._icon_name))


class ElidedLabel(QLabel):
    """A plain-text label of one line that ends in an ellipsis where room is short."""

    def __init__(self, role: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setProperty("role", role)
        self._full = ""
        self._short = ""

    def set_full_text(self, text: str, short: str = "") -> None:
        """Set the text; `short` stands in where it does not fit, and nothing where that
        does not either. The tooltip then has all of it.
        """
        self._full = text
        self._short = short
        self.setAccessibleName(text)
        self._elide()

    def full_text(self) -> str:
        """The text, whether or not it fits."""
        return self._full

    def minimumSizeHint(self) -> QSize:
        """Any width will do."""
        return QSize(0, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        """The width that the whole text takes."""
        return QSize(
            self.fontMetrics().horizontalAdvance(self._full) + 1, super().sizeHint().height()
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Cut the text anew."""
        super().resizeEvent(event)
        self._elide()

    def changeEvent(self, event: QEvent) -> None:
        """Cut the text anew where a larger font needs more room."""
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._elide()

    def _elide(self) -> None:
        room = max(0, self.width())
        metrics = self.fontMetrics()
        text = self._full
        if self._short and metrics.horizontalAdvance(text) > room:
            # Less than the short form says nothing: "for…", "0.…".
            text = self._short if metrics.horizontalAdvance(self._short) <= room else ""
        shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room)
        self.setText(shown)
        self.setToolTip(plain_tooltip(self._full) if shown != self._full else "")
        self.updateGeometry()
