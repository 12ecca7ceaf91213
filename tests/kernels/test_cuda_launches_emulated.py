"""Every launch of engine/cuda for real models and GPUs, checked against the kernels' signatures.

Nothing is computed: the emulated GPU refuses what a driver would refuse, and here the sizes of the
arrays and the reach of the grid are compared with what kernels/README.md says.
"""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

from engine.models.memory_plan import DECODE_SPLITS, plan_regions, sampler_candidates
from engine.models.model_config import ModelConfig
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy
from tests.kernels.emulated_device.gpu import CUDADriverError
from tests.kernels.emulated_device.signature import signatures

QWEN3_0_6B = ModelConfig("qwen3", 2, 1024, 3072, 16, 8, 128, 151936, 1e-6, 1_000_000.0, 40960, True)
SMOLLM2 = ModelConfig("llama", 2, 576, 1536, 9, 3, 64, 49152, 1e-5, 100_000.0, 8192, True)
WIDEST = ModelConfig("llama", 1, 2048, 5632, 8, 2, 256, 262144, 1e-5, 10_000.0, 8192, False)
MODELS = {"qwen3-0.6b": QWEN3_0_6B, "smollm2": SMOLLM2, "head_dim 256": WIDEST}

# Compute capability and multiprocessors: T4, A100, RTX 3060, RTX 4090, H200, RTX 5090.
GPUS = [(75, 40), (80, 108), (86, 28), (89, 128), (90, 132), (120, 170)]
CAPACITY = 8192
TILES = {
    "gemm_bf16_32x16": (32, 16),
    "gemm_bf16": (64, 64),
    "gemm_bf16_128x128": (128, 128),
    "gemm_bf16_128x256": (128, 256),
}


def forward_on(gpu, config, max_sequences, *, use_clusters=False):
    """Forward pass, decode step and sampler over memory that nobody touches."""
    from engine.cuda.decode_step import DecodeStep
    from engine.cuda.device import find_device
    from engine.cuda.forward import Forward
    from engine.cuda.kernel_library import KernelLibrary
    from engine.cuda.memory_block import MemoryBlock
    from engine.cuda.ops import Ops, require_kernel_sizes
    from engine.cuda.sampler import DeviceSampler
    from engine.cuda.self_attention import cluster_attention

    require_kernel_sizes(config)
    device = find_device()
    block = MemoryBlock(device, plan_regions(config, CAPACITY, max_sequences))
    library = KernelLibrary(config)
    attention = cluster_attention(config, device) if use_clusters else None
    ops = Ops(config, device, library, attention=attention)
    forward = Forward(config, block, ops, CAPACITY, max_sequences)
    step = DecodeStep(config, ops, block, forward, max_sequences)
    sampler = DeviceSampler(config.vocab_size, max_sequences, block, library, device)
    rows = [
        block.array(f"workspace.row_{name}", (max_sequences,), np.int32)
        for name in ("token_ids", "positions", "slots")
    ]
    return forward, step, sampler, rows


def expected_sizes(launch, c):
    """Least elements of each array of a launch, by parameter name (kernels/README.md)."""
    a, grid = launch.arguments, launch.grid
    rows = a.get("T", a.get("B", grid[1]))
    heads, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    page = c.num_key_value_heads * 64 * c.head_dim
    if launch.kernel.startswith("gemm"):
        return {"out": rows * a["N"], "x": rows * a["K"], "weight": a["N"] * a["K"]}
    if launch.kernel.startswith("attention_prefill"):
        pages = ceil((a["first_position"] + rows) / 64)
        return {"out": rows * heads, "q": rows * heads, "block_table_row": pages}
    if launch.kernel.startswith("sample"):
        rows = grid[0] if launch.kernel in ("sample_draw", "sample_top_k") else grid[1]
        chunks = ceil(c.vocab_size / 1024)
        return {
            "logits": rows * c.vocab_size,
            "slots": rows,
            "chunks": rows * chunks * 128,
            "bin_masses": rows * 2048,
            "bin_counts": rows * 2048,
            "candidates": rows * sampler_candidates(c.vocab_size),
            "slot_states": rows * 96,
            "occurrences": rows * c.vocab_size,
            "records": rows * a.get("record_capacity", 0) * 96,
        }
    shares = grid[2] * c.num_attention_heads * DECODE_SPLITS
    return {
        "embedding_bf16": {
            "hidden": rows * c.hidden_size,
            "embed_tokens": c.vocab_size * c.hidden_size,
            "token_ids": rows,
        },
        "rms_norm_bf16": {"out": rows * c.hidden_size, "hidden": rows * c.hidden_size}
        | {"weight": c.hidden_size},
        "qk_norm_rope_bf16": {
            "q": rows * heads,
            "qkv": rows * (heads + 2 * kv),
            "k_pool": a.get("block_table", 0) * page,
            "v_pool": a.get("block_table", 0) * page,
            "positions": rows,
            "slots": rows,
            "q_norm": c.head_dim,
        },
        "decode_attention_bf16": {
            "out": grid[2] * heads,
            "partial_out": shares * c.head_dim,
            "partial_max": shares,
            "partial_sum": shares,
            "arrivals": grid[2] * c.num_key_value_heads,
            "qkv": grid[2] * (heads + 2 * kv),
            "k_pool": a.get("block_table", 0) * page,
            "v_pool": a.get("block_table", 0) * page,
            "positions": grid[2],
            "slots": grid[2],
        },
        "self_attention_cluster_bf16": {
            "out": heads,
            "x": c.hidden_size,
            "norm": c.hidden_size,
            "qkv_proj": (heads + 2 * kv) * c.hidden_size,
            "k_pool": a.get("block_table", 0) * page,
            "v_pool": a.get("block_table", 0) * page,
            "rope_table": a.get("max_pages", 0) * 64 * c.head_dim,
            "positions": 1,
            "slots": 1,
        },
        "swiglu_bf16": {
            "out": rows * c.intermediate_size,
            "gate_up": rows * 2 * c.intermediate_size,
        },
    }[launch.kernel]


def expected_grid(launch, c, rows):
    """The grid that covers the work exactly, and the block where the kernel fixes it."""
    a, heads = launch.arguments, c.num_attention_heads
    tile = 128 if launch.kernel.endswith("_128") else 64
    chunks = ceil(c.vocab_size / 1024)
    if launch.kernel in TILES:
        tile_t, tile_n = TILES[launch.kernel]
        return (ceil(a["T"] / tile_t), ceil(a["N"] / tile_n), 1)
    return {
        "embedding_bf16": (rows, 1, 1),
        "rms_norm_bf16": (rows, 1, 1),
        "qk_norm_rope_bf16": (rows, ceil((heads + 2 * c.num_key_value_heads) / 4), 1),
        "attention_prefill_bf16": (heads, ceil(rows / tile), 1),
        "attention_prefill_bf16_128": (heads, ceil(rows / tile), 1),
        "decode_attention_bf16": (DECODE_SPLITS, c.num_key_value_heads, rows),
        "self_attention_cluster_bf16": (8, c.num_key_value_heads, 1),
        "swiglu_bf16": (ceil(c.intermediate_size / 1024), rows, 1),
        "sample_scores": (chunks, rows, 1),
        "sample_histogram": (chunks, rows, 1),
        "sample_draw": (rows, 1, 1),
        "sample_top_k": (rows, 1, 1),
    }[launch.kernel]


def check_launches(gpu, config, rows):
    """All launches since the last check reach all their work and no further than their arrays."""
    kernels = []
    while gpu.launches:
        launch = gpu.launches.popleft()
        kernels.append(launch.kernel)
        if launch.kernel == "decode_product_bf16":
            continue  # its sizes are compiled in: check_products
        assert launch.grid == expected_grid(launch, config, rows), launch
        for name, least in expected_sizes(launch, config).items():
            if name in launch.arguments:
                assert launch.arguments[name] >= least, (launch, name)
        if launch.kernel.startswith("gemm"):
            assert launch.arguments["K"] % 8 == 0
    return kernels


def check_products(launches, config, rows, *, in_clusters=False):
    """The products of a decode step, in order: arrays large enough, shared memory as staged."""
    c = config
    heads, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    layer = [
        (c.hidden_size, heads + 2 * kv, heads + 2 * kv),
        (heads, c.hidden_size, c.hidden_size),
        (c.hidden_size, c.intermediate_size, 2 * c.intermediate_size),
        (c.intermediate_size, c.hidden_size, c.hidden_size),
    ]
    if in_clusters:
        del layer[0]
    expected = [*layer * c.num_hidden_layers, (c.hidden_size, c.vocab_size, c.vocab_size)]
    products = [launch for launch in launches if launch.kernel == "decode_product_bf16"]
    for launch, (inputs, outputs, weight_rows) in zip(products, expected, strict=True):
        assert launch.arguments["x"] >= rows * inputs
        assert launch.arguments["out"] >= rows * outputs
        assert launch.arguments["weight"] == weight_rows * inputs
        assert launch.arguments["B"] == rows


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("capability", "multiprocessors"), GPUS)
def test_every_launch_of_prefill_is_valid(model, capability, multiprocessors):
    config = MODELS[model]
    gpu = EmulatedGpu(capability, multiprocessors, total_bytes=24 << 30, executes=False)
    with emulated_cupy(gpu):
        forward, *_ = forward_on(gpu, config, 2)
        kernels = set()
        for rows in (1, 2, 7, 16, 31, 32, 33, 64, 65, 127, 128, 129, 256, 511, 512):
            forward.prefill(1, rows, forward.slot_capacity - rows, None)
            last_row = [la for la in gpu.launches if la.kernel == "decode_product_bf16"]
            assert [la.arguments["B"] for la in last_row] == [1]
            kernels |= set(check_launches(gpu, config, rows))
    large = {"gemm_bf16_128x256", "attention_prefill_bf16_128"} & kernels
    assert not large or capability in (80, 90)
    assert {"gemm_bf16_32x16", "gemm_bf16"} <= kernels


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("capability", "multiprocessors"), GPUS)
def test_every_launch_of_decode_is_valid(model, capability, multiprocessors):
    config = MODELS[model]
    gpu = EmulatedGpu(capability, multiprocessors, total_bytes=24 << 30, executes=False)
    with emulated_cupy(gpu):
        forward, step, sampler, (token_ids, positions, slots) = forward_on(gpu, config, 64)
        for rows in (1, 2, 3, 8, 9, 32, 33, 64):
            for few in (True, False):
                step.run(token_ids, positions, slots, rows)
                sampler.sample(forward.logits, token_ids, positions, slots, rows, few=few)
                check_products(list(gpu.launches), config, rows)
                kernels = check_launches(gpu, config, rows)
                assert ("sample_top_k" in kernels, "sample_draw" in kernels) == (few, not few)
                # Five kernels a layer; before them the embedding, after them logits and draw.
                assert len(kernels) == 5 * config.num_hidden_layers + (4 if few else 5)


@pytest.mark.parametrize("model", ["qwen3-0.6b", "smollm2"])
def test_every_launch_of_decode_in_clusters_is_valid(model):
    config = MODELS[model]
    gpu = EmulatedGpu(90, 132, total_bytes=24 << 30, executes=False)
    with emulated_cupy(gpu):
        forward, step, sampler, rows = forward_on(gpu, config, 2, use_clusters=True)
        step.run(*rows, 1)
        sampler.sample(forward.logits, *rows, 1, few=True)
        check_products(list(gpu.launches), config, 1, in_clusters=True)
        kernels = check_launches(gpu, config, 1)
        assert kernels.count("self_attention_cluster_bf16") == config.num_hidden_layers
        assert len(kernels) == 4 * config.num_hidden_layers + 4


SOURCE = """
constexpr int THREADS = 4 * 32;
extern "C" __global__ void __launch_bounds__(THREADS, 2) bounded(float* __restrict__ out, int T) {}
extern "C" __global__ void plain(const bf16* x, mass_t* sums) {}
"""


def test_signatures_and_launch_bounds_are_read_from_the_source():
    found = signatures(SOURCE, ())
    assert found["bounded"].max_threads == 128
    assert found["plain"].max_threads == 1024
    kinds = [(p.name, p.dtype, p.is_pointer) for p in found["bounded"].parameters]
    assert kinds == [("out", np.float32, True), ("T", np.int32, False)]
    assert [p.dtype for p in found["plain"].parameters] == [np.uint16, np.uint64]
    with pytest.raises(ValueError, match="unknown type"):
        signatures('extern "C" __global__ void odd(double x) {}', ())


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"grid": (1, 65536)}, "65536"),
        ({"grid": (0,)}, "0, 1, 1"),
        ({"grid": (1, 1, 65536)}, "65536"),
        ({"block": (129,)}, "129"),
        ({"shared_mem": 48 * 1024 + 1}, "shared bytes"),
        ({"args": 1}, "1 arguments"),
        ({"T": 5}, "int for parameter"),
        ({"T": np.int64(5)}, "int64 for parameter"),
        ({"dtype": np.uint16}, "uint16 for parameter"),
    ],
)
def test_the_emulated_driver_refuses_what_a_driver_would_refuse(change, reason):
    with emulated_cupy(EmulatedGpu(executes=False)):
        import cupy

        memory = cupy.cuda.UnownedMemory(cupy.cuda.runtime.malloc(1024), 1024, None, 0)
        pointer = cupy.cuda.MemoryPointer(memory, 0)
        out = cupy.ndarray((8,), change.get("dtype", np.float32), pointer)
        kernel = cupy.RawModule(code=SOURCE).get_function("bounded")
        args = (out, change.get("T", np.int32(5)))[: change.get("args", 2)]
        launch = (change.get("grid", (1,)), change.get("block", (128,)), args)
        with pytest.raises(CUDADriverError, match=reason):
            kernel(*launch, shared_mem=change.get("shared_mem", 0))


@pytest.mark.parametrize(("capability", "limit"), [(75, 65536), (86, 101376), (90, 232448)])
def test_more_shared_memory_than_the_gpu_has_is_refused(capability, limit):
    with emulated_cupy(EmulatedGpu(capability, executes=False)):
        import cupy

        kernel = cupy.RawModule(code=SOURCE).get_function("bounded")
        kernel.max_dynamic_shared_size_bytes = limit
        with pytest.raises(CUDADriverError, match="shared bytes"):
            kernel.max_dynamic_shared_size_bytes = limit + 1
