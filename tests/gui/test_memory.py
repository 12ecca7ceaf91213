"""What is closed leaves nothing behind: a chat window stays open for weeks."""

from __future__ import annotations

import ctypes
import gc
import sys
import weakref

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtWidgets import QAbstractScrollArea, QWidget
from pytestqt.qtbot import QtBot

from app.conversation import Exchange, Reply, ReplyStatus
from app.ui.code_block import CodeBlock
from app.ui.exchange_widget import ExchangeWidget
from app.ui.pane_share import PaneShare
from app.ui.theme import Theme

TEXTS = 40
ROUNDS = 6
MOST_LEFT_BYTES = 300
"""Of one text. Qt's own tables fill up by some bytes; the rules of a painted viewport are 900."""


_BEFORE = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks")
_AFTER = ("uordblks", "fordblks", "keepcost")
"""The members of glibc's `struct mallinfo2`: all ten, it is given back by value."""


class _HeapFigures(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_size_t) for name in (*_BEFORE, *_AFTER))


def _bytes_in_use() -> int:
    """What malloc has given out and not got back. Skips where glibc does not tell."""
    tell = getattr(ctypes.CDLL(None), "mallinfo2", None) if sys.platform == "linux" else None
    if tell is None:
        pytest.skip("mallinfo2 is of glibc 2.33 and later")
    tell.restype = _HeapFigures
    figures = tell()
    return int(figures.uordblks + figures.hblkhd)


@pytest.fixture
def window(qtbot: QtBot, theme: Theme) -> QWidget:
    window = QWidget()
    window.resize(900, 700)
    theme.dress(window)
    qtbot.addWidget(window)
    window.show()
    return window


def _shown_exchange(window: QWidget, theme: Theme) -> ExchangeWidget:
    """Its answer has a paragraph and a code block."""
    reply = Reply(
        "r", thinking="So.", answer="Yes.\n\n```python\nx = 1\n```", status=ReplyStatus.DONE
    )
    exchange = ExchangeWidget(theme, PaneShare(), window)
    exchange.show_exchange(Exchange("e", "What?", (reply,)), is_last=True)
    exchange.resize(880, exchange.arrange(880))
    exchange.show()
    window.grab()
    return exchange


def test_no_text_of_an_exchange_has_its_viewport_painted_by_the_style_sheet(
    window: QWidget, theme: Theme
) -> None:
    exchange = _shown_exchange(window, theme)
    texts = [each for each in exchange.findChildren(QAbstractScrollArea) if each.isVisible()]
    assert len(texts) == 4
    for text in texts:
        assert not text.viewport().testAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        assert not text.viewport().autoFillBackground()


def test_an_exchange_that_is_gone_is_freed_without_the_garbage_collector(
    window: QWidget, theme: Theme
) -> None:
    exchange = _shown_exchange(window, theme)
    segments = exchange.answer.body.segments
    parts = (exchange, exchange.answer, exchange.answer.body, *segments, exchange.thinking)
    parts = (*parts, exchange.thinking.view, exchange.bubble, exchange.editor)
    gone = [(type(part).__name__, weakref.ref(part)) for part in parts]
    gc.collect()
    gc.disable()
    try:
        exchange.deleteLater()
        del exchange, segments, parts
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert [name for name, part in gone if part() is not None] == []
    finally:
        gc.enable()


def test_painted_texts_that_are_gone_leave_no_memory_in_use(window: QWidget, theme: Theme) -> None:
    left = []
    for _ in range(ROUNDS):
        before = _bytes_in_use()
        _show_and_delete(window, theme)
        left.append((_bytes_in_use() - before) / TEXTS)
    assert min(left) < MOST_LEFT_BYTES, left


def _show_and_delete(window: QWidget, theme: Theme) -> None:
    blocks = []
    for number in range(TEXTS):
        block = CodeBlock(theme, window)
        block.show_code("x = 1", "", True)
        block.setGeometry(number % 8 * 100, number // 8 * 100, 100, block.arrange(100))
        block.show()
        blocks.append(block)
    window.grab()
    for block in blocks:
        block.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
