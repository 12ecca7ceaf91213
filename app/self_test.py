"""`--self-test`: the real window, threads, store and engine answer once, offscreen.

The model is the demo model that comes with the app, on the processor: a sum must be thought about
and be answered right, and every word of it comes through every part.
"""

from __future__ import annotations

import os
import sys
import tempfile
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtWidgets import QApplication

from app.application import Application, StartOptions
from app.conversation import Reply, ReplyStatus
from app.engine_builder import build_engine
from app.logging_setup import UncaughtErrors
from app.model_records import DEMO_MODEL_ID, ModelRecord
from app.paths import ensure_folders, paths_for, resource_dir
from app.settings import Settings, with_value
from app.settings_file import LoadedProfile, Profile

QUESTION, ANSWER = "What is 48 + 76?", "48 + 76 = 124"
TIMEOUT_S = 60
_POLL_MS = 20


def self_test_model() -> ModelRecord:
    """The demo model that comes with the app."""
    return ModelRecord(DEMO_MODEL_ID, "Demo model", resource_dir() / "demo_model", is_demo=True)


def run_self_test(model: ModelRecord | None = None, timeout_s: float = TIMEOUT_S) -> int:
    """Ask one question; 0 and one line when the right answer came, else 1 and the reason."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    qt = QApplication.instance() or QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory(prefix="thinkpane-self-test-") as folder:
        paths = paths_for(Path(folder))
        ensure_folders(paths)
        settings = with_value(Settings(), "device", "cpu")
        for name, value in (("temperature", 0.0), ("context_tokens", 512)):
            settings = with_value(settings, name, value)
        application = Application(
            paths,
            LoadedProfile(Profile(settings, active_model_id=DEMO_MODEL_ID)),
            partial(build_engine, paths.models_dir, paths.kernel_cache_dir),
            StartOptions(only_models=(model or self_test_model(),)),
            UncaughtErrors(),
        )
        watch = _Watch(application, timeout_s)
        application.show()
        application.window.submitted.emit(QUESTION)
        qt.exec()
        application.window.deleteLater()
    sys.stdout.write(f"self-test: {watch.outcome}\n")
    return 0 if watch.passed else 1


class _Watch(QObject):
    """Waits for the reply in the shown chat, then closes the app."""

    def __init__(self, application: Application, timeout_s: float) -> None:
        super().__init__(application)
        self._application = application
        self._polls_left = round(timeout_s * 1000 / _POLL_MS)
        self.outcome = "no answer came"
        self.passed = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_timeout)
        self._timer.start(_POLL_MS)

    @Slot()
    def _on_timeout(self) -> None:
        self._polls_left -= 1
        exchanges = self._application.chats.shown.exchanges
        reply = exchanges[-1].reply if exchanges else None
        running = reply is None or reply.status is ReplyStatus.RUNNING
        if running and self._polls_left > 0:
            return
        if reply is not None and reply.status is ReplyStatus.DONE:
            self._judge(reply)
        elif reply is not None and reply.error_text:
            self.outcome = reply.error_text
        self._timer.stop()
        self._application.window.close()

    def _judge(self, reply: Reply) -> None:
        self.passed = bool(reply.thinking.strip()) and reply.answer == ANSWER
        if not self.passed:
            thought = f"{reply.thinking_tokens} tokens of thinking"
            self.outcome = f"expected {ANSWER!r}, found {reply.answer!r} after {thought}"
            return
        tokens = reply.thinking_tokens + reply.answer_tokens
        self.outcome = f"ok, {ANSWER} ({tokens} tokens through the real thread)"
