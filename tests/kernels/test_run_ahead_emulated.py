"""The next decode run is enqueued before the last one is read: on the emulated GPU.

Its streams run as late as CUDA allows, so what was not waited for has not happened yet.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.api import (
    ChatMessage,
    Delta,
    Detail,
    Finished,
    GenerationControl,
    GenerationRequest,
    Role,
    SamplingParams,
    generate,
)
from engine.errors import NumericalError
from engine.models.model_files import open_model
from engine.open_engine import open_engine
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import emulated_cupy

pytestmark = pytest.mark.emulation

# Penalties count what was drawn: a run that is forgotten must leave no trace in them.
PENALTIES = SamplingParams(
    temperature=1.0, top_k=0, top_p=1.0, presence_penalty=0.4, frequency_penalty=0.4
)
NO_STOP = frozenset[int]()
IDS = [5, 80, 17, 200, 3, 3, 41, 99, 250, 12]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3")


@pytest.fixture(scope="module")
def backend(tiny):
    with emulated_cupy():
        from engine.cuda.cuda_backend import CudaBackend

        backend = CudaBackend(open_model(tiny), 128)
        for _ in backend.load(GenerationControl()):
            pass
        yield backend
        backend.close()


def start(backend, ids=IDS, sampling=PENALTIES, detail=Detail.NONE):
    backend.truncate(0, 0)
    backend.set_sampler(0, sampling, 7, ids, (), detail)
    return backend.prefill(0, ids, True)


def ids_of(tokens):
    return [token.token_id for token in tokens]


def in_one_run(backend, count, detail=Detail.NONE):
    return [start(backend, detail=detail), *backend.decode([0], count - 1, NO_STOP)[0]]


@pytest.mark.parametrize("detail", list(Detail))
def test_runs_begun_ahead_give_the_tokens_of_one_long_run(backend, detail):
    whole = in_one_run(backend, 30, detail)
    tokens = [start(backend, detail=detail)]
    plan = [(1, 2), (2, 7), (7, 19), (19, 0)]
    for steps, ahead in plan:
        tokens += backend.decode([0], steps, NO_STOP, ahead)[0]
        # What was begun ahead counts only once it is told.
        assert backend.length(0) == len(IDS) + len(tokens) - 1
    assert tokens == whole


def test_the_host_does_not_wait_for_what_it_begins_ahead(backend):
    start(backend)
    stream = backend._stream
    backend.decode([0], 3, NO_STOP)
    assert stream._done == stream.enqueued
    backend.decode([0], 3, NO_STOP, 5)
    begun = stream.enqueued - stream._done
    assert begun > 5
    # Going on, nothing is sent to the device but launches and the two copies to the host.
    launched = stream.enqueued
    backend.decode([0], 5, NO_STOP)
    assert stream.enqueued == launched
    assert stream._done == stream.enqueued


def test_a_run_that_was_begun_is_forgotten_with_all_its_traces(backend):
    whole = ids_of(in_one_run(backend, 12))
    start(backend)
    backend.decode([0], 4, NO_STOP, 6)
    # Back to the prompt and the first four tokens, as after an injected end of thinking.
    generated = whole[:4]
    backend.truncate(0, len(IDS) + 3)
    backend.set_sampler(0, PENALTIES, 7, IDS, generated, Detail.NONE)
    tokens = [backend.prefill(0, generated[3:], True), *backend.decode([0], 7, NO_STOP)[0]]
    assert ids_of(tokens) == whole[4:]
    # And a new reply is not touched by it either.
    start(backend)
    backend.decode([0], 2, NO_STOP, 6)
    assert ids_of(in_one_run(backend, 12)) == whole


def test_nothing_follows_a_stop_token_in_a_run_that_was_begun(backend):
    whole = ids_of(in_one_run(backend, 12))
    stop = next(token for token in whole[1:] if whole.index(token) == whole.index(token, 1))
    last = whole.index(stop)
    start(backend)
    tokens = backend.decode([0], max(1, last), frozenset({stop}), 6)[0]
    assert ids_of(tokens) == whole[1 : last + 1]
    assert backend.decode([0], 6, frozenset({stop})) == {0: []}
    assert backend.length(0) == len(IDS) + last


def test_a_run_that_was_begun_stops_where_the_cache_is_full(backend):
    start(backend, [7] * 120)
    assert len(backend.decode([0], 5, NO_STOP, 64)[0]) == 5
    assert len(backend.decode([0], 64, NO_STOP)[0]) == 3
    assert backend.length(0) == 128
    assert backend.decode([0], 1, NO_STOP, 1) == {0: []}


def test_logits_that_are_none_in_a_run_that_was_begun_are_told_when_it_is_read(backend):
    good = backend._forward.norm.get()
    start(backend)
    assert len(backend.decode([0], 2, NO_STOP, 4)[0]) == 2
    with backend._stream:
        backend._forward.norm.set(good * 0 + 0x7FC0)
    backend.decode([0], 4, NO_STOP, 3)
    with pytest.raises(NumericalError):
        backend.decode([0], 3, NO_STOP)
    with backend._stream:
        backend._forward.norm.set(good)
    in_one_run(backend, 4)


def test_a_whole_reply_is_the_same_with_and_without_running_ahead(tiny):
    messages = (ChatMessage(Role.USER, "hello"),)
    told = {}
    with emulated_cupy():
        # With two slots the engine asks for nothing ahead.
        for slots in (1, 2):
            engine = open_engine(tiny, "cuda", 128 * slots, slots)
            for _ in engine.load(GenerationControl()):
                pass
            sampling = replace(PENALTIES, seed=5)
            request = GenerationRequest("1", messages, sampling, max_new_tokens=40)
            events = list(generate(engine, request, GenerationControl()))
            assert isinstance(events[-1], Finished)
            told[slots] = (
                "".join(event.text for event in events if isinstance(event, Delta)),
                events[-1].stats.generated_tokens,
            )
            engine.close()
    assert told[1] == told[2]
    assert told[1][1] == 40
