"""How fast the demo model is for a user: `python -m tests.app.probe_demo [window|start]`.

`window`: the real app in this process. The first question is sent the moment the window is shown,
when nothing of the engine is even imported; then long thoughts are asked for, and one more question
after the model's memory was freed. `start`: `make run` on an empty profile on a screen of its own,
keys alone: the wizard's "Try the demo model now", a question, the answer in the database. Figures
of a busy machine mean little: look at the load that is printed first.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.application import Application, StartOptions
from app.conversation import Reply, ReplyStatus
from app.engine_builder import build_engine
from app.logging_setup import UncaughtErrors
from app.model_records import DEMO_MODEL_ID
from app.paths import ensure_folders, paths_for
from app.self_test import ANSWER, QUESTION
from app.settings import Settings, with_value
from app.settings_file import LoadedProfile, Profile
from tests.demo_model.fresh_app import FreshApp
from tests.real.driven_app import ROOT, wait_for

LONG_QUESTIONS = ("What is 47 × 86?", "What is 39 × 78?", "What is 4827 + 395?")
WARM_TOKENS_PER_S, FIRST_TOKEN_S, ANSWER_S = 150, 1.0, 15.0
"""What the issue asks for."""

_POLL_MS = 2


@dataclass(frozen=True)
class Seen:
    """One reply as the window saw it; seconds count from the press of Enter."""

    reply: Reply
    first_s: float
    done_s: float
    cpu_s: float
    """CPU time of the whole process meanwhile, which another process does not change much."""

    @property
    def tokens(self) -> int:
        """Of thinking and answer."""
        return self.reply.thinking_tokens + self.reply.answer_tokens

    @property
    def tokens_per_s(self) -> float:
        """Tokens by the time from the first one shown to the end of the reply."""
        return self.tokens / (self.done_s - self.first_s)


class WindowProbe:
    """The app on a fresh profile with the demo model chosen, so that no wizard stands before it."""

    def __init__(self, folder: Path) -> None:
        paths = paths_for(folder)
        ensure_folders(paths)
        settings = with_value(Settings(), "device", "cpu")
        profile = Profile(settings, active_model_id=DEMO_MODEL_ID)
        factory = partial(build_engine, paths.models_dir, paths.kernel_cache_dir)
        self.app = Application(
            paths, LoadedProfile(profile), factory, StartOptions(), UncaughtErrors()
        )
        self.app.leave = lambda code: None
        self._shown_at: list[float] = []
        self._show_delta = self.app.window.append_delta
        self.app.window.append_delta = self._note_delta  # type: ignore[method-assign]
        self.app.show()

    def _note_delta(self, *words: Any) -> None:
        self._show_delta(*words)
        self._shown_at.append(time.perf_counter())

    def ask(self, question: str) -> Seen:
        """Put a question into the composer, press Enter, watch until the reply has ended."""
        before = len(self.app.chats.shown.exchanges)
        self.app.window.composer.set_text(question)
        self._shown_at.clear()
        loop = QEventLoop()

        def look() -> None:
            exchanges = self.app.chats.shown.exchanges
            reply = exchanges[-1].reply if len(exchanges) > before else None
            if reply is not None and reply.status is not ReplyStatus.RUNNING:
                loop.quit()

        timer = QTimer()
        timer.timeout.connect(look)
        timer.start(_POLL_MS)
        entered, cpu_s = time.perf_counter(), time.process_time()
        QTest.keyClick(self.app.window.composer.edit, "\r")
        loop.exec()
        done, cpu_s = time.perf_counter(), time.process_time() - cpu_s
        timer.stop()
        reply = self.app.chats.shown.exchanges[-1].reply
        assert reply is not None
        assert reply.status is ReplyStatus.DONE, reply.error_text
        return Seen(reply, self._shown_at[0] - entered, done - entered, cpu_s)

    def free_memory(self) -> None:
        """Unload the model, as the menu does."""
        self.app.window.free_memory_requested.emit()
        while self.app.models.info is not None:
            QApplication.processEvents()

    def close(self) -> None:
        """End all threads."""
        self.app.window.close()
        while not self.app._closed:
            QApplication.processEvents()
        self.app.window.deleteLater()


def probe_window(folder: Path, runs: int) -> None:
    """First token after a cold start, and tokens per second through the window."""
    probe = WindowProbe(folder)
    cold = probe.ask(QUESTION)
    print(f"first token {cold.first_s:.2f} s after Enter, pressed as the window is shown")
    for question in LONG_QUESTIONS * runs:
        seen = probe.ask(question)
        print(
            f"{question}  {seen.reply.answer}: {seen.tokens} tokens, first after "
            f"{seen.first_s:.3f} s, {seen.tokens_per_s:.0f} tokens/s through the window, "
            f"{seen.tokens / seen.cpu_s:.0f} per second of CPU time",
            flush=True,
        )
    probe.free_memory()
    loaded = probe.ask(QUESTION)
    print(f"first token {loaded.first_s:.2f} s after Enter with the model not loaded")
    probe.close()
    print(f"wanted: {WARM_TOKENS_PER_S} tokens/s, first token within {FIRST_TOKEN_S:.0f} s")


def probe_start(folder: Path, runs: int) -> None:
    """From `make run` to the first answer on an empty profile, on a machine that is set up."""
    for run in range(1, runs + 1):
        app = FreshApp(folder / f"profile-{run}")
        began = time.monotonic()
        app.start()
        shown_s = time.monotonic() - began
        app.try_the_demo_model()
        app.ask(QUESTION)
        [(question, answer, status)] = wait_for(partial(_ended, app), "the answer")
        answered_s = time.monotonic() - began
        assert (question, answer, status) == (QUESTION, ANSWER, "done")
        assert app.close() == 0, app.output()
        print(
            f"run {run}: window after {shown_s:.1f} s, {answer!r} {answered_s:.1f} s after "
            f"`make run`",
            flush=True,
        )
    print(f"wanted: an answer in {ANSWER_S:.0f} s")


def _ended(app: FreshApp) -> list[tuple[str, str, str]]:
    """The reply once it has ended; nothing before."""
    replies = app.replies()
    return replies if replies and replies[0][2] != "running" else []


def main(words: list[str]) -> int:
    """Run one probe, or both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("probe", nargs="?", default="", choices=("", "window", "start"))
    parser.add_argument("--runs", type=int, default=2)
    arguments = parser.parse_args(words)
    if not arguments.probe:
        print(f"load of this machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if arguments.probe != "start":
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        app = QApplication.instance() or QApplication(sys.argv[:1])
        with tempfile.TemporaryDirectory() as folder:
            probe_window(Path(folder), arguments.runs)
        del app
    if not arguments.probe:
        again = [sys.executable, "-m", "tests.app.probe_demo", "start", "--runs"]
        command = [".ci/with-screen", *again, str(arguments.runs)]
        return subprocess.run(command, cwd=ROOT, check=False).returncode
    if arguments.probe == "start":
        with tempfile.TemporaryDirectory() as folder:
            probe_start(Path(folder), arguments.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
