"""Moves the window between two screens of different scale; its pictures tell whether all is sharp.

`QT_SCREEN_SCALE_FACTORS="one=1;two=FACTOR" python -m tests.gui.moved_between_screens FOLDER moves`
prints the pixel ratios on the way and saves a picture at each stage: `before` on the first screen,
`moved` to the second, `back` on the first one again. With `stays` in place of `moves` there is one
picture, `born`: of a window in a new process that is made on the second screen.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QApplication

from app.ui.main_window import MainWindow
from app.ui.theme import Theme
from tests.gui import scenes
from tests.gui.probe_streaming import wait_until

RESOURCES = Path(__file__).resolve().parents[2] / "resources"
FIRST, SECOND = QPoint(40, 40), QPoint(8040, 40)
SIZE = (1280, 760)


def configuration(folder: Path) -> Path:
    """Two screens beside one another, for Qt's offscreen platform."""
    dpi = {"logicalDpi": 96, "logicalBaseDpi": 96, "dpr": 1}
    screens = [
        {"name": name, "x": x, "y": 0, "width": 8000, "height": 8000, **dpi}
        for name, x in (("one", 0), ("two", 8000))
    ]
    path = folder / "screens.json"
    path.write_text(json.dumps({"screens": screens}))
    return path


class Pictures:
    """Takes the pictures of a window with every kind of text, icon and formula in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.ratios: dict[str, float] = {}

    def window_at(self, place: QPoint) -> MainWindow:
        """A window that is made there."""
        window = MainWindow(Theme(RESOURCES))
        scenes.furnish(window)
        window.move(place)
        window.resize(*SIZE)
        window.show()
        scenes.scene_rich(window)
        scenes.settle(window)
        return window

    def take(self, name: str, window: MainWindow) -> None:
        """Save what the window shows, in the pixels of its screen."""
        focus = QApplication.focusWidget()
        if focus is not None:
            focus.clearFocus()  # a caret that blinks would be a difference
        scenes.settle(window)
        self.ratios[name] = window.devicePixelRatio()
        window.grab().save(str(self._folder / f"{name}.png"))

    def move(self, window: MainWindow, place: QPoint) -> None:
        """Move it, and wait until Qt has told it of its new screen."""
        window.move(place)
        wanted = QApplication.screenAt(place)
        wait_until(lambda: window.screen() is wanted, 30.0)


def main(folder: Path, moves: bool) -> int:
    """Take the pictures."""
    os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={configuration(folder)}"
    app = QApplication(sys.argv[:1])
    pictures = Pictures(folder)
    window = pictures.window_at(FIRST if moves else SECOND)
    pictures.take("before" if moves else "born", window)
    if moves:
        pictures.move(window, SECOND)
        pictures.take("moved", window)
        pictures.move(window, FIRST)
        pictures.take("back", window)
    print(json.dumps(pictures.ratios))
    del app
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), moves=sys.argv[2] == "moves"))
