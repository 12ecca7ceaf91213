"""How often the window is drawn while a reply streams (ggml-org/llama.cpp#26540)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QObject

from app.conversation import ReplyStatus
from engine.scripted_engine import reply_of_texts
from tests.app.test_application import Runner

TOKENS = 800
TOKENS_PER_S = 400
MOST_PER_S = 30
CARET_PER_S = 2  # it blinks where the window is the active one, and that too is a drawing


class Redraws(QObject):
    """Counts the drawings of a window: Qt joins all that changed until it gets to draw."""

    def __init__(self, window: QObject) -> None:
        super().__init__(window)
        self.count = 0
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() == QEvent.Type.UpdateRequest
        return False


@pytest.fixture
def runner(qtbot, tmp_path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    yield made
    for application in list(made.running):
        made.close(application)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["thinking", "answer"])
def test_a_fast_reply_redraws_the_window_at_most_thirty_times_a_second(runner, part):
    text = "And so it goes on, **word** by word.\n\n" * (TOKENS // 8)
    texts = (text, "Done.") if part == "thinking" else ("Hm.", text)
    app = runner.start(reply_of_texts(*texts), tokens_per_s=TOKENS_PER_S)
    runner.wait(lambda: app.models.info is not None)
    app.window.composer.edit.setFocus()
    redraws = Redraws(app.window)
    runner.ask(app, "Is it?")
    runner.wait(lambda: runner.reply(app) is not None and redraws.count > 0)
    began, redraws.count = time.monotonic(), 0
    assert runner.wait_done(app).status is ReplyStatus.DONE
    took_s = time.monotonic() - began
    # A slow machine takes longer and draws less often: the bound holds on any. The first and the
    # last drawings (Send becomes Stop and back) are those of the question, not of the text.
    assert redraws.count <= (MOST_PER_S + CARET_PER_S) * took_s + 5
    assert redraws.count > 1, "it is seen to grow"
