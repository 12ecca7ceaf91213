"""The real app on a profile, offscreen, asking and answering without end until it is killed.

`python -m tests.app.streaming_app PROFILE TOKENS_PER_S`. Whatever the window has taken is told on
standard output at once, a line of JSON each: {"asked": question} once a question was submitted, and
{"at": monotonic seconds, "thinking": characters, "answer": characters} after each piece of text.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from app.application import Application, StartOptions
from app.chat_view import ChatState
from app.engine_events import LoadRequest
from app.logging_setup import UncaughtErrors
from app.memory_estimate import no_estimate
from app.model_records import ModelRecord
from app.paths import ensure_folders, paths_for
from app.settings_file import load_profile
from engine.api import Channel, Engine
from engine.scripted_engine import ScriptedEngine, reply_of_texts

MODEL = ModelRecord("m1", "Scripted", Path(sys.executable))


def numbered(kind: str, count: int) -> str:
    """Text of which every piece can be told apart, so that a gap in the middle would show."""
    return "".join(f" {kind}{number}" for number in range(count))


def tell(**values: object) -> None:
    """Write a line past all buffers: what was told survives the kill."""
    os.write(1, (json.dumps(values) + "\n").encode())


class Asker:
    """Submits the next question as soon as the window is idle, as a hasty user would."""

    def __init__(self, application: Application) -> None:
        self._app = application
        self._asked = 0
        self._counts = {Channel.THINKING: 0, Channel.ANSWER: 0}
        window = application.window
        shown = window.append_delta

        def append(exchange_id: str, channel: Channel, text: str, token_count: int) -> None:
            shown(exchange_id, channel, text, token_count)
            self._counts[channel] += len(text)
            tell(
                at=time.monotonic(),
                thinking=self._counts[Channel.THINKING],
                answer=self._counts[Channel.ANSWER],
            )

        window.append_delta = append
        self._timer = QTimer(application)
        self._timer.timeout.connect(self._on_tick)
        self._timer.start(20)

    def _on_tick(self) -> None:
        app = self._app
        if app.chat.state_of(app.chats.shown_id) is not ChatState.IDLE or app.models.info is None:
            return
        question = f"Question {self._asked} of this run?"
        self._asked += 1
        self._counts = dict.fromkeys(self._counts, 0)
        app.window.composer.set_text(question)
        app.window.composer.edit.send_pressed.emit()
        tell(asked=question)


def main(profile: str, tokens_per_s: str) -> int:
    """Run until killed."""
    qt = QApplication([])
    paths = paths_for(Path(profile))
    ensure_folders(paths)
    reply = reply_of_texts(numbered("t", 400).lstrip(), numbered("a", 800).lstrip())

    def build(request: LoadRequest) -> Engine:
        return ScriptedEngine([reply], float(tokens_per_s))

    options = StartOptions(only_models=(MODEL,), estimate=no_estimate)
    loaded = load_profile(paths.settings_file)
    application = Application(paths, loaded, build, options, UncaughtErrors())
    application.show()
    asker = Asker(application)
    code = qt.exec()
    del asker
    return code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
