"""A window that is moved to a screen of another scale is as sharp as one that was made there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage

ROOT = Path(__file__).resolve().parents[2]


def pictures(folder: Path, scale: float, *, moves: bool) -> dict[str, QImage]:
    """Of a window that moves, or of one that was made on the second screen, by their names."""
    words = [str(folder), "moves" if moves else "stays"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.gui.moved_between_screens", *words],
        cwd=ROOT,
        env={**os.environ, "QT_SCREEN_SCALE_FACTORS": f"one=1;two={scale}"},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ratios = json.loads(done.stdout)
    expected = {"before": 1.0, "moved": scale, "back": 1.0} if moves else {"born": scale}
    assert ratios == expected
    return {name: QImage(str(folder / f"{name}.png")) for name in ratios}


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.25, 2.0, 3.0])
def test_the_window_is_sharp_on_whichever_screen_it_stands(qapp, tmp_path, scale):
    found = pictures(tmp_path, scale, moves=True) | pictures(tmp_path, scale, moves=False)
    before, moved = found["before"], found["moved"]
    assert moved.size() == before.size() * scale
    assert moved == found["born"], "something is kept in the pixels of the first screen"
    assert found["back"] == before, "something is kept in the pixels of the second screen"
    stretched = before.scaled(moved.size(), mode=Qt.TransformationMode.SmoothTransformation)
    assert stretched.convertToFormat(moved.format()) != moved
