"""The application as its own process on an X screen, driven by keys alone as a user does."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

PATIENCE_S = 150.0
"""The machine may be doing much else; nothing here is a measure of speed."""

_POLL_S = 0.1

_GRAB = """
import sys
from PySide6.QtGui import QGuiApplication
app = QGuiApplication([])
sys.exit(not app.primaryScreen().grabWindow(0).save(sys.argv[1]))
"""


def wait_for(condition: Callable[[], Any], what: str, timeout_s: float = PATIENCE_S) -> Any:
    """The first true value of `condition()`; an AssertionError names `what` when none comes."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(_POLL_S)
    raise AssertionError(f"waited {timeout_s:.0f} s in vain for {what}")


def xdotool(*arguments: str) -> str:
    """Run xdotool; returns what it printed."""
    done = subprocess.run(["xdotool", *arguments], capture_output=True, text=True, check=False)
    return done.stdout


class DrivenApp:
    """One profile folder, and the application that runs on it.

    Args:
        profile: folder of the profile; its settings can be written before the start.
        model: GGUF file or model folder.
    """

    def __init__(self, profile: Path, model: Path) -> None:
        self.profile = profile
        self._model = model
        self._process: subprocess.Popen[bytes] | None = None
        self._log = profile.with_suffix(".log")

    def write_settings(self, settings: dict[str, Any], sampling: dict[str, Any]) -> None:
        """Settings as an earlier run would have left them; sampling for both thinking modes."""
        self.profile.mkdir(parents=True, exist_ok=True)
        modes = {"thinking": sampling, "not_thinking": sampling}
        text = json.dumps({"version": 1, "settings": settings, "sampling": modes})
        (self.profile / "settings.json").write_text(text, encoding="utf-8")

    def command(self) -> list[str]:
        """What a user's shortcut runs."""
        arguments = ["--profile", str(self.profile), "--model", str(self._model)]
        return [sys.executable, "-m", "app", *arguments]

    def start(self) -> None:
        """Start the application and wait until its window has the keyboard."""
        environment = {k: v for k, v in os.environ.items() if k != "QT_QPA_PLATFORM"}
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(), cwd=ROOT, env=environment, stdout=log, stderr=log
            )
        wait_for(self._has_focus, "the window to have the keyboard")

    def _has_focus(self) -> bool:
        assert self.process.poll() is None, f"the app ended: {self.output()}"
        # Not the active window: that is the window manager's wish, and keys may still be lost.
        return xdotool("getwindowfocus", "getwindowpid").strip() == str(self.process.pid)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The running application."""
        assert self._process is not None, "the app was not started"
        return self._process

    def output(self) -> str:
        """What it wrote to the terminal; nothing, in a run without trouble."""
        return self._log.read_text("utf-8", "replace")

    def press(self, *keys: str) -> None:
        """Press keys one after the other, such as "ctrl+n"."""
        for key in keys:
            xdotool("key", "--clearmodifiers", key)

    def type(self, text: str) -> None:
        """Type a text."""
        xdotool("type", "--clearmodifiers", "--delay", "40", text)

    def ask(self, question: str) -> None:
        """Type a question and send it."""
        self.type(question)
        self.press("Return")

    def close(self) -> int:
        """Close the window by key; returns the exit code."""
        self.press("alt+F4")
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        """End the process without warning."""
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def is_running(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Read from the chat database while the application uses it; none before it is made."""
        file = self.profile / "chats.db"
        if not file.exists():
            return []
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)) as database:
            try:
                return database.execute(query, values).fetchall()
            except sqlite3.OperationalError as error:
                if "no such table" in str(error):
                    return []
                raise

    def replies(self) -> list[tuple[str, str, str]]:
        """(question, answer, status) of all exchanges in the order of asking."""
        return self.rows(
            "SELECT question, answer, status FROM exchange JOIN reply ON exchange_id = exchange.id "
            "ORDER BY exchange.sequence, reply.sequence"
        )

    def answers(self, count: int) -> list[str]:
        """Wait until `count` replies have ended; returns the answers, of which all are done."""
        ended = wait_for(lambda: self._ended(count), f"{count} replies")
        assert [status for _, _, status in ended] == ["done"] * count, ended
        return [answer for _, answer, _ in ended]

    def _ended(self, count: int) -> list[tuple[str, str, str]]:
        replies = self.replies()
        running = any(status == "running" for _, _, status in replies)
        return replies if len(replies) >= count and not running else []

    def streamed(self) -> str:
        """What has come of the running reply."""
        return "".join(text for (text,) in self.rows("SELECT answer FROM reply_chunk"))

    def draft(self) -> str:
        """What is typed and not sent, as stored."""
        return "".join(text for (text,) in self.rows("SELECT draft FROM conversation"))

    def settings(self) -> dict[str, Any]:
        """The settings file as it lies on the disk."""
        tree: dict[str, Any] = json.loads((self.profile / "settings.json").read_text("utf-8"))
        return tree

    def picture(self, file: Path) -> Path:
        """Take a picture of the whole screen."""
        # The last words are painted a moment after they are stored.
        time.sleep(1.0)
        subprocess.run([sys.executable, "-c", _GRAB, str(file)], check=True, timeout=PATIENCE_S)
        return file


@contextmanager
def driven_app(profile: Path, model: Path) -> Iterator[DrivenApp]:
    """An application on a profile; ended with the block, whatever happened in it."""
    app = DrivenApp(profile, model)
    try:
        yield app
    finally:
        if app.is_running():
            app.kill()
