"""Scenes whose words are the demo model's own: it thinks on the real engine thread into the window.

It is asked greedily, so a picture shows the same words each time; the seconds are those measured.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace

from PySide6.QtWidgets import QApplication

from app.chat_request import request_for
from app.chat_view import ChatState, ModelChoice, ModelState, Status
from app.conversation import Conversation, Exchange, Reply, ReplyStatus
from app.engine_events import LoadFailed, LoadRequest, ModelLoaded, WorkerEvent
from app.engine_thread import EngineThread
from app.language import spoken, translate
from app.memory_estimate import estimate_memory
from app.model_records import DEMO_MODEL_ID
from app.paths import resource_dir
from app.running_reply import RunningReply
from app.settings import Settings, with_value
from app.ui.main_window import MainWindow
from engine.api import Channel, Delta, Engine, Failed, Finished, GenerationStats
from engine.open_engine import open_engine
from tests.gui.scenes import summaries

FOLDER = resource_dir() / "demo_model"
CAPACITY_TOKENS = 2048
QUESTIONS = ("What is 48 + 76?", "and times two?")
STREAMED = "What is 47 × 86?"
STREAMED_TOKENS = 120
"""After so many tokens the picture of the thinking is taken."""

REAL = ModelChoice("q", "Qwen3-0.6B", ModelState.DOWNLOADING, 0.43, "3 min left")
_STATES = {Channel.THINKING: ChatState.THINKING, Channel.ANSWER: ChatState.ANSWERING}


def demo_choice() -> ModelChoice:
    """The demo model as the header knows it, with its suggestions."""
    prompts = json.loads((FOLDER / "suggestions.json").read_text("utf-8"))["prompts"][spoken()]
    return ModelChoice(
        DEMO_MODEL_ID,
        translate("Models", "Demo model"),
        ModelState.READY,
        is_demo=True,
        suggestions=tuple(prompt["question"] for prompt in prompts),
    )


class DemoStage:
    """The demo model, loaded, and the chat that it has in a window."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._settings = with_value(with_value(Settings(), "temperature", 0.0), "seed", 1)
        self._chat = Conversation("c1", "Chat", ())
        self._events: list[WorkerEvent] = []
        self._thread = EngineThread(_open, self._events.append, window)
        self._thread.start()
        self._thread.load(LoadRequest("1", DEMO_MODEL_ID, FOLDER, "cpu", CAPACITY_TOKENS))
        loaded = self._next(ModelLoaded, LoadFailed)
        assert isinstance(loaded, ModelLoaded), loaded
        self._device = loaded.info.device
        _furnish(window, self._device)
        window.show_conversation(self._chat)

    def ask(self, question: str, max_new_tokens: int | None = None) -> None:
        """Stream the reply into the window; cut at `max_new_tokens` it is shown as going on."""
        exchange_id = f"e{len(self._chat.exchanges)}"
        base = Reply(f"r-{exchange_id}", status=ReplyStatus.RUNNING, model="Demo model")
        exchange = Exchange(exchange_id, question, (base,), 0)
        self._chat = replace(self._chat, exchanges=(*self._chat.exchanges, exchange))
        settings = with_value(self._settings, "max_new_tokens", max_new_tokens)
        request = request_for("1", self._chat, exchange_id, base, settings)
        self._window.show_conversations(summaries(self._chat.exchanges[0].question), "c1")
        self._window.show_exchange(exchange)
        self._window.show_chat_state(ChatState.PREFILLING)
        control = self._thread.generate(request)
        running = RunningReply("c1", exchange_id, "1", base, control, time.monotonic())
        while isinstance(event := self._next(Delta, Finished, Failed), Delta):
            running.add(event, time.monotonic())
            self._window.show_chat_state(_STATES[event.channel])
            self._window.append_delta(exchange_id, event.channel, event.text, event.token_count)
        assert isinstance(event, Finished), event
        self._show_status(event.stats)
        if max_new_tokens is None:
            done = replace(exchange, replies=(running.finished(event.reason, event.stats),))
            self._chat = replace(self._chat, exchanges=(*self._chat.exchanges[:-1], done))
            self._window.show_exchange(done)
            self._window.show_chat_state(ChatState.IDLE)

    def close(self) -> None:
        """End the thread; what the window shows stays."""
        assert self._thread.shutdown(5.0)

    def _show_status(self, stats: GenerationStats) -> None:
        self._window.show_status(
            Status(
                "Demo model",
                self._device,
                "",
                stats.prefill_tokens_per_s,
                stats.decode_tokens_per_s,
                stats.first_token_s,
                stats.context_tokens,
                CAPACITY_TOKENS,
            )
        )

    def _next(self, *kinds: type) -> WorkerEvent:
        """Wait for the next event of one of these kinds."""
        while True:
            while self._events:
                event = self._events.pop(0)
                if isinstance(event, kinds):
                    return event
            QApplication.processEvents()
            time.sleep(0.002)


def _furnish(window: MainWindow, device: str) -> None:
    """The demo model answers, the real one downloads."""
    window.show_models([demo_choice(), REAL], DEMO_MODEL_ID)
    window.show_status(Status("Demo model", device, "", 0, 0, 0, 0, CAPACITY_TOKENS))
    estimate = estimate_memory(FOLDER, "cpu", CAPACITY_TOKENS)
    window.show_memory_plan(estimate.text, estimate.fits)


def _open(request: LoadRequest) -> Engine:
    return open_engine(request.path, request.device, request.capacity_tokens)


def scene_demo_empty(window: MainWindow) -> None:
    """An empty chat with what the demo model is good at."""
    _furnish(window, "CPU (NumPy)")
    window.show_conversations(summaries("New chat"), "c1")
    window.show_conversation(Conversation("c1", "New chat", ()))


def scene_demo_thinking(window: MainWindow) -> None:
    """In the middle of a thought, while the real model downloads."""
    stage = DemoStage(window)
    stage.ask(STREAMED, STREAMED_TOKENS)
    stage.close()


def scene_demo_done(window: MainWindow) -> None:
    """Two questions, the second going on from the first answer."""
    stage = DemoStage(window)
    for question in QUESTIONS:
        stage.ask(question)
    stage.close()


def scene_demo_paused(window: MainWindow) -> None:
    """The download of the real model was paused."""
    scene_demo_done(window)
    paused = ModelChoice("q", "Qwen3-0.6B", ModelState.ABSENT, 0.43, is_paused=True)
    window.show_models([demo_choice(), paused], DEMO_MODEL_ID)


def scene_demo_arrived(window: MainWindow) -> None:
    """The real model is there, and the header offers it."""
    scene_demo_done(window)
    arrived = ModelChoice("q", "Qwen3-0.6B", ModelState.ON_DISK, is_new=True)
    window.show_models([demo_choice(), arrived], DEMO_MODEL_ID)
