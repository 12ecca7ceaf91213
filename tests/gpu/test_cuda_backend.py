"""The CUDA backend's behaviour: sampling, slots, truncation, limits, faults, memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cupy")

import cupy

from engine.api import (
    Channel,
    ChatMessage,
    Delta,
    Detail,
    Finished,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    Role,
    SamplingParams,
    generate,
)
from engine.cpu.cpu_backend import CpuBackend
from engine.cpu.sampler import Sampler
from engine.cuda.cuda_backend import CudaBackend
from engine.errors import LoadCancelled, NotEnoughMemory, NumericalError, UnsupportedModel
from engine.models.memory_plan import plan_memory
from engine.models.model_files import open_model
from engine.open_engine import open_engine
from tests.engine.models.tiny_model import make_tiny_model
from tests.gpu.conftest import ROOT, SMOLLM2

GREEDY = SamplingParams(temperature=0.0)
NO_STOP = frozenset[int]()


def load(backend):
    for _ in backend.load(GenerationControl()):
        pass
    return backend


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3")


@pytest.fixture(scope="module")
def backend(tiny):
    backend = load(CudaBackend(open_model(tiny), 512))
    yield backend
    backend.close()


def start(backend, ids, sampling=GREEDY, seed=0, slot=0, detail=Detail.NONE):
    backend.truncate(slot, 0)
    backend.set_sampler(slot, sampling, seed, ids, (), detail)
    return backend.prefill(slot, ids, True)


def reply(backend, ids, count, sampling=GREEDY, seed=0, slot=0):
    tokens = [start(backend, ids, sampling, seed, slot)]
    while len(tokens) < count:
        tokens += backend.decode([slot], min(16, count - len(tokens)), NO_STOP)[slot]
    return [token.token_id for token in tokens]


IDS = [5, 80, 17, 200, 3, 3, 41, 99, 250, 12]


@pytest.mark.parametrize("model_type", ["qwen3", "llama"])
def test_greedy_reply_is_that_of_the_cpu_backend(tmp_path, model_type):
    folder = make_tiny_model(tmp_path / model_type, model_type=model_type, head_dim=32)
    files = open_model(folder)
    gpu = load(CudaBackend(files, 512))
    cpu = load(CpuBackend(files, 512))
    # bf16 operands against fp32: a tiny model's ties are wide enough for a short reply.
    assert reply(gpu, IDS, 6) == reply(cpu, IDS, 6)
    gpu.close()


def test_a_head_size_that_the_kernels_lack_is_refused_by_name(tmp_path):
    files = open_model(make_tiny_model(tmp_path / "narrow", head_dim=16))
    with pytest.raises(UnsupportedModel, match="head_dim 16"):
        CudaBackend(files, 512)


SAMPLINGS = [
    GREEDY,
    SamplingParams(temperature=1.0, top_k=0, top_p=1.0),
    SamplingParams(temperature=0.6, top_k=20, top_p=0.95),
    SamplingParams(temperature=0.7, top_k=0, top_p=0.8),
    SamplingParams(temperature=1.5, top_k=5, top_p=1.0, min_p=0.1),
    SamplingParams(
        temperature=0.8, presence_penalty=1.5, frequency_penalty=0.3, repetition_penalty=1.2
    ),
]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=range(len(SAMPLINGS)))
def test_device_draws_what_the_numpy_sampler_draws_from_the_same_logits(backend, sampling):
    token = start(backend, IDS, sampling, seed=1234)
    oracle = Sampler(352)
    oracle.set(sampling, 1234, IDS, (), Detail.NONE)
    equal = total = 0
    for _ in range(150):
        logits = backend._forward.logits[0].get()
        expected = oracle.draw(logits).token_id
        equal += token.token_id == expected
        total += 1
        if token.token_id != expected:
            break  # from here on the two replies are different texts
        token = backend.decode([0], 1, NO_STOP)[0][0]
    # The last bits of exp may differ between the two: never the case in these few draws.
    assert equal == total


def test_a_run_of_many_steps_draws_the_same_as_single_steps(backend):
    sampling = SamplingParams(temperature=0.9, presence_penalty=0.5)
    together = reply(backend, IDS, 60, sampling, seed=7)
    tokens = [start(backend, IDS, sampling, seed=7)]
    while len(tokens) < 60:
        tokens += backend.decode([0], 1, NO_STOP)[0]
    assert [token.token_id for token in tokens] == together


def test_a_seed_replays_and_another_does_not(backend):
    sampling = SamplingParams(temperature=1.0, top_k=0, top_p=1.0)
    first = reply(backend, IDS, 40, sampling, seed=3)
    assert reply(backend, IDS, 40, sampling, seed=3) == first
    assert reply(backend, IDS, 40, sampling, seed=4) != first


def test_logprob_rank_and_alternatives_describe_the_raw_logits(backend):
    token = start(backend, IDS, SamplingParams(temperature=1.2), 11, detail=Detail.ALTERNATIVES)
    logits = backend._forward.logits[0].get().astype(np.float64)
    logprobs = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    order = np.argsort(-logits, kind="stable")
    assert token.logprob == pytest.approx(logprobs[token.token_id], abs=1e-4)
    assert order[token.rank] == token.token_id
    assert [t for t, _ in token.alternatives] == order[: len(token.alternatives)].tolist()


def test_chunked_prefill_and_decode_agree_with_one_prefill(backend):
    ids = np.random.default_rng(0).integers(0, 340, 130).tolist()
    start(backend, ids)
    whole = backend._forward.logits[0].get()
    backend.truncate(0, 0)
    for first in (0, 64, 100):
        last = {0: 64, 64: 100, 100: 130}[first]
        backend.prefill(0, ids[first:last], False)
    np.testing.assert_allclose(backend._forward.logits[0].get(), whole, atol=0.03)
    backend.truncate(0, 129)
    backend.prefill(0, ids[129:], False)
    np.testing.assert_allclose(backend._forward.logits[0].get(), whole, atol=0.03)


def test_a_truncated_slot_goes_on_as_if_it_had_never_gone_further(backend):
    cold = reply(backend, IDS, 30)
    reply(backend, [*IDS, 9, 9, 9, 9], 50)
    backend.truncate(0, len(IDS) - 1)
    backend.set_sampler(0, GREEDY, 0, IDS, (), Detail.NONE)
    token = backend.prefill(0, IDS[-1:], True)
    rest = backend.decode([0], 29, NO_STOP)[0]
    # Prefill of one token and of ten differ in the last bits only.
    assert [token.token_id, *(t.token_id for t in rest)][:10] == cold[:10]


def test_the_device_stops_at_a_stop_token_and_keeps_quiet_after_it(backend):
    tokens = reply(backend, IDS, 40, SamplingParams(temperature=1.0, top_k=0, top_p=1.0), seed=3)
    stop = tokens[20]
    first = tokens.index(stop)
    begin = start(backend, IDS, SamplingParams(temperature=1.0, top_k=0, top_p=1.0), seed=3)
    assert begin.token_id == tokens[0]
    rest = backend.decode([0], 39, frozenset({stop}))[0]
    assert [token.token_id for token in rest] == tokens[1 : first + 1]
    assert backend.length(0) == len(IDS) + first


def test_decoding_ends_exactly_at_the_capacity(tiny):
    backend = load(CudaBackend(open_model(tiny), 100))
    start(backend, IDS)
    drawn = []
    while tokens := backend.decode([0], 64, NO_STOP)[0]:
        drawn += tokens
    # Every position holds a token; the last one drawn stands outside.
    assert backend.length(0) == 100
    assert len(drawn) == 100 - len(IDS)
    backend.close()


def test_neighbours_do_not_change_a_sequence(tiny):
    backend = load(CudaBackend(open_model(tiny), 1024, max_sequences=4))
    sampling = SamplingParams(temperature=1.0, top_k=0, top_p=1.0)
    prompts = [IDS, [7, 8], IDS * 5, [300]]
    alone = [reply(backend, ids, 30, sampling, seed=s, slot=s) for s, ids in enumerate(prompts)]
    together = {s: [start(backend, ids, sampling, seed=s, slot=s)] for s, ids in enumerate(prompts)}
    for _ in range(29):
        for slot, tokens in backend.decode([0, 1, 2, 3], 1, NO_STOP).items():
            together[slot] += tokens
    assert [[t.token_id for t in together[s]] for s in range(4)] == alone
    backend.close()


def test_logits_that_are_not_numbers_raise_and_the_backend_lives_on(backend):
    cold = reply(backend, IDS, 10)
    norm = backend._forward.norm
    kept = norm.get()
    norm.set(np.full(kept.shape, 0x7FC0, np.uint16))
    with pytest.raises(NumericalError):
        start(backend, IDS)
    norm.set(kept)
    assert reply(backend, IDS, 10) == cold


def test_a_plan_that_does_not_fit_is_refused_with_numbers_and_nothing_is_held(random_qwen3):
    files = open_model(random_qwen3)
    free = cupy.cuda.runtime.memGetInfo()[0]
    with pytest.raises(NotEnoughMemory) as caught:
        load(CudaBackend(files, 2_000_000))
    assert caught.value.needed_bytes > caught.value.free_bytes
    assert cupy.cuda.runtime.memGetInfo()[0] >= free - (64 << 20)


def test_one_allocation_of_the_planned_size_is_made_and_freed(random_qwen3):
    files = open_model(random_qwen3)
    plan = plan_memory(files.config, 8192, "cuda")
    load(CudaBackend(files, 64)).close()  # modules and contexts are not part of the plan
    free = cupy.cuda.runtime.memGetInfo()[0]
    backend = load(CudaBackend(files, 8192))
    held = free - cupy.cuda.runtime.memGetInfo()[0]
    print(f"planned {plan.total_bytes / 1e9:.3f} GB, held {held / 1e9:.3f} GB")
    assert abs(held - plan.total_bytes) < 64 << 20
    backend.close()
    assert cupy.cuda.runtime.memGetInfo()[0] >= free - (32 << 20)


def test_cancelled_loading_frees_everything(random_qwen3):
    free = cupy.cuda.runtime.memGetInfo()[0]
    control = GenerationControl()
    loading = CudaBackend(open_model(random_qwen3), 8192).load(control)
    next(loading)
    control.cancel()
    with pytest.raises(LoadCancelled):
        list(loading)
    assert cupy.cuda.runtime.memGetInfo()[0] >= free - (64 << 20)


def test_the_full_context_of_40960_positions_is_usable(random_qwen3):
    files = open_model(random_qwen3)
    backend = load(CudaBackend(files, 40960))
    ids = np.random.default_rng(1).integers(0, files.config.vocab_size, 40950).tolist()
    backend.set_sampler(0, GREEDY, 0, (), (), Detail.NONE)
    for first in range(0, len(ids), 512):
        chunk = ids[first : first + 512]
        token = backend.prefill(0, chunk, first + 512 >= len(ids))
    assert token is not None
    assert len(backend.decode([0], 64, NO_STOP)[0]) == 10
    assert backend.length(0) == 40960
    assert np.isfinite(backend._forward.logits[0].get()).all()
    backend.close()


def test_a_run_of_40_000_tokens_stays_finite(random_qwen3):
    files = open_model(random_qwen3)
    backend = load(CudaBackend(files, 40960))
    sampling = SamplingParams(temperature=0.6, top_k=20, top_p=0.95)
    ids = np.random.default_rng(2).integers(0, files.config.vocab_size, 900).tolist()
    backend.set_sampler(0, sampling, 5, ids, (), Detail.NONE)
    drawn = [backend.prefill(0, ids, True)]
    while tokens := backend.decode([0], 64, NO_STOP)[0]:
        drawn += tokens
        # A logit that is not finite raises.
    assert len(drawn) == 40960 - len(ids) + 1 >= 40_000
    assert len({token.token_id for token in drawn}) > 100
    assert np.isfinite(backend._forward.logits[0].get()).all()
    backend.close()


SYSTEM = "You are a helpful assistant."


@pytest.mark.skipif(not SMOLLM2, reason="SmolLM2's GGUF is not here (make fetch-smollm2)")
def test_smollm2_names_paris_and_then_the_seine():
    pytest.importorskip("gguf")
    engine = open_engine(SMOLLM2[0], device="cuda")
    for _ in engine.load(GenerationControl()):
        pass
    messages = [ChatMessage(Role.SYSTEM, SYSTEM)]
    answers = []
    for question in ("What is the capital of France?", "Which river runs through it?"):
        messages.append(ChatMessage(Role.USER, question))
        request = GenerationRequest("1", tuple(messages), GREEDY, max_new_tokens=80)
        answer = ""
        for event in generate(engine, request, GenerationControl()):
            if isinstance(event, Delta) and event.channel is Channel.ANSWER:
                answer += event.text
            if isinstance(event, Finished):
                assert event.reason is FinishReason.END
        messages.append(ChatMessage(Role.ASSISTANT, answer))
        answers.append(answer)
    engine.close()
    assert answers[0] == "The capital of France is Paris."
    assert "Seine" in answers[1]


@pytest.mark.skipif(not SMOLLM2, reason="SmolLM2's GGUF is not here (make fetch-smollm2)")
def test_terminal_chat_runs_on_the_gpu():
    pytest.importorskip("gguf")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "engine", "chat", str(SMOLLM2[0]), "--device", "cuda"),
            *("-t", "0", "-y", SYSTEM, "-i", "What is the capital of France?", "--json"),
        ],
        cwd=Path(ROOT),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    assert json.loads(done.stdout)["text"] == "The capital of France is Paris."
