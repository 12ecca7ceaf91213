"""Whatever another thread does, what hangs on a cycle is destroyed on the GUI thread."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

from app.engine_events import LoadRequest, ModelLoaded
from app.engine_thread import EngineThread
from app.gui_garbage import GuiGarbage
from engine.api import Engine, Event, GenerationControl
from engine.scripted_engine import ScriptedEngine, reply_of_texts
from tests.app.test_application import MODEL


class Cycle:
    """Stands for a widget in a cycle: tells the thread that destroys it."""

    def __init__(self, destroyed_in: list[str]) -> None:
        self.itself = self
        self._destroyed_in = destroyed_in

    def __del__(self) -> None:
        self._destroyed_in.append(threading.current_thread().name)


class LitteringEngine(ScriptedEngine):
    """Makes so much garbage that Python would collect at once, on this thread."""

    def __init__(self) -> None:
        super().__init__([reply_of_texts("Hm.", "Yes.")])
        self.thread = ""

    def load(self, control: GenerationControl) -> Iterator[Event]:
        self.thread = threading.current_thread().name
        for _ in range(60_000):
            cycle: list[object] = []
            cycle.append(cycle)
        yield from super().load(control)


@pytest.fixture
def collecting() -> Iterator[None]:
    was_enabled = gc.isenabled()
    gc.enable()
    yield
    if not was_enabled:
        gc.disable()


def test_the_engine_thread_never_collects(qtbot, collecting):
    engine, events = LitteringEngine(), []

    def play(request: LoadRequest) -> Engine:
        return engine

    thread = EngineThread(play, events.append)
    thread.start()
    destroyed_in: list[str] = []
    Cycle(destroyed_in)
    thread.load(LoadRequest("l1", MODEL.model_id, MODEL.path, "cpu", 1024))
    qtbot.waitUntil(lambda: any(isinstance(each, ModelLoaded) for each in events), timeout=20_000)
    qtbot.waitUntil(lambda: bool(destroyed_in), timeout=20_000)
    assert thread.shutdown(20.0)
    assert engine.thread != threading.main_thread().name
    assert destroyed_in == [threading.main_thread().name]
    assert gc.isenabled(), "Python's own way again once the thread has ended"


def test_each_generation_is_collected_when_it_is_due(qtbot, collecting, monkeypatch):
    asked: list[int] = []
    counts = [(900, 3, 2), (900, 12, 2), (100, 12, 12), (10, 1, 1)]
    monkeypatch.setattr("app.gui_garbage.gc.get_threshold", lambda: (700, 10, 10))
    monkeypatch.setattr("app.gui_garbage.gc.collect", asked.append)
    garbage = GuiGarbage()
    for count in counts:
        monkeypatch.setattr("app.gui_garbage.gc.get_count", lambda count=count: count)
        garbage._on_tick()
    assert asked == [0, 1, 2]


def test_what_was_switched_off_before_stays_off(qtbot, collecting):
    gc.disable()
    garbage = GuiGarbage()
    garbage.start()
    garbage.stop()
    assert not gc.isenabled()
    gc.enable()
    garbage.stop()
    assert gc.isenabled()
