"""The exchange that nobody sees: it has every kind of block in it, and it leaves no trace."""

from __future__ import annotations

from typing import get_args

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from app.render.blocks import Block, Code, Listing
from app.render.markdown import parse_markdown
from app.ui.exchange_widget import ExchangeWidget
from app.ui.main_window import MainWindow
from app.ui.theme import Theme
from app.ui.warm_up import WARM_TEXT, WarmUp


def test_the_text_has_every_kind_of_block() -> None:
    blocks = parse_markdown(WARM_TEXT)
    assert {type(block) for block in blocks} == set(get_args(Block))
    lists = [block for block in blocks if isinstance(block, Listing)]
    assert any(block.checks for block in lists)
    assert any(isinstance(block, Code) and block.language for block in blocks)


def test_nothing_of_it_is_seen_and_nothing_of_it_stays(window: MainWindow, qtbot: QtBot) -> None:
    focus = window.focusWidget()
    warm_up = WarmUp(window.theme, window)
    seen: list[ExchangeWidget] = []

    def is_over() -> bool:
        drawn = window.findChildren(ExchangeWidget)
        assert not any(widget.isVisible() for widget in drawn)
        seen.extend(widget for widget in drawn if widget.answer.body.text == WARM_TEXT)
        return warm_up.is_over

    qtbot.waitUntil(is_over, timeout=30_000)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert seen
    assert not window.findChildren(ExchangeWidget)
    assert window.focusWidget() is focus


def test_a_window_that_closes_meanwhile_takes_it_along(qtbot: QtBot, theme: Theme) -> None:
    window = QWidget()
    warm_up = WarmUp(theme, window)
    gone: list[bool] = []
    warm_up.destroyed.connect(lambda: gone.append(True))
    qtbot.waitUntil(lambda: bool(window.findChildren(ExchangeWidget)), timeout=30_000)
    window.deleteLater()
    qtbot.waitUntil(lambda: bool(gone), timeout=30_000)
