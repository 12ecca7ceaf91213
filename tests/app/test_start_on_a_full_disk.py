"""The app starts on a disk without one free byte, and shows the chats (LM#703)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STARTED = """
import json, sys
from PySide6.QtCore import QTimer
import app.main as app_main
from app.application import Application
from app.conversation import ReplyStatus

class Used(Application):
    def show(self):
        super().show()
        self.before = None
        self.user = QTimer(self)
        self.user.timeout.connect(self.act)
        self.user.start(20)

    def act(self):
        if self.models.info is None:
            return
        exchanges = self.chats.shown.exchanges
        if self.before is None and (exchanges or sys.argv[2] == "first"):
            self.before = [exchange.question for exchange in exchanges]
            self.window.composer.set_text("Is it full?")
            self.window.composer.edit.send_pressed.emit()
        elif len(exchanges) > len(self.before or ()) and exchanges[-1].reply is not None:
            if exchanges[-1].reply.status is ReplyStatus.DONE:
                self.user.stop()
                notices = [notice.text for notice in self.window.notices.notices]
                print(json.dumps([self.before, notices]), flush=True)
                self.window.close()

app_main.Application = Used
sys.exit(app_main.main(["--profile", sys.argv[1], "--scripted"]))
"""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def use(profile: Path, *, first: bool = False) -> tuple[list[str], list[str]]:
    """Start, wait for the chat of last time, ask, close; the questions found, and the notices."""
    done = subprocess.run(
        [sys.executable, "-c", STARTED, str(profile), "first" if first else "again"],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, notices = json.loads(done.stdout)
    return before, notices


def fill(folder: Path) -> Path:
    """Take the last byte."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 1024) > 0:
                pass
        except OSError:
            assert shutil.disk_usage(folder).free == 0
    return filler


@pytest.mark.slow
def test_a_full_disk_shows_the_chats_and_loses_none(small_disk):
    assert use(small_disk, first=True) == ([], [])
    filler = fill(small_disk)
    before, notices = use(small_disk)
    assert before == ["Is it full?"]
    assert any("the disk is full" in notice for notice in notices), notices
    filler.unlink()
    assert use(small_disk) == (["Is it full?"], [])
