"""engine/cuda, unmodified, on the emulated GPU: behaviour that tests/gpu checks on a real one."""

from __future__ import annotations

import numpy as np
import pytest

from engine.api import (
    ChatMessage,
    Delta,
    Detail,
    GenerationControl,
    GenerationRequest,
    Role,
    SamplingParams,
    generate,
)
from engine.cpu.cpu_backend import CpuBackend
from engine.cpu.sampler import Sampler
from engine.errors import DeviceLost, KernelCompileError, NumericalError
from engine.models.model_files import open_model
from engine.open_engine import open_engine
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy
from tests.kernels.emulated_device.cublas import Cublas

pytestmark = pytest.mark.emulation

GREEDY = SamplingParams(temperature=0.0)
FREE = SamplingParams(temperature=1.0, top_k=0, top_p=1.0)
NO_STOP = frozenset[int]()
IDS = [5, 80, 17, 200, 3, 3, 41, 99, 250, 12]
VOCAB = 352


def cuda_backend(folder, capacity_tokens=128, max_sequences=1, **options):
    """A loaded backend; only inside `emulated_cupy`."""
    from engine.cuda.cuda_backend import CudaBackend

    return load(CudaBackend(open_model(folder), capacity_tokens, max_sequences, **options))


def load(backend):
    for _ in backend.load(GenerationControl()):
        pass
    return backend


def start(backend, ids, sampling=GREEDY, seed=0, slot=0, detail=Detail.NONE):
    backend.truncate(slot, 0)
    backend.set_sampler(slot, sampling, seed, ids, (), detail)
    return backend.prefill(slot, ids, True)


def reply(backend, ids, count, sampling=GREEDY, seed=0, slot=0):
    tokens = [start(backend, ids, sampling, seed, slot)]
    tokens += backend.decode([slot], count - 1, NO_STOP)[slot]
    assert len(tokens) == count
    return [token.token_id for token in tokens]


def single_steps(backend, ids, count, sampling, seed=0):
    tokens = [start(backend, ids, sampling, seed)]
    while len(tokens) < count:
        tokens += backend.decode([0], 1, NO_STOP)[0]
    return [token.token_id for token in tokens]


def logits(backend, slot=0):
    return backend._forward.logits[slot].get()


def set_norm(backend, bits):
    """Overwrite the weights of the final norm, in the order of the backend's own stream."""
    with backend._stream:
        backend._forward.norm.set(bits)


def assert_guard_intact(backend):
    """Nothing has written behind the one allocation."""
    backend._forward.norm.data.mem.buffer.assert_guard_intact()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3")


@pytest.fixture(scope="module")
def gpu():
    with emulated_cupy() as gpu:
        yield gpu


@pytest.fixture(scope="module")
def backend(gpu, tiny):
    backend = cuda_backend(tiny, 256)
    yield backend
    assert_guard_intact(backend)
    backend.close()


@pytest.fixture(scope="module")
def cpu(tiny):
    return load(CpuBackend(open_model(tiny), 256))


@pytest.fixture(scope="module")
def odd_llama(tmp_path_factory):
    """A llama whose vocabulary is no multiple of anything that vector loads would like."""
    folder = tmp_path_factory.mktemp("tiny") / "llama"
    return make_tiny_model(folder, model_type="llama", head_dim=32, vocab_size=353)


@pytest.fixture(params=["qwen3", "llama"])
def folder(request, tiny, odd_llama):
    return tiny if request.param == "qwen3" else odd_llama


def test_greedy_reply_is_that_of_the_cpu_backend(gpu, folder):
    cpu = load(CpuBackend(open_model(folder), 128))
    held = gpu.allocated_bytes
    cuda = cuda_backend(folder)
    assert gpu.allocated_bytes == held + cuda.memory().total_bytes
    # bf16 operands against fp32: a tiny model's ties are wide enough for a short reply.
    assert reply(cuda, IDS, 8) == reply(cpu, IDS, 8)
    cuda.close()
    assert gpu.allocated_bytes == held


SAMPLINGS = [
    FREE,
    SamplingParams(temperature=0.6, top_k=20, top_p=0.95),
    SamplingParams(temperature=0.7, top_k=0, top_p=0.8),
    SamplingParams(temperature=1.5, top_k=5, top_p=1.0, min_p=0.1),
    SamplingParams(
        temperature=0.8, presence_penalty=1.5, frequency_penalty=0.3, repetition_penalty=1.2
    ),
]


@pytest.mark.parametrize("sampling", SAMPLINGS, ids=range(len(SAMPLINGS)))
def test_device_draws_what_the_numpy_sampler_draws_from_the_same_logits(backend, sampling):
    seed = 2**63 - 5
    token = start(backend, IDS, sampling, seed)
    oracle = Sampler(VOCAB)
    oracle.set(sampling, seed, IDS, (), Detail.NONE)
    drawn, expected = [], []
    for _ in range(12):
        drawn.append(token.token_id)
        expected.append(oracle.draw(logits(backend)).token_id)
        token = backend.decode([0], 1, NO_STOP)[0][0]
    # The last bits of exp may differ between the two: never the case in these few draws.
    assert drawn == expected


def test_graph_replays_equal_single_launches_bit_for_bit(gpu, backend, tiny):
    eager = cuda_backend(tiny, use_graph=False)
    graphs_before = gpu.graph_launches
    by_launches = reply(eager, IDS, 10, FREE, seed=3)
    assert gpu.graph_launches == graphs_before
    by_graph = reply(backend, IDS, 10, FREE, seed=3)
    assert gpu.graph_launches == graphs_before + 2  # eight steps in one graph, and one more
    assert by_graph == by_launches
    assert logits(backend).tobytes() == logits(eager).tobytes()
    eager.close()


def test_a_run_of_many_steps_draws_the_same_as_single_steps_and_a_seed_replays(backend):
    sampling = SamplingParams(temperature=0.9, presence_penalty=0.5)
    together = reply(backend, IDS, 16, sampling, seed=7)
    assert single_steps(backend, IDS, 16, sampling, seed=7) == together
    assert reply(backend, IDS, 16, sampling, seed=8) != together


def test_a_continued_reply_counts_what_was_generated_before(backend):
    sampling = SamplingParams(temperature=0.9, presence_penalty=1.5, repetition_penalty=1.3)
    generated = [7, 7, 9, 250]
    oracle = Sampler(VOCAB)
    oracle.set(sampling, 7, IDS, generated, Detail.NONE)
    backend.truncate(0, 0)
    backend.set_sampler(0, sampling, 7, IDS, generated, Detail.NONE)
    token = backend.prefill(0, [*IDS, *generated], True)
    for _ in range(8):
        assert token.token_id == oracle.draw(logits(backend)).token_id
        token = backend.decode([0], 1, NO_STOP)[0][0]


def test_logprob_rank_and_alternatives_describe_the_raw_logits(backend):
    token = start(backend, IDS, SamplingParams(temperature=1.2), 11, detail=Detail.ALTERNATIVES)
    raw = logits(backend).astype(np.float64)
    logprobs = raw - raw.max() - np.log(np.exp(raw - raw.max()).sum())
    order = np.argsort(-raw, kind="stable")
    assert token.logprob == pytest.approx(logprobs[token.token_id], abs=1e-4)
    assert order[token.rank] == token.token_id
    assert [t for t, _ in token.alternatives] == order[:10].tolist()
    plain = start(backend, IDS, SamplingParams(temperature=1.2), 11)
    assert (plain.token_id, plain.logprob, plain.alternatives) == (token.token_id, None, ())


def test_chunked_prefill_agrees_with_one_prefill(backend):
    ids = np.random.default_rng(0).integers(0, 340, 70).tolist()
    start(backend, ids)
    whole = logits(backend)
    backend.truncate(0, 0)
    backend.prefill(0, ids[:5], True)
    for first, last in ((5, 64), (64, 70)):
        assert backend.prefill(0, ids[first:last], False) is None
    assert backend.length(0) == 70
    assert backend.decode([0], 1, NO_STOP) == {0: []}  # nothing was drawn: nothing is pending
    np.testing.assert_allclose(logits(backend), whole, atol=0.03)


def test_a_truncated_slot_goes_on_as_if_it_had_never_gone_further(backend):
    cold = reply(backend, IDS, 8)
    reply(backend, [*IDS, 9, 9, 9, 9], 10)
    backend.truncate(0, len(IDS) - 1)
    backend.set_sampler(0, GREEDY, 0, IDS, (), Detail.NONE)
    assert backend.decode([0], 3, NO_STOP) == {0: []}  # the pending token is forgotten, too
    tokens = [backend.prefill(0, IDS[-1:], True), *backend.decode([0], 7, NO_STOP)[0]]
    assert [token.token_id for token in tokens] == cold


def test_the_device_stops_at_a_stop_token_and_keeps_quiet_after_it(backend):
    tokens = reply(backend, IDS, 16, FREE, seed=3)
    stop = tokens[8]
    first = tokens.index(stop)
    start(backend, IDS, FREE, seed=3)
    rest = backend.decode([0], 15, frozenset({stop, 351}))[0]
    assert [token.token_id for token in rest] == tokens[1 : first + 1]
    assert backend.length(0) == len(IDS) + first


@pytest.mark.parametrize(("capacity_tokens", "max_sequences"), [(20, 1), (200, 3), (70, 5)])
def test_every_slot_has_exactly_its_share_of_the_capacity(
    gpu, tiny, capacity_tokens, max_sequences
):
    cuda = cuda_backend(tiny, capacity_tokens, max_sequences)
    share = capacity_tokens // max_sequences
    alone = reply(cuda, [7, 8], 6, slot=0)
    last = max_sequences - 1
    # Filled by a prompt but for three positions, then by decoding; the neighbour stays whole.
    ids = np.random.default_rng(0).integers(0, 340, share - 3).tolist()
    start(cuda, ids, slot=last)
    assert len(cuda.decode([last], 64, NO_STOP)[last]) == 3
    assert cuda.length(last) == share
    assert cuda.decode([last], 1, NO_STOP) == {last: []}
    with pytest.raises(IndexError, match=f"{share + 1} positions do not fit"):
        cuda.prefill(last, [1], False)
    assert cuda.length(last) == share
    if last:
        more = [t.token_id for t in cuda.decode([0], 2, NO_STOP)[0]]
        assert alone + more == reply(cuda, [7, 8], 8, slot=0)
    assert_guard_intact(cuda)
    cuda.close()


def test_neighbours_do_not_change_a_sequence(gpu, tiny):
    cuda = cuda_backend(tiny, 192, max_sequences=3)
    # With penalties: a draw too many, as while a graph is prepared, would be counted.
    sampling = SamplingParams(temperature=1.0, top_k=0, presence_penalty=1.5, frequency_penalty=1)
    prompts = [IDS, [7, 8], [300]]
    alone = [reply(cuda, ids, 8, sampling, seed=s, slot=s) for s, ids in enumerate(prompts)]
    together = {s: [start(cuda, ids, sampling, seed=s, slot=s)] for s, ids in enumerate(prompts)}
    for slots, steps in (([0, 1, 2], 3), ([2, 0], 1), ([1], 2), ([0, 1, 2], 2), ([2, 0], 1)):
        for slot, tokens in cuda.decode(slots, steps, NO_STOP).items():
            together[slot] += tokens
    for slot, expected in enumerate(alone):
        assert [token.token_id for token in together[slot]][:8] == expected
    cuda.close()


def test_nine_sequences_decode_together(gpu, folder):
    cpu = load(CpuBackend(open_model(folder), 128))
    cuda = cuda_backend(folder, 9 * 32, max_sequences=9)
    for slot in range(9):
        start(cuda, [40 + slot, 5], slot=slot)
    rows = cuda.decode(range(9), 3, NO_STOP)
    for slot in (0, 8):
        found = [token.token_id for token in rows[slot]]
        assert found == reply(cpu, [40 + slot, 5], 4)[1:]
    cuda.close()


def test_logits_that_are_not_numbers_raise_and_the_backend_lives_on(backend):
    cold = reply(backend, IDS, 6)
    kept = backend._forward.norm.get()
    set_norm(backend, np.full(kept.shape, 0x7FC0, np.uint16))
    with pytest.raises(NumericalError, match="generated token 0"):
        start(backend, IDS)
    set_norm(backend, kept)
    start(backend, IDS)
    set_norm(backend, np.full(kept.shape, 0x7F80, np.uint16))
    with pytest.raises(NumericalError, match="generated token 1"):
        backend.decode([0], 4, NO_STOP)
    set_norm(backend, kept)
    assert reply(backend, IDS, 6) == cold


def test_dumped_values_are_those_of_the_cpu_backend_within_bf16(backend, cpu):
    found, expected = {}, {}
    for one, dump in ((backend, found), (cpu, expected)):
        one.truncate(0, 0)
        one.set_sampler(0, GREEDY, 0, IDS, (), Detail.NONE)
        one.prefill(0, IDS, True, dump.__setitem__)
    assert list(found) == ["hidden.00", "hidden.01", "hidden.02", "hidden.norm", "logits"]
    for name, value in found.items():
        scale = np.abs(expected[name]).max()
        np.testing.assert_allclose(value, expected[name], atol=0.02 * scale, err_msg=name)
    # The row that was sampled from is put back after the dump.
    assert logits(backend).tobytes() == found["logits"][-1].tobytes()


def test_a_decode_step_dumps_its_hidden_states_too(backend):
    token = start(backend, IDS)
    second = backend.decode([0], 1, NO_STOP)[0][0]
    stepped = logits(backend)
    backend.truncate(0, len(IDS))
    found = {}
    with backend._stream:
        step = backend._decode
        step.set_rows([0], [token.token_id], [len(IDS)])
        rows = (step.row_token_ids, step.row_positions, step.row_slots)
        step.step.run(*rows, 1, found.__setitem__)
    assert list(found) == ["hidden.00", "hidden.01", "hidden.02", "logits"]
    assert found["logits"].tobytes() == stepped.tobytes()
    assert int(np.argmax(found["logits"])) == second.token_id


def test_large_tiles_compute_what_small_tiles_compute(backend, gpu, tiny):
    ids = np.random.default_rng(0).integers(0, 340, 130).tolist()
    start(backend, ids)
    small = logits(backend)
    with emulated_cupy(EmulatedGpu(multiprocessors=1)) as one_processor:
        cuda = cuda_backend(tiny, 192)
        start(cuda, ids)
        launched = {launch.kernel for launch in one_processor.launches}
        assert {"gemm_bf16_128x256", "attention_prefill_bf16_128"} <= launched
        np.testing.assert_allclose(logits(cuda), small, atol=0.03)


@pytest.mark.parametrize("broken", [False, True])
def test_cublas_takes_the_products_of_prefill_unless_it_fails(tiny, cpu, monkeypatch, broken):
    cublas = Cublas(broken=broken)
    with emulated_cupy(EmulatedGpu(cublas=cublas)):
        from engine.cuda import prefill_product

        monkeypatch.setattr(prefill_product, "PREFILL_CHUNK_TOKENS", 40)
        monkeypatch.setattr(prefill_product, "_REPEATS", 1)
        cuda = cuda_backend(tiny)
        timed = cublas.calls
        assert reply(cuda, IDS, 6) == reply(cpu, IDS, 6)
        # Four products in each of two layers; decode steps never use it.
        assert cublas.calls - timed == (0 if broken else 8)


def test_an_engine_opened_for_any_device_answers_on_the_gpu_as_on_the_cpu(gpu, tiny):
    texts = {}
    for device in ("auto", "cpu"):
        engine = load(open_engine(tiny, device, 128))
        assert engine.info().on_gpu == (device == "auto")
        messages = (ChatMessage(Role.USER, "hello"),)
        request = GenerationRequest("1", messages, GREEDY, max_new_tokens=8)
        events = list(generate(engine, request, GenerationControl()))
        texts[device] = "".join(event.text for event in events if isinstance(event, Delta))
        engine.close()
    assert texts["auto"] == texts["cpu"] != ""


@pytest.mark.parametrize("operation", ["launch", "graphLaunch", "synchronize", "memcpy"])
def test_a_sticky_error_is_device_lost_now_and_ever_after(tiny, operation):
    with emulated_cupy() as gpu:
        cuda = cuda_backend(tiny)
        start(cuda, IDS)
        gpu.fail(operation, 700)
        with pytest.raises(DeviceLost, match="700"):
            reply(cuda, IDS, 4)
        with pytest.raises(DeviceLost):
            start(cuda, IDS)
        cuda.close()
        assert gpu.allocated_bytes == 0


def test_a_kernel_that_does_not_compile_names_the_file_and_keeps_the_log(tiny, monkeypatch):
    with emulated_cupy() as gpu:
        from engine.cuda import kernel_library

        source = kernel_library.kernel_source
        monkeypatch.setattr(
            kernel_library,
            "kernel_source",
            lambda name: source(name) + "#error planted\n" * (name == "swiglu"),
        )
        with pytest.raises(KernelCompileError, match=r"swiglu\.cu.*(?s:.*)planted"):
            cuda_backend(tiny)
        assert gpu.allocated_bytes == 0
