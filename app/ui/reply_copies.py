"""The ways to copy a reply: its answer with or without Markdown, its thinking, both."""

from __future__ import annotations

from typing import Literal, assert_never

from PySide6.QtCore import QObject, QPoint
from PySide6.QtWidgets import QMenu, QWidget

from app.render.markdown import parse_markdown
from app.render.plain_text import plain_text
from app.ui.answer_pane import AnswerPane
from app.ui.controls import copy_to_clipboard
from app.ui.thinking_pane import ThinkingPane

CopyKind = Literal["markdown", "plain", "thinking", "both"]


class ReplyCopies(QObject):
    """Knows both panes of a reply; the menu opens below the button that asked for it."""

    def __init__(self, thinking: ThinkingPane, answer: AnswerPane, parent: QWidget) -> None:
        super().__init__(parent)
        self._thinking = thinking
        self._answer = answer
        self.menu = QMenu(parent)
        for kind, text in (
            ("markdown", self.tr("Copy the answer as Markdown")),
            ("plain", self.tr("Copy the answer as plain text")),
            ("thinking", self.tr("Copy the thinking")),
            ("both", self.tr("Copy thinking and answer")),
        ):
            action = self.menu.addAction(text)
            action.setData(kind)
        self.menu.triggered.connect(lambda action: self.copy(action.data()))
        answer.copies_requested.connect(self._open_menu)

    def copy(self, kind: CopyKind) -> None:
        """Put that part of the reply on the clipboard; lines end in LF."""
        copy_to_clipboard(self.text_of(kind))
        self._answer.confirm_copy()

    def text_of(self, kind: CopyKind) -> str:
        """What is copied. Only "both" and "thinking" hold any of the thinking."""
        answer, thinking = self._answer.body.text, self._thinking.text.strip("\n")
        match kind:
            case "markdown":
                return answer
            case "plain":
                return plain_text(parse_markdown(answer))
            case "thinking":
                return thinking
            case "both":
                quoted = "\n".join(f"> {line}".rstrip() for line in thinking.split("\n"))
                return "\n\n".join(
                    (f"## {self.tr('Thinking')}", quoted, f"## {self.tr('Answer')}", answer)
                )
            case _ as never:
                assert_never(never)

    def _open_menu(self, place: QPoint) -> None:
        answered, thought = bool(self._answer.body.text), bool(self._thinking.text.strip())
        there = {
            "markdown": answered,
            "plain": answered,
            "thinking": thought,
            "both": answered and thought,
        }
        for action in self.menu.actions():
            action.setEnabled(there[action.data()])
        self.menu.popup(place)
