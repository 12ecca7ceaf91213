"""The CPU backend on a tiny model: cache, chunks, slots, faults; and the engine on top of it."""

import tracemalloc

import numpy as np
import pytest

from engine.api import (
    ChatMessage,
    Delta,
    Detail,
    Failed,
    Finished,
    GenerationControl,
    GenerationRequest,
    LoadProgress,
    Role,
    SamplingParams,
    ThinkingParams,
    generate,
)
from engine.cpu import cpu_backend
from engine.cpu.cpu_backend import CpuBackend, cpu_weight_dtype
from engine.errors import LoadCancelled, NotEnoughMemory, NumericalError
from engine.generation import TextEngine
from engine.models.memory_plan import plan_regions
from engine.models.model_files import open_model
from engine.text.tokenizer import Tokenizer
from tests.engine.models.tiny_model import make_tiny_model

GREEDY = SamplingParams(temperature=0.0)
IDS = [5, 100, 7, 33, 250, 7, 7, 19, 300, 2, 41, 90]


@pytest.fixture(scope="module", params=["qwen3", "llama"])
def folder(request, tmp_path_factory):
    return make_tiny_model(
        tmp_path_factory.mktemp("cpu") / request.param, model_type=request.param, seed=3
    )


def loaded(folder, capacity=64, slots=1):
    backend = CpuBackend(open_model(folder), capacity, slots)
    for _ in backend.load(GenerationControl()):
        pass
    for slot in range(slots):
        backend.set_sampler(slot, GREEDY, 0, (), (), Detail.ALTERNATIVES)
    return backend


def logits_of(backend, ids, slot=0):
    """Logits of every position, of a prefill of `ids`."""
    found = []
    backend.prefill(slot, ids, False, lambda n, v: found.append(v) if n == "logits" else None)
    return found[0]


def test_prefill_of_all_equals_prefill_and_decode_of_the_last(folder):
    whole = loaded(folder).prefill(0, IDS, True)
    backend = loaded(folder)
    backend.prefill(0, IDS[:-1], True)
    backend._pending[0] = IDS[-1]
    (stepped,) = backend.decode([0], 1, frozenset())[0]
    assert stepped.token_id == whole.token_id
    found, expected = np.array(stepped.alternatives), np.array(whole.alternatives)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_chunks_equal_one_chunk(folder):
    whole = logits_of(loaded(folder), IDS)
    backend = loaded(folder)
    parts = [logits_of(backend, IDS[a:b]) for a, b in ((0, 1), (1, 6), (6, len(IDS)))]
    np.testing.assert_allclose(np.concatenate(parts), whole, atol=1e-4)


def test_truncation_and_going_on_equals_a_cold_run(folder):
    backend = loaded(folder)
    backend.prefill(0, [*IDS[:5], 200, 201, 202], True)
    backend.truncate(0, 5)
    assert backend.length(0) == 5
    warm = logits_of(backend, IDS[5:])
    np.testing.assert_allclose(warm, logits_of(loaded(folder), IDS)[5:], atol=1e-4)


def test_slots_do_not_touch_each_other(folder):
    both = loaded(folder, slots=2)
    alone = loaded(folder)
    both.prefill(0, IDS, True)
    both.prefill(1, IDS[::-1], True)
    alone.prefill(0, IDS, True)
    together = both.decode([0, 1], 6, frozenset())
    single = alone.decode([0], 6, frozenset())
    assert [t.token_id for t in together[0]] == [t.token_id for t in single[0]]
    assert [t.token_id for t in together[1]] != [t.token_id for t in together[0]]


def test_decode_stops_at_a_stop_token_and_when_the_cache_is_full(folder):
    backend = loaded(folder, capacity=16)
    backend.prefill(0, IDS, True)
    free = [t.token_id for t in backend.decode([0], 50, frozenset())[0]]
    assert len(free) == 4
    assert backend.length(0) == 16
    assert backend.decode([0], 5, frozenset())[0] == []
    backend.truncate(0, 0)
    backend.prefill(0, IDS, True)
    stop = free[1]
    stopped = [t.token_id for t in backend.decode([0], 50, frozenset({stop}))[0]]
    assert stopped == free[: free.index(stop) + 1]


def test_prefill_without_sampling_forgets_the_pending_token(folder):
    backend = loaded(folder)
    backend.prefill(0, IDS, True)
    backend.prefill(0, IDS, False)
    assert backend.decode([0], 3, frozenset())[0] == []


def test_load_tells_its_progress_to_the_last_byte(folder):
    backend = CpuBackend(open_model(folder), 64)
    events = list(backend.load(GenerationControl()))
    assert all(isinstance(e, LoadProgress) for e in events)
    assert events[-1].done_bytes == events[-1].total_bytes
    done = [e.done_bytes for e in events]
    assert done == sorted(done)


def test_load_can_be_cancelled(folder):
    control = GenerationControl()
    loading = CpuBackend(open_model(folder), 64).load(control)
    next(loading)
    control.cancel()
    with pytest.raises(LoadCancelled):
        next(loading)


def test_too_little_memory_is_refused_before_reading(folder, monkeypatch):
    monkeypatch.setattr(cpu_backend, "free_ram_bytes", lambda: 1000)
    backend = CpuBackend(open_model(folder), 64)
    with pytest.raises(NotEnoughMemory) as refused:
        next(backend.load(GenerationControl()))
    assert refused.value.needed_bytes == backend.memory().total_bytes
    assert refused.value.free_bytes == 1000


@pytest.mark.slow
def test_the_bf16_path_gives_the_same_logits(folder, monkeypatch):
    pytest.importorskip("numba", reason="the extra [cpu] is not installed")
    expected = logits_of(loaded(folder), IDS)
    monkeypatch.setattr(cpu_backend, "_BF16_PARAMETERS", 0)
    assert cpu_weight_dtype(open_model(folder)) == "bfloat16"
    backend = loaded(folder)
    assert "numba" in backend.device_name
    by_blocks = logits_of(backend, IDS)
    backend.truncate(0, 0)
    by_rows = np.concatenate([logits_of(backend, [i]) for i in IDS])
    limit = 1e-5 * np.abs(expected).max()
    assert np.abs(by_blocks - expected).max() <= limit
    assert np.abs(by_rows - expected).max() <= limit


def test_weights_that_are_not_bf16_stay_float32(tmp_path, monkeypatch):
    monkeypatch.setattr(cpu_backend, "_BF16_PARAMETERS", 0)
    files = open_model(make_tiny_model(tmp_path / "f16", dtype="F16"))
    assert cpu_weight_dtype(files) == "float32"


# --- the engine on the real backend


def engine_on(folder, capacity=256, slots=1, chunk=None):
    backend = loaded(folder, capacity, slots)
    if chunk:
        backend._chunk = chunk
    return TextEngine(backend, Tokenizer.from_folder(folder), "tiny")


def ids_of(engine, text, **options):
    options = {"max_new_tokens": 24, "sampling": SamplingParams(seed=5)} | options
    messages = tuple(ChatMessage(Role.USER, part) for part in text.split("|"))
    asked = GenerationRequest("r", messages, thinking=ThinkingParams(False), **options)
    last = list(generate(engine, asked, GenerationControl()))[-1]
    assert isinstance(last, Finished)
    return last.stats


def test_a_warm_run_equals_a_cold_run(folder):
    engine = engine_on(folder)
    ids_of(engine, "what is the capital")
    warm = ids_of(engine, "what is the answer to that")
    cold = ids_of(engine_on(folder), "what is the answer to that")
    assert warm.reused_tokens > 0 == cold.reused_tokens
    assert warm.token_ids == cold.token_ids


def test_small_chunks_give_the_same_reply(folder):
    text = "what is the capital of the answer"
    small, whole = engine_on(folder, chunk=3), engine_on(folder)
    assert ids_of(small, text).token_ids == ids_of(whole, text).token_ids


def test_a_seed_replays_and_another_seed_does_not(folder):
    engine = engine_on(folder)
    first = ids_of(engine, "hello", sampling=SamplingParams(temperature=2.0, top_k=0, seed=9))
    again = ids_of(engine, "hello", sampling=SamplingParams(temperature=2.0, top_k=0, seed=9))
    other = ids_of(engine, "hello", sampling=SamplingParams(temperature=2.0, top_k=0, seed=10))
    assert first.token_ids == again.token_ids != other.token_ids


def test_the_context_fills_to_the_last_position_and_no_further(folder):
    engine = engine_on(folder, capacity=40)
    stats = ids_of(engine, "hello", max_new_tokens=None, sampling=GREEDY)
    assert stats.context_tokens <= 40
    assert engine._backend.length(0) <= 40


def test_nan_weights_end_in_a_numerical_error_and_the_engine_lives_on(folder):
    engine = engine_on(folder)
    weights = engine._backend._model._weights
    weights.norm[3] = np.nan
    asked = GenerationRequest("r", (ChatMessage(Role.USER, "hello"),))
    (*_, failed) = generate(engine, asked, GenerationControl())
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, NumericalError)
    weights.norm[3] = 1.0
    assert ids_of(engine, "hello").reused_tokens == 0


def test_deltas_spell_the_tokens(folder):
    engine = engine_on(folder)
    asked = GenerationRequest(
        "r",
        (ChatMessage(Role.USER, "hello"),),
        SamplingParams(temperature=1.5, seed=3),
        ThinkingParams(False),
        max_new_tokens=40,
        detail=Detail.LOGPROB,
    )
    events = list(generate(engine, asked, GenerationControl()))
    told = [info.token_id for e in events if isinstance(e, Delta) for info in e.tokens]
    stats = events[-1].stats
    stops = engine._tokenizer.stop_token_ids
    assert told == [i for i in stats.token_ids if i not in stops]


@pytest.mark.parametrize(("capacity", "inner"), [(8192, 96), (256, 12_288)])
def test_the_plan_is_what_prefill_and_decode_really_hold(tmp_path, capacity, inner):
    folder = make_tiny_model(
        tmp_path / "m", num_hidden_layers=2, intermediate_size=inner, max_position_embeddings=8192
    )
    backend = loaded(folder, capacity)
    # As though the cache were full but for one chunk.
    chunk = min(backend.prefill_chunk_tokens, capacity - 1)
    backend._caches[0].length = capacity - 1 - chunk
    tracemalloc.start()
    try:
        backend.prefill(0, [1] * chunk, True)
        backend.decode([0], 1, frozenset())
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Only what is asked for while computing is traced, so no tables and no sampler state.
    regions = plan_regions(open_model(folder).config, capacity, device="cpu")
    planned = next(r.nbytes for r in regions if r.name == "workspace.largest_step")
    assert 0.7 * planned < held < 1.02 * planned


def test_a_process_that_may_not_take_what_is_free_says_so(folder, monkeypatch):
    def refused(*arguments):
        raise MemoryError

    monkeypatch.setattr(cpu_backend, "KvCache", refused)
    backend = CpuBackend(open_model(folder), 64)
    with pytest.raises(NotEnoughMemory, match="main memory"):
        list(backend.load(GenerationControl()))
