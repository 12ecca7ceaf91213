"""The real window on Qt's offscreen platform, without engine, files or threads behind it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.ui.main_window import MainWindow
from app.ui.theme import Theme
from tests.gui import scenes

RESOURCES = Path(__file__).resolve().parents[2] / "resources"


@pytest.fixture
def theme(qapp):
    return Theme(RESOURCES)


@pytest.fixture
def window(qtbot, theme):
    made = MainWindow(theme)
    qtbot.addWidget(made)
    scenes.furnish(made)
    made.resize(1440, 900)
    made.show()
    qtbot.waitExposed(made)
    return made
