"""Words are whole in both languages, at every font size: in the window, the list of keys, menus."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QLabel, QPushButton, QWidget

from app.chat_view import Notice, PresetChoice
from app.language import CHINESE, ENGLISH, Language
from app.paths import resource_dir
from app.settings import Settings, with_value
from app.ui.controls import ElidedLabel
from app.ui.key_list import KeyList
from app.ui.main_window import MainWindow
from app.ui.theme import Theme
from app.ui.wizard import WizardWindow
from tests.gui import scenes, wizard_screenshots

# What a line is not broken in.
_WORD = re.compile(r"[A-Za-z0-9]+")


@pytest.fixture(params=[ENGLISH, CHINESE])
def speaking(request):
    language = Language(resource_dir() / "translations")
    language.use(request.param)
    yield request.param
    language.use(ENGLISH)


def cut(root: QWidget) -> Iterator[str]:
    """Labels and buttons that have less room than their words; those that elide say so."""
    for widget in root.findChildren(QWidget):
        if not widget.isVisible() or isinstance(widget, ElidedLabel):
            continue
        if isinstance(widget, QLabel) and widget.text() and widget.wordWrap():
            room = widget.fontMetrics().horizontalAdvance
            tall = widget.height() < widget.heightForWidth(widget.width())
            narrow = any(widget.width() < room(word) for word in _WORD.findall(widget.text()))
        elif isinstance(widget, QLabel) and widget.text():
            tall = widget.height() < widget.fontMetrics().height()
            narrow = widget.width() < widget.sizeHint().width()
        elif isinstance(widget, QAbstractButton) and widget.text():
            may_be_cut = widget.property("kind") == "suggestion"
            words = widget.fontMetrics().horizontalAdvance(widget.text())
            tall = widget.height() < widget.fontMetrics().height()
            narrow = not may_be_cut and widget.width() < words
        else:
            continue
        if tall or narrow:
            size, wanted = widget.size().toTuple(), widget.sizeHint().toTuple()
            yield f"{type(widget).__name__} {widget.text()[:40]!r} has {size}, needs {wanted}"


@pytest.mark.parametrize("size", [11, 15, 22, 28])
def test_no_word_of_the_window_is_cut(qtbot, speaking, size):
    window = MainWindow(Theme(resource_dir()))
    qtbot.addWidget(window)
    scenes.furnish(window, with_value(Settings(), "font_size", size))
    # As much room as makes the panels stand beside the chat.
    window.resize(96 * max(15, size), 900)
    window.panels.restore("right", 0, collapsed=False)
    window.show_presets(PresetChoice(("", "A"), "A", True))
    window.show_notice(Notice("n", "Something happened.", actions=(("retry", "Try again"),)))
    window.show()
    scenes.scene_done(window)
    scenes.settle(window)
    assert window.findChildren(QPushButton)
    assert list(cut(window)) == []
    keys = KeyList(window.theme, window)
    keys.show()
    assert list(cut(keys)) == []


@pytest.mark.parametrize("size", [15, 22, 28])
def test_no_word_of_the_wizard_is_cut(qtbot, speaking, size, tmp_path):
    theme = Theme(resource_dir())
    theme.set_look("light", size)
    wizard = WizardWindow(theme)
    qtbot.addWidget(wizard)
    wizard.show()
    found = {}

    def look(name):
        # Wrapped lines get their height in a second pass of the layout.
        for _ in range(40):
            QTest.qWait(10)
            found[name] = list(cut(wizard))
            if not found[name]:
                return

    for pages in (wizard_screenshots._check_pages, wizard_screenshots._choose_pages):
        pages(wizard, look, tmp_path)
    for pages in (
        wizard_screenshots._download_pages,
        wizard_screenshots._answer_pages,
        wizard_screenshots._failure_pages,
    ):
        pages(wizard, look)
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_a_word_that_is_cut_is_found(qtbot):
    root = QWidget()
    qtbot.addWidget(root)
    word = QLabel("A long word", root)
    word.setFixedWidth(20)
    root.show()
    assert len(list(cut(root))) == 1
