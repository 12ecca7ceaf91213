"""Fakes for the controllers: a window that records, a store and jobs that run at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.attachments import Attachments
from app.chat_controller import ChatController, ChatPorts
from app.chat_view import Attached, ChatState, ModelChoice, Notice, PresetChoice, Status
from app.context_room import ContextRoom
from app.conversation import Conversation, ConversationSummary, Exchange, StreamedText
from app.conversation_database import open_store
from app.conversation_list import ConversationList
from app.conversation_store import ConversationStore
from app.engine_events import LoadRequest
from app.exchange_edits import ExchangeEdits
from app.found_versions import FoundVersions
from app.memory_estimate import MemoryEstimate
from app.model_controller import ModelController, ModelPorts
from app.model_downloads import ModelDownloads
from app.model_records import LoadMarker, ModelRecord, ModelsOnDisk
from app.settings import Settings
from app.settings_controller import SettingsController
from app.settings_file import Profile
from app.status_board import StatusBoard
from engine.api import (
    Capability,
    Channel,
    ChatMessage,
    Delta,
    EngineInfo,
    Finished,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    GenerationStats,
)


class FakeView:
    """Holds what a window would show."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.summaries: list[ConversationSummary] = []
        self.selected_id: str | None = None
        self.trash: list[ConversationSummary] = []
        self.attached = Attached()
        self.inserted: list[str] = []
        self.hits: list[str] = []
        self.conversation = Conversation("")
        self.exchanges: dict[str, Exchange] = {}
        self.streamed: list[tuple[str, Channel, str]] = []
        self.prefill: list[tuple[int, int]] = []
        self.states: list[ChatState] = []
        self.waits: dict[str, tuple[str, float | None]] = {}
        self.capabilities: frozenset[Capability] = frozenset(Capability)
        self.models: dict[str, ModelChoice] = {}
        self.active_id: str | None = None
        self.status = Status()
        self.settings = Settings()
        self.revealed: list[str] = []
        self.plan: tuple[str, bool] = ("", True)
        self.notices: dict[str, Notice] = {}
        self.notified: list[tuple[str, str]] = []

    def show_conversations(
        self, summaries: Sequence[ConversationSummary], selected_id: str | None
    ) -> None:
        self.summaries, self.selected_id = list(summaries), selected_id

    def show_trash(self, summaries: Sequence[ConversationSummary]) -> None:
        self.trash = list(summaries)

    def show_conversation(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.exchanges = {e.exchange_id: e for e in conversation.exchanges}
        self.streamed = []

    def show_attachments(self, attached: Attached) -> None:
        self.attached = attached

    def insert_into_question(self, text: str) -> None:
        self.inserted.append(text)

    def show_exchange(self, exchange: Exchange) -> None:
        self.exchanges[exchange.exchange_id] = exchange

    def remove_exchanges_after(self, exchange_id: str) -> None:
        ids = list(self.exchanges)
        for later in ids[ids.index(exchange_id) + 1 :]:
            del self.exchanges[later]

    def append_delta(self, exchange_id: str, channel: Channel, text: str, token_count: int) -> None:
        self.streamed.append((exchange_id, channel, text))

    def show_hit(self, exchange_id: str) -> None:
        self.hits.append(exchange_id)

    def show_prefill(self, exchange_id: str, done_tokens: int, total_tokens: int) -> None:
        self.prefill.append((done_tokens, total_tokens))

    def show_wait(self, exchange_id: str, text: str, share: float | None) -> None:
        self.waits[exchange_id] = (text, share)

    def show_chat_state(self, state: ChatState) -> None:
        self.states.append(state)

    def show_models(self, choices: Sequence[ModelChoice], active_id: str | None) -> None:
        self.models, self.active_id = {c.model_id: c for c in choices}, active_id

    def show_capabilities(self, capabilities: frozenset[Capability]) -> None:
        self.capabilities = capabilities

    def show_status(self, status: Status) -> None:
        self.status = status

    def show_presets(self, choice: PresetChoice) -> None:
        self.presets = choice

    def show_settings(self, settings: Settings) -> None:
        self.settings = settings

    def reveal_setting(self, name: str, *, focus: bool = True) -> None:
        self.revealed.append(name)

    def show_memory_plan(self, text: str, fits: bool) -> None:
        self.plan = (text, fits)

    def show_notice(self, notice: Notice) -> None:
        self.notices[notice.key] = notice

    def hide_notice(self, key: str) -> None:
        self.notices.pop(key, None)

    def notify(self, title: str, text: str) -> None:
        self.notified.append((title, text))

    def actions(self) -> list[str]:
        return [action for notice in self.notices.values() for action, _ in notice.actions]


class FakeStore:
    """A real store, called at once; answers to reads can be held back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store: ConversationStore = open_store(path, 1000.0).store
        self.appended: list[tuple[str, StreamedText]] = []
        self.held: list[Callable[[], None]] | None = None

    def write(self, write: Callable[[ConversationStore], object]) -> None:
        write(self.store)
        write(self.store)  # what the store thread may do after a full disk must not matter

    def read(
        self, read: Callable[[ConversationStore], Any], on_done: Callable[[Any], None]
    ) -> None:
        result = read(self.store)
        if self.held is None:
            on_done(result)
        else:
            self.held.append(lambda: on_done(result))

    def append_text(self, reply_id: str, streamed: StreamedText) -> None:
        self.appended.append((reply_id, streamed))

    def save_draft(self, conversation: Conversation) -> None:
        self.store.save_draft(conversation)

    def conversation(self, conversation_id: str) -> Conversation:
        loaded = self.store.load(conversation_id)
        assert loaded is not None
        return loaded

    def raw(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path)


class FakeJobs:
    """Runs jobs at once, or later when `held` is a list."""

    def __init__(self) -> None:
        self.held: list[Callable[[], None]] | None = None

    def run(self, job: Callable[[], Any], on_done: Callable[[Any], None]) -> None:
        if self.held is None:
            on_done(job())
        else:
            self.held.append(lambda: on_done(job()))


class FakeEngine:
    """Takes requests; the test plays the events."""

    def __init__(self) -> None:
        self.loads: list[tuple[LoadRequest, GenerationControl]] = []
        self.requests: list[tuple[GenerationRequest, GenerationControl]] = []
        self.unloads = 0
        self.loaded = True
        self.tokens_per_character = 1

    def load(self, request: LoadRequest) -> GenerationControl:
        self.loads.append((request, GenerationControl()))
        return self.loads[-1][1]

    def generate(self, request: GenerationRequest) -> GenerationControl:
        self.requests.append((request, GenerationControl()))
        return self.requests[-1][1]

    def unload(self) -> None:
        self.unloads += 1

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int | None:
        characters = sum(len(message.text) for message in messages)
        return characters * self.tokens_per_character if self.loaded else None


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


def stats(thinking: int = 0, answer: int = 0, **changes: Any) -> GenerationStats:
    values: dict[str, Any] = {
        "prompt_tokens": 10,
        "reused_tokens": 0,
        "thinking_tokens": thinking,
        "answer_tokens": answer,
        "prefill_s": 0.5,
        "decode_s": 2.0,
        "first_token_s": 0.6,
        "thinking_s": 1.5 if thinking else 0.0,
        "seed": 7,
        "context_tokens": 10 + thinking + answer,
        "token_ids": tuple(range(thinking + answer)),
    }
    return GenerationStats(**(values | changes))


@dataclass
class Desk:
    """All controllers on fakes, with one model on disk."""

    tmp_path: Path
    profile: Profile = field(default_factory=Profile)

    def __post_init__(self) -> None:
        self.view = FakeView()
        self.store = FakeStore(self.tmp_path / "chats.db")
        self.jobs = FakeJobs()
        self.engine = FakeEngine()
        self.clock = Clock()
        self.offered: list[str] = []
        self.later: list[tuple[float, Callable[[], None]]] = []
        self.estimates: list[tuple[Path, str, int]] = []
        self.estimated_with: EngineInfo | None = None
        self.marker = LoadMarker(self.tmp_path / "loading.json")
        self.status = StatusBoard(self.view, self.clock)
        self.settings = SettingsController(
            self.view, self.jobs, self.tmp_path / "settings.json", self.profile
        )
        self.models = ModelController(
            self.view,
            ModelPorts(
                engine=self.engine,
                settings=self.settings,
                status=self.status,
                jobs=self.jobs,
                marker=self.marker,
                estimate=self._estimate,
                gpu_memory=lambda: None,
                offer_download=self.offered.append,
                clock=self.clock,
            ),
        )
        self.downloads = ModelDownloads(self.view, self.models)
        self.settings.listen(self.models.on_settings_changed)
        self.wall = Clock(5000.0)
        self.chats = ConversationList(self.view, self.store, wall_clock=self.wall)
        self.ports = ports = ChatPorts(
            engine=self.engine,
            chats=self.chats,
            models=self.models,
            settings=self.settings,
            status=self.status,
            clock=self.clock,
            later=lambda seconds, call: self.later.append((seconds, call)),
        )
        self.chat = ChatController(self.view, ports)
        self.edits = ExchangeEdits(self.view, ports, self.chat)
        self.room = ContextRoom(self.view, ports, self.chat, self.edits, self.jobs)
        self.attachments = Attachments(self.view, ports, self.jobs, submit=self.chat.on_submitted)
        self.found = FoundVersions(self.view, self.chats)
        self.chats.start()

    def _estimate(
        self, path: Path, device: str, capacity_tokens: int, loaded: EngineInfo | None
    ) -> MemoryEstimate:
        self.estimates.append((path, device, capacity_tokens))
        self.estimated_with = loaded
        return MemoryEstimate(f"{capacity_tokens} tokens", fits=True)

    def with_model(self, *model_ids: str, ready: bool = True) -> Desk:
        from app.engine_events import ModelLoaded
        from engine.scripted_engine import scripted_info

        ids = model_ids or ("m1",)
        records = [ModelRecord(i, i.upper(), self.tmp_path / i) for i in ids]
        self.models.set_models(records, ModelsOnDisk(tuple(ids)))
        if ready:
            self.models.load_at_start()
            load_id = self.engine.loads[-1][0].load_id
            self.models.on_worker_event(ModelLoaded(load_id, scripted_info()))
        return self

    @property
    def request(self) -> GenerationRequest:
        return self.engine.requests[-1][0]

    @property
    def control(self) -> GenerationControl:
        return self.engine.requests[-1][1]

    def say(self, thinking: str = "", answer: str = "", request_id: str = "") -> None:
        """Stream text into the newest request."""
        name = request_id or self.request.request_id
        for channel, text in ((Channel.THINKING, thinking), (Channel.ANSWER, answer)):
            if text:
                self.clock.now += 1.0
                self.chat.on_engine_event(Delta(name, channel, text, 1))

    def finish(self, reason: FinishReason = FinishReason.END, **changes: Any) -> None:
        self.chat.on_engine_event(Finished(self.request.request_id, reason, stats(1, 1, **changes)))

    def ask(self, question: str, answer: str = "An answer.", thinking: str = "Hm.") -> Exchange:
        """A whole exchange."""
        self.chat.on_submitted(question)
        self.say(thinking, answer)
        self.finish()
        return self.chats.shown.exchanges[-1]
