"""Prefill by the Hopper kernels, on the emulated GPU: which launches, and what they compute."""

from __future__ import annotations

import numpy as np
import pytest

from engine.api import Detail, GenerationControl, SamplingParams
from engine.cpu.cpu_backend import CpuBackend
from engine.errors import KernelCompileError
from engine.models.memory_plan import HOPPER_CHUNK_TOKENS, PREFILL_CHUNK_TOKENS
from engine.models.model_config import ModelConfig
from engine.models.model_files import open_model
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy

GREEDY = SamplingParams(temperature=0.0)
SIZES = {
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 128,
}
IDS = np.random.default_rng(0).integers(0, 340, 150).tolist()


@pytest.fixture(scope="module", params=["qwen3", "llama"])
def folder(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("tiny") / request.param
    return make_tiny_model(path, model_type=request.param, **SIZES)


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "kernels"


def cuda_backend(folder, cache, capacity_tokens=256, max_sequences=1, **options):
    from engine.cuda.cuda_backend import CudaBackend

    options |= {"kernel_cache_dir": cache, "use_graph": False}
    return load(CudaBackend(open_model(folder), capacity_tokens, max_sequences, **options))


def load(backend):
    for _ in backend.load(GenerationControl()):
        pass
    return backend


def dumped(backend, pieces, slot=0):
    """Dumps of a prefill in pieces, joined; the backend's slot is left with all of them."""
    backend.truncate(slot, 0)
    backend.set_sampler(slot, GREEDY, 0, (), (), Detail.NONE)
    found: dict[str, list[np.ndarray]] = {}
    for piece in pieces:
        backend.prefill(slot, piece, True, lambda n, v: found.setdefault(n, []).append(v))
    return {name: np.concatenate(values) for name, values in found.items()}


def hopper_kernels(gpu):
    return [launch.kernel for launch in gpu.launches if "hopper" in launch.kernel]


@pytest.mark.emulation
def test_every_layer_is_that_of_the_cpu_backend_within_bf16(folder, cache):
    expected = dumped(load(CpuBackend(open_model(folder), 256)), [IDS])
    with emulated_cupy(EmulatedGpu(multiprocessors=4)) as gpu:
        backend = cuda_backend(folder, cache, max_sequences=2, capacity_tokens=512)
        gpu.launches.clear()
        # The second slot's pages do not begin at 0; pieces end within a page and at its end.
        found = dumped(backend, [IDS[:5], IDS[5:64], IDS[64:]], slot=1)
        assert len(hopper_kernels(gpu)) == 3 * 2 * 5
        backend._forward.norm.data.mem.buffer.assert_guard_intact()
    assert list(found) == list(expected)
    for name, value in found.items():
        scale = np.abs(expected[name]).max()
        np.testing.assert_allclose(value, expected[name], atol=0.02 * scale, err_msg=name)


@pytest.mark.emulation
def test_a_reply_is_the_same_by_either_way_and_by_any_cut_of_the_prompt(folder, cache):
    def tokens(backend, pieces):
        backend.truncate(0, 0)
        backend.set_sampler(0, GREEDY, 0, (), (), Detail.NONE)
        for piece in pieces[:-1]:
            assert backend.prefill(0, piece, False) is None
        first = backend.prefill(0, pieces[-1], True)
        rest = backend.decode([0], 4, frozenset())[0]
        return [token.token_id for token in (first, *rest)]

    with emulated_cupy() as gpu:
        portable = cuda_backend(folder, cache, use_hopper=False)
        assert portable.prefill_chunk_tokens == PREFILL_CHUNK_TOKENS
        expected = tokens(portable, [IDS[:70]])
        assert hopper_kernels(gpu) == []
        backend = cuda_backend(folder, cache)
        assert backend.prefill_chunk_tokens == HOPPER_CHUNK_TOKENS
        assert tokens(backend, [IDS[:70]]) == expected
        assert tokens(backend, [IDS[:33], IDS[33:69], IDS[69:70]]) == expected


@pytest.mark.emulation
def test_what_only_the_logits_need_is_left_out_between_chunks(folder, cache):
    with emulated_cupy() as gpu:
        backend = cuda_backend(folder, cache)
        gpu.launches.clear()
        backend.prefill(0, IDS[:9], False)
        names = [launch.kernel for launch in gpu.launches]
        assert names.count("attention_prefill_hopper") == 1  # of two layers
        assert sum(name.startswith("qkv_hopper") for name in names) == 2
        assert names[-1].startswith("qkv_hopper")


def test_nothing_is_left_to_compile_in_the_middle_of_a_reply(folder, cache, monkeypatch):
    compiled = []

    def call(gpu, operation):
        if operation == "compile":
            compiled.append(operation)
        return original(gpu, operation)

    original = EmulatedGpu.call
    monkeypatch.setattr(EmulatedGpu, "call", call)
    with emulated_cupy(EmulatedGpu(executes=False)):
        backend = cuda_backend(folder, cache, capacity_tokens=4096)
        assert len(compiled) > 2
        compiled.clear()
        for rows in (1, 2048):
            backend._hopper_prefill.prefill(0, rows, 0, None, logits=True)
        assert compiled == []


@pytest.mark.emulation
def test_large_tiles_and_parts_of_k_are_taken_where_they_fill_the_gpu(folder, cache):
    config = open_model(folder).config
    with emulated_cupy(EmulatedGpu(multiprocessors=132, executes=False)) as gpu:
        backend = cuda_backend(folder, cache, capacity_tokens=4096)
        parts = {}
        for rows in (1, 64, 65, 512, 2048):
            backend.truncate(0, 0)
            gpu.launches.clear()
            backend._hopper_prefill.prefill(0, rows, 0, None, logits=True)
            sums = [launch for launch in gpu.launches if launch.kernel == "gemm_hopper_64x128"]
            assert len(sums) == 2 * config.num_hidden_layers
            for launch in sums:
                assert launch.grid[:2] == (-(-rows // 64), 1)
                # Every part has a step of k, and its room.
                assert launch.grid[2] <= launch.arguments["K"] // 64
                needed = launch.grid[2] * rows * launch.arguments["N"]
                assert needed <= launch.arguments["partial"]
            parts[rows] = sums[0].grid[2]
            joined = [launch for launch in gpu.launches if launch.kernel == "rms_norm_add_bf16"]
            counts = [launch.arguments["part_count"] for launch in joined]
            assert counts == [0] + [parts[rows]] * 2 * config.num_hidden_layers
            assert joined[-1].grid == (1, 1, 1)
            assert joined[-1].arguments["first_row"] == rows - 1
        assert parts[1] > 1
        assert parts[2048] == 1


QWEN3 = ("qwen3", 28, 1024, 3072, 16, 8, 128, 151936, 1e-6, 1_000_000.0, 40960, True)
SMOLLM2 = ("llama", 30, 576, 1536, 9, 3, 64, 49152, 1e-5, 100_000.0, 8192, True)


@pytest.mark.parametrize(
    ("sizes", "capability", "supported"),
    [(QWEN3, 90, True), (QWEN3, 89, False), (QWEN3, 100, False), (SMOLLM2, 90, False)],
)
def test_only_heads_of_128_on_compute_capability_9_take_this_way(sizes, capability, supported):
    with emulated_cupy(EmulatedGpu(capability, executes=False)):
        from engine.cuda.device import find_device
        from engine.cuda.hopper_prefill import supports_hopper_prefill

        assert supports_hopper_prefill(ModelConfig(*sizes), find_device()) is supported


@pytest.mark.parametrize(
    ("rows", "qkv", "gate_up"),
    [
        (1, "64x128", "64x128"),
        (128, "64x128", "64x128"),
        (512, "64x128", "128x256"),
        (2048, "128x256", "128x256"),
    ],
)
def test_tiles_of_qwen3_are_those_that_were_measured_to_be_faster(rows, qkv, gate_up):
    with emulated_cupy(EmulatedGpu(90, executes=False)):
        from engine.cuda.hopper_prefill import LARGE, SMALL

        def best(columns):
            return min((SMALL, LARGE), key=lambda t: t.microseconds(rows, columns, 132)).name

        assert (best(4096), best(6144)) == (qkv, gate_up)


def test_a_compiler_that_refuses_is_named_with_the_file(folder, cache):
    with emulated_cupy(EmulatedGpu(executes=False)) as gpu:
        gpu.has_nvrtc = False
        with pytest.raises(KernelCompileError):
            cuda_backend(folder, cache)
