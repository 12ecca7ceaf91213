"""The real worker thread with scripted engines: order, rate, cancel, errors, orderly end."""

from __future__ import annotations

import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.engine_events import (
    GraphRefused,
    LoadAdvanced,
    LoadFailed,
    LoadRequest,
    ModelLoaded,
    ModelUnloaded,
    UnexpectedFailure,
    WorkerEvent,
)
from app.engine_thread import EngineThread, coalesced
from engine.api import (
    Channel,
    ChatMessage,
    Delta,
    Engine,
    EngineInfo,
    Event,
    Failed,
    Finished,
    FinishReason,
    GenerationRequest,
    PrefillProgress,
    Role,
)
from engine.errors import DeviceLost, NotEnoughMemory, PromptTooLong
from engine.scripted_engine import (
    ScriptedEngine,
    ScriptedReply,
    reply_of_texts,
    scripted_info,
)

LONG = "word " * 2000


class Recorder:
    """Collects the events of an EngineThread, and the thread that they arrive on."""

    def __init__(self, qtbot: QtBot, factory: Callable[[LoadRequest], Engine]) -> None:
        self.events: list[WorkerEvent] = []
        self.threads: set[threading.Thread] = set()
        self.thread = EngineThread(factory, self._on_event)
        self.thread.start()
        self._qtbot = qtbot

    def _on_event(self, event: WorkerEvent) -> None:
        self.threads.add(threading.current_thread())
        self.events.append(event)

    def wait_for(self, *kinds: type) -> WorkerEvent:
        self._qtbot.waitUntil(
            lambda: any(isinstance(e, kinds) for e in self.events), timeout=30_000
        )
        return next(e for e in self.events if isinstance(e, kinds))

    def load(self) -> None:
        self.thread.load(LoadRequest("load-1", "m", Path("m"), "cpu", 8192))

    def ask(self, request_id: str = "r1", text: str = "Hello"):
        message = ChatMessage(Role.USER, text)
        return self.thread.generate(GenerationRequest(request_id, (message,)))

    def texts(self, channel: Channel, request_id: str = "r1") -> str:
        deltas = [e for e in self.events if isinstance(e, Delta) and e.request_id == request_id]
        return "".join(d.text for d in deltas if d.channel is channel)


@pytest.fixture
def recorder(qtbot: QtBot) -> Iterator[Callable[[Callable[[LoadRequest], Engine]], Recorder]]:
    made: list[Recorder] = []

    def make(factory: Callable[[LoadRequest], Engine]) -> Recorder:
        made.append(Recorder(qtbot, factory))
        return made[-1]

    yield make
    for each in made:
        assert each.thread.shutdown(10.0)


def scripted(*replies: ScriptedReply, tokens_per_s: float = 0.0, **more) -> ScriptedEngine:
    return ScriptedEngine(
        replies or (reply_of_texts("Let me see.", "It is 4."),), tokens_per_s, **more
    )


def test_engine_is_built_on_its_own_thread_and_events_arrive_on_the_gui_thread(recorder):
    built_on: list[threading.Thread] = []

    def factory(request: LoadRequest) -> Engine:
        built_on.append(threading.current_thread())
        return scripted()

    r = recorder(factory)
    r.load()
    r.wait_for(ModelLoaded)
    assert built_on[0] is not threading.main_thread()
    assert r.threads == {threading.main_thread()}


def test_a_reply_arrives_whole_in_both_channels_and_ends_once(recorder):
    r = recorder(lambda request: scripted())
    r.load()
    r.ask()
    r.wait_for(Finished)
    assert isinstance(r.events[0], LoadAdvanced)
    assert r.texts(Channel.THINKING) == "Let me see."
    assert r.texts(Channel.ANSWER) == "It is 4."
    assert sum(isinstance(e, Finished | Failed) for e in r.events) == 1
    assert isinstance(r.events[-1], Finished)


def test_counting_tokens_works_beside_a_running_reply(recorder):
    r = recorder(lambda request: scripted(reply_of_texts("", LONG), tokens_per_s=200))
    assert r.thread.count_tokens([]) is None
    r.load()
    control = r.ask()
    r.wait_for(Delta)
    assert r.thread.count_tokens([ChatMessage(Role.USER, "12345678")]) == 6
    control.cancel()
    r.wait_for(Finished)


@pytest.mark.parametrize("stage", ["before load", "during load", "prefill", "thinking", "answer"])
def test_cancel_ends_the_request_at_every_stage(recorder, stage):
    thinking = LONG if stage == "thinking" else ""
    engine = scripted(reply_of_texts(thinking, LONG), tokens_per_s=300)
    r = recorder(lambda request: engine)
    r.load()
    control = r.ask()
    if stage == "before load":
        control.cancel()
    elif stage == "during load":
        r.wait_for(LoadAdvanced)
    elif stage == "prefill":
        r.wait_for(PrefillProgress)
    else:
        r.wait_for(Delta)
    control.cancel()
    finished = r.wait_for(Finished)
    assert isinstance(finished, Finished)
    assert finished.reason is FinishReason.CANCELLED
    assert len(finished.stats.token_ids) < 2000


def test_cancelled_load_reports_it_and_the_next_load_works(recorder):
    r = recorder(lambda request: scripted(tokens_per_s=20))
    control = r.thread.load(LoadRequest("load-1", "m", Path("m"), "cpu", 8192))
    r.wait_for(LoadAdvanced)
    control.cancel()
    failed = r.wait_for(LoadFailed)
    assert "cancelled" in str(failed.error)
    r.load()
    r.wait_for(ModelLoaded)


def test_a_load_error_closes_the_half_loaded_engine(recorder):
    engine = scripted(load_error=NotEnoughMemory(2_000_000_000, 1_000_000_000, "GPU"))
    r = recorder(lambda request: engine)
    r.load()
    failed = r.wait_for(LoadFailed)
    assert isinstance(failed.error, NotEnoughMemory)
    assert engine.closed


def test_loading_another_model_closes_the_first(recorder):
    engines = [scripted(), scripted()]
    queue = list(engines)
    r = recorder(lambda request: queue.pop(0))
    r.load()
    r.wait_for(ModelLoaded)
    r.load()
    r.thread.unload()
    r.wait_for(ModelUnloaded)
    assert [engine.closed for engine in engines] == [True, True]


def test_a_bug_in_the_engine_fails_the_reply_and_the_next_one_works(recorder):
    crash = ScriptedReply(((Channel.ANSWER, "Ha"),), crash=KeyError("bug"), error_after=1)
    r = recorder(lambda request: scripted(crash, reply_of_texts("", "fine")))
    r.load()
    r.ask("r1")
    failed = r.wait_for(Failed)
    assert isinstance(failed.error, UnexpectedFailure)
    assert "bug" in failed.error.details
    assert r.texts(Channel.ANSWER) == "Ha"
    r.ask("r2")
    r.wait_for(Finished)
    assert r.texts(Channel.ANSWER, "r2") == "fine"


def test_a_panic_that_is_no_exception_is_caught_too(recorder):
    class Panic(BaseException):
        pass

    def factory(request: LoadRequest) -> Engine:
        raise Panic("rust")

    r = recorder(factory)
    r.load()
    failed = r.wait_for(LoadFailed)
    assert isinstance(failed.error, UnexpectedFailure)


def test_asking_without_a_model_fails_in_words(recorder):
    r = recorder(lambda request: scripted())
    r.ask()
    assert "loaded model" in str(r.wait_for(Failed).error)


def test_after_a_sticky_error_the_engine_is_never_called_again(recorder):
    lost = ScriptedReply((), error=DeviceLost("illegal address"))
    engine = scripted(lost)
    r = recorder(lambda request: engine)
    r.load()
    r.ask("r1")
    r.wait_for(Failed)
    r.ask("r2")
    r.load()
    failed = r.wait_for(LoadFailed)
    assert isinstance(failed.error, DeviceLost)
    assert [request.request_id for request in engine.requests] == ["r1"]
    assert not engine.closed


def test_too_long_a_prompt_arrives_as_its_own_error(recorder):
    r = recorder(lambda request: scripted())
    r.load()
    r.ask(text="x" * 40_000)
    assert isinstance(r.wait_for(Failed).error, PromptTooLong)


@pytest.mark.parametrize("stage", ["idle", "loading", "generating", "never started a model"])
def test_shutdown_at_every_stage_ends_the_thread_and_frees_the_model(qtbot, stage):
    engine = scripted(reply_of_texts(LONG, LONG), tokens_per_s=30 if stage == "loading" else 500)
    r = Recorder(qtbot, lambda request: engine)
    if stage != "never started a model":
        r.load()
        r.wait_for(LoadAdvanced if stage == "loading" else ModelLoaded)
    if stage == "generating":
        r.ask()
        r.wait_for(Delta)
    assert r.thread.shutdown(10.0)
    assert engine.closed is (stage != "never started a model")
    if stage == "generating":
        # The end of the cancelled reply still reaches the window, so that it can be stored.
        last = r.events[-1]
        assert isinstance(last, Finished)
        assert last.reason is FinishReason.CANCELLED


def test_shutdown_reports_an_engine_that_hangs(qtbot):
    release = threading.Event()

    def factory(request: LoadRequest) -> Engine:
        release.wait(20)
        return scripted()

    r = Recorder(qtbot, factory)
    r.load()
    assert r.thread.shutdown(0.05) is False
    release.set()
    assert r.thread.shutdown(10.0)


def test_the_switch_interval_lets_the_engine_run_beside_a_busy_window(recorder):
    recorder(lambda request: scripted())
    assert sys.getswitchinterval() == pytest.approx(0.0001)


def deltas(count: int, channel: Channel = Channel.ANSWER) -> list[Event]:
    return [Delta("r", channel, f"{i} ", 1) for i in range(count)]


def ticking(step_s: float) -> Callable[[], float]:
    now = [0.0]

    def clock() -> float:
        now[0] += step_s
        return now[0]

    return clock


@pytest.mark.parametrize("tokens_per_s", [5, 100, 2500])
def test_at_most_thirty_events_a_second_whatever_the_speed(tokens_per_s):
    now = [0.0]
    arrivals: list[float] = []

    def source() -> Iterator[Event]:
        for event in deltas(2 * tokens_per_s):
            now[0] += 1 / tokens_per_s
            yield event

    text = ""
    for event in coalesced(source(), lambda: now[0], 1 / 30):
        arrivals.append(now[0])
        assert isinstance(event, Delta)
        text += event.text
    assert text == "".join(f"{i} " for i in range(2 * tokens_per_s))
    busiest = max(sum(start <= t < start + 1.0 for t in arrivals) for start in arrivals)
    assert busiest <= 31
    # A slow engine's tokens are not held back for the next one.
    assert len(arrivals) >= min(2 * tokens_per_s, 40)


def test_joined_deltas_add_their_counts_and_keep_channels_apart():
    events = [*deltas(5, Channel.THINKING), *deltas(3)]
    joined = list(coalesced(iter(events), lambda: 0.0, 1.0))
    kinds = [(e.channel, e.token_count) for e in joined if isinstance(e, Delta)]
    assert sum(n for c, n in kinds if c is Channel.THINKING) == 5
    assert sum(n for c, n in kinds if c is Channel.ANSWER) == 3
    channels = [c for c, _ in kinds]
    assert channels == sorted(channels, key=[Channel.THINKING, Channel.ANSWER].index)


def test_the_last_prefill_progress_is_never_skipped():
    progress: list[Event] = [PrefillProgress("r", n, 100, 0) for n in range(1, 101)]
    joined = list(coalesced(iter([*progress, *deltas(1)]), ticking(0.0001), 1.0))
    assert PrefillProgress("r", 100, 100, 0) in joined
    assert len(joined) < 6


def test_request_ids_are_kept(recorder):
    r = recorder(lambda request: scripted())
    r.load()
    name = uuid.uuid4().hex
    r.ask(name)
    assert r.wait_for(Finished).request_id == name


class _RefusesGraph(ScriptedEngine):
    """Tells of a refused graph once so many requests were taken."""

    requests_before = 0

    def info(self) -> EngineInfo:
        refused = len(self.requests) >= self.requests_before
        return replace(scripted_info(on_gpu=True), graph_refused=refused)


@pytest.mark.parametrize(("requests_before", "told_after"), [(0, ModelLoaded), (1, Finished)])
def test_a_refused_graph_is_told_once_however_many_loads_and_replies_follow(
    recorder, requests_before, told_after
):
    def factory(request: LoadRequest) -> Engine:
        engine = _RefusesGraph([reply_of_texts("", "Yes."), reply_of_texts("", "No.")])
        engine.requests_before = requests_before
        return engine

    r = recorder(factory)
    r.load()
    r.ask("r1")
    r.ask("r2")
    r.load()
    r.ask("r3")
    r.thread.unload()
    r.wait_for(ModelUnloaded)
    places = [place for place, event in enumerate(r.events) if isinstance(event, GraphRefused)]
    assert len(places) == 1
    first = next(place for place, event in enumerate(r.events) if isinstance(event, told_after))
    assert places == [first + 1]
