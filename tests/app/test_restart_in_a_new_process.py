"""After a lost GPU "Restart" is a new process in the same chat, which answers (ollama#10053)."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOSING = """
import sys
from PySide6.QtCore import QTimer
import app.main as app_main
from app.application import Application
from engine.api import Channel
from engine.errors import DeviceLost
from engine.scripted_engine import ScriptedEngine, ScriptedReply

lost = ScriptedReply(((Channel.ANSWER, "Half"),), error=DeviceLost("unknown error"), error_after=1)
app_main.build_scripted_engine = lambda request: ScriptedEngine((lost,))

class Losing(Application):
    def show(self):
        super().show()
        self.user = QTimer(self)
        self.user.timeout.connect(self.act)
        self.user.start(20)

    def act(self):
        notices = [notice.key for notice in self.window.notices.notices]
        if "reply" in notices:
            self.user.stop()
            self.window.notices.action_button("reply", 0).click()
        elif self.models.info is not None and not self.chats.shown.exchanges:
            self.window.composer.set_text("Is it?")
            self.window.composer.edit.send_pressed.emit()

app_main.Application = Losing
sys.exit(app_main.main(["--profile", sys.argv[1], "--scripted"]))
"""


def is_restarted(process: subprocess.Popen[str]) -> bool:
    """Whether the plain app runs in place of the losing one, and a polite kill is heard by it."""
    folder = Path(f"/proc/{process.pid}")
    words = (folder / "cmdline").read_bytes().split(b"\0")
    caught = caught_signals((folder / "status").read_text("ascii"))
    return b"--restarts" in words and bool(caught & 1 << (signal.SIGTERM - 1))


def caught_signals(status: str) -> int:
    """The mask of the signals that a process handles itself."""
    (line,) = (line for line in status.splitlines() if line.startswith("SigCgt:"))
    return int(line.split()[1], 16)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the process is watched through /proc")
def test_restart_goes_on_in_the_same_chat_in_a_new_process(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", LOSING, str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The test's own time limit ends this where nothing comes of it.
    while process.poll() is None and not is_restarted(process):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (0, "", "")
    database = sqlite3.connect(tmp_path / "chats.db")
    [(chat, question)] = database.execute("SELECT conversation_id, question FROM exchange")
    [(answer, status)] = database.execute("SELECT answer, status FROM reply")
    database.close()
    assert (question, answer, status) == ("Is it?", "Half", "failed")
    assert chat in (tmp_path / "settings.json").read_text("utf-8"), "it is the chat that is shown"
    assert json.loads((tmp_path / "settings.json").read_text("utf-8"))
