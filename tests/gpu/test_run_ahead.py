"""On a real GPU: runs begun ahead, graphs launched by the driver, and a busy thread beside them."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

pytest.importorskip("cupy")

from engine.api import (
    ChatMessage,
    Delta,
    Finished,
    GenerationControl,
    GenerationRequest,
    Role,
    SamplingParams,
    generate,
)
from engine.bench.speed import switch_interval
from engine.cuda import graph_launch
from engine.open_engine import open_engine
from tests.engine.models.tiny_model import make_tiny_model

SAMPLING = replace(SamplingParams(temperature=1.0, top_k=0, top_p=1.0), seed=5)
TOKENS = 400


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3")


def told(folder, slots=1):
    """Text and ids of one reply; with more than one slot nothing is begun ahead."""
    engine = open_engine(folder, "cuda", 512 * slots, slots)
    for _ in engine.load(GenerationControl()):
        pass
    messages = (ChatMessage(Role.USER, "hello"),)
    request = GenerationRequest("1", messages, SAMPLING, max_new_tokens=TOKENS)
    events = list(generate(engine, request, GenerationControl()))
    engine.close()
    assert isinstance(events[-1], Finished)
    text = "".join(event.text for event in events if isinstance(event, Delta))
    return text, events[-1].stats.token_ids


def test_a_reply_is_the_same_with_and_without_running_ahead(tiny):
    assert told(tiny) == told(tiny, slots=2)


def test_a_reply_is_the_same_beside_a_busy_thread(tiny):
    quiet = told(tiny)
    stop = threading.Event()

    def work():
        while not stop.is_set():
            pass

    thread = threading.Thread(target=work)
    thread.start()
    try:
        with switch_interval():
            assert told(tiny) == quiet
    finally:
        stop.set()
        thread.join()


def test_the_driver_launches_graphs_as_cupy_does(tiny, monkeypatch):
    assert graph_launch._driver_launch() is not None
    by_driver = told(tiny)
    monkeypatch.setattr(graph_launch, "_driver_launch", lambda: None)
    assert told(tiny) == by_driver
