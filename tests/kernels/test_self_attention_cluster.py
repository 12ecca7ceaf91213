"""self_attention_cluster.cu against float64: product, norms, rotation, cache, attention."""

from __future__ import annotations

import numpy as np
import pytest

from engine.models.model_config import ModelConfig
from tests.kernels import oracle
from tests.kernels.attention_step import NORMED, PLAIN, AttentionStep
from tests.kernels.emulated_device import emulated_cupy
from tests.kernels.emulation import EmulationError, Sizes, from_bf16, load_kernels, to_bf16
from tests.kernels.emulation.build import source_with
from tests.kernels.oracle_attention import NAN_BF16

SOURCE = source_with(
    "self_attention_cluster.cu",
    "attention_tiles.cuh",
    "head_rotation.cuh",
    "self_attention_qkv.cuh",
)
ORDERS = (0, 1, 2, 3)
CLUSTER_BLOCKS = 8  # what the engine launches


def self_attention(sizes: Sizes, cluster: int):
    """The launch as the engine lays it out."""
    heads = (sizes.NH, sizes.NKV, sizes.HD)
    config = ModelConfig("qwen3", 1, sizes.E, sizes.F, *heads, 256, 1e-6, 1e6, 4096, True)
    with emulated_cupy():
        from engine.cuda.self_attention import SelfAttention

        return SelfAttention(config, cluster)


class ClusterStep(AttentionStep):
    """As its base, for one row; q, k and v come from the product of x with qkv_proj."""

    product_size = 4.0

    def __init__(self, position: int, *, cluster=4, **case) -> None:
        super().__init__([position], **case)
        self.cluster = cluster
        s, rng = self.sizes, np.random.default_rng([11, position + 1])
        self.x = rng.standard_normal(s.E).astype(np.float32) * 3
        self.norm = to_bf16(rng.uniform(0.5, 2, s.E))
        self.qkv_proj = to_bf16(rng.standard_normal((self.qkv.shape[1], s.E)) / np.sqrt(s.E))
        if s.QK_NORM == 0:
            self.q_norm = self.k_norm = np.full(s.HD, NAN_BF16, np.uint16)
        self.multiply()

    def multiply(self) -> None:
        """Set q, k and v as the oracle has them."""
        x = oracle.rms_norm(
            self.x.astype(np.float64), from_bf16(self.norm), self.sizes.RMS_NORM_EPS
        )
        self.qkv = oracle.matvec(x[None], from_bf16(self.qkv_proj).astype(np.float64))

    def launch(self, *, arch=900, source=None, **options) -> None:
        attention = self_attention(self.sizes, self.cluster)
        kernels = load_kernels(
            "self_attention_cluster.cu",
            self.sizes,
            arch=arch,
            source=source,
            defines=dict(define.removeprefix("-D").split("=") for define in attention.defines),
        )
        args = [self.out.array, self.k_pool, self.v_pool, self.x, self.norm]
        args += [self.qkv_proj, self.q_norm, self.k_norm, self.rope_table]
        args += [np.array(self.positions, np.int32), np.array(self.slots, np.int32)]
        args += [self.cache.block_table, np.int32(self.cache.block_table.shape[1])]
        kernels.launch(
            "self_attention_cluster_bf16",
            (self.cluster, self.sizes.NKV),
            (256,),
            args,
            shared_bytes=attention.shared_bytes,
            **options,
        )
        self.out.assert_guards_intact()

    def check(self) -> None:
        self.check_cache()
        self.check_output()


def run(position, *, arch=900, source=None, orders=(0,), sanitize=False, **case) -> ClusterStep:
    step = ClusterStep(position, **case)
    step.launch(arch=arch, source=source, orders=orders, sanitize=sanitize)
    step.check()
    return step


@pytest.mark.parametrize("position", [0, 130])
def test_matches_float64(position):
    run(position)


def test_an_idle_row_leaves_output_and_cache_alone():
    run(-1, orders=ORDERS)


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [NORMED, PLAIN], ids=["norm", "plain"])
@pytest.mark.parametrize("cluster", [2, 4, 8, 16])
@pytest.mark.parametrize("position", [1, 31, 32, 33, 63, 64, 65, 127, 200, 513])
def test_every_position_and_cluster(position, cluster, sizes):
    run(position, cluster=cluster, sizes=sizes)


# But for the number of kv heads, each of which has a cluster of its own.
QWEN3_0_6B = Sizes(E=1024, NH=4, NKV=2, HD=128)


@pytest.mark.emulation
@pytest.mark.parametrize("position", [0, 63, 130])
@pytest.mark.parametrize("cluster", [CLUSTER_BLOCKS, 16])
@pytest.mark.parametrize(
    "sizes",
    [
        QWEN3_0_6B,
        Sizes(E=2048, NH=4, NKV=2, HD=128),  # Qwen3-1.7B
        Sizes(E=576, NH=9, NKV=3, HD=64, QK_NORM=0),  # SmolLM2
        Sizes(E=256, NH=4, NKV=2, HD=64),  # the demo model
        Sizes(E=72, NH=4, NKV=1, HD=128),
        Sizes(E=72, NH=1, NKV=1, HD=128),
        Sizes(E=64, NH=2, NKV=2, HD=32),
    ],
    ids=lambda sizes: f"E{sizes.E}-HD{sizes.HD}-group{sizes.NH // sizes.NKV}",
)
def test_sizes_of_models(sizes, cluster, position):
    run(position, sizes=sizes, cluster=cluster)


@pytest.mark.emulation
@pytest.mark.parametrize(("cluster", "halves"), [(CLUSTER_BLOCKS, 6), (4, 10)])
def test_a_context_that_goes_around_the_ring(cluster, halves):
    attention = self_attention(QWEN3_0_6B, cluster)
    assert attention._dedicated + attention._weight_slots // attention._tile_slots == halves
    # Each warp has more tiles of 16 than it has keys and values under way at a time.
    run((halves // 2 + 1) * cluster * 8 * 16 + 3, sizes=QWEN3_0_6B, cluster=cluster)


@pytest.mark.emulation
@pytest.mark.parametrize("cluster", [2, CLUSTER_BLOCKS, 16])
@pytest.mark.parametrize("sizes", [NORMED, QWEN3_0_6B, Sizes(E=576, NH=9, NKV=3, HD=64)], ids=str)
def test_shared_memory_is_what_the_kernel_lays_out(sizes, cluster):
    shared_bytes = self_attention(sizes, cluster).shared_bytes
    laid_out = "WARPS * WARP_SLOTS * 16 + sizeof(Exchange)"

    def compile_with(most: int) -> None:
        # The two counters may be aligned already: 16 bytes less then.
        check = f"static_assert({laid_out} <= {most} && {laid_out} >= {most} - 16);"
        ClusterStep(-1, sizes=sizes, cluster=cluster).launch(source=f"{SOURCE}{check}\n")

    compile_with(shared_bytes)
    for wrong in (shared_bytes - 32, shared_bytes + 32):
        with pytest.raises(RuntimeError, match="static assertion failed"):
            compile_with(wrong)


@pytest.mark.emulation
def test_another_slot_of_the_cache():
    run(150, slots=[3])


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [NORMED, PLAIN], ids=["norm", "plain"])
def test_a_reply_reads_back_what_it_appended_across_pages(sizes):
    step = ClusterStep(60, sizes=sizes, steps=10)
    for seed in range(10):
        step.launch(orders=(0,))
        step.check()
        step.advance()
        step.x[...] = np.random.default_rng(seed).standard_normal(step.x.shape)
        step.multiply()


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [NORMED, PLAIN], ids=["norm", "plain"])
def test_result_does_not_depend_on_the_order_of_threads_and_blocks(sizes):
    run(330, sizes=sizes, orders=(*ORDERS, 4, 5))


@pytest.mark.emulation
def test_result_does_not_depend_on_clusters_that_run_together():
    apart, together = ClusterStep(330), ClusterStep(330)
    apart.launch(orders=(0,))
    together.launch(orders=ORDERS, resident=True)
    together.check()
    np.testing.assert_array_equal(apart.out.array, together.out.array)


@pytest.mark.emulation
@pytest.mark.parametrize("sizes", [NORMED, PLAIN, Sizes(E=72, NH=2, NKV=1, HD=64)], ids=str)
@pytest.mark.parametrize("position", [0, 63, 130])
def test_reads_and_writes_stay_inside_the_arrays(position, sizes):
    run(position, sizes=sizes, cluster=2, sanitize=True)


@pytest.mark.emulation
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_stays_visible(value):
    step = ClusterStep(130)
    step.x[3] = value
    step.launch(orders=(0,))
    assert np.isnan(from_bf16(step.out.array)).all()


FAULTS = {
    "norm of the input": ("values[v][i] *= factors[i];", ""),
    "mean of the input": ("warp_sum(squares) * (1.0f / E)", "warp_sum(squares)"),
    "weights still on their way": ("    cp_async_wait<PENDING>();", ""),
    "head of q": ("kv_head * GROUP + head :", "head :"),
    "head of k and v": ("(head - GROUP) * NKV + kv_head", "(head - GROUP) * NKV"),
    "row of a block": ("(cluster_rank() * WARPS + static_cast", "(static_cast"),
    "row of a warp": ("first + r * E :", "first :"),
    "token to some blocks": ("if (lane >= CLUSTER) {", "if (lane >= CLUSTER - 1) {"),
    "norm of k": ("warp < GROUP ? q_norm : k_norm", "q_norm"),
    "mean of a head": ("warp_sum(squares) * (1.0f / HD)", "warp_sum(squares)"),
    "other half's norm": ("high[j] * scale * rotation.high[j]", "high[j] * scale"),
    "rotation": ("y * rotation.angle[j].x + x", "y * rotation.angle[j].x - x"),
    "position of the angle": ("(position) * (HD / 2)", "(position - 1) * (HD / 2)"),
    "scale of the scores": ("head[d] * SOFTMAX_SCALE", "head[d]"),
    "queries rounded": ("{static_cast<unsigned short>(split >> 16)}", "{0}"),
    "column of the queries": ("{static_cast<unsigned short>(split)}", "{0}"),
    "k not rounded": ("head[d] = to_float(key);", "head[d] *= 1.1f;"),
    "v not rounded": ("exchange.value[d] = to_float(value);", "exchange.value[d] = 1.1f;"),
    "v of the cache": ("v_row[d] = value;", "v_row[d] = to_bf16(exchange.token[d]);"),
    "token of no block": ("newest = rank == CLUSTER - 1;", "newest = false;"),
    "token of every block": ("newest = rank == CLUSTER - 1;", "newest = true;"),
    "score of the token": ("newest ? exchange.score[g] : NO_SCORE", "exchange.score[0]"),
    "weight of the token": ("newest ? fast_exp2(token - largest) : 0.0f", "0.0f"),
    "first tile": ("first = rank * count / CLUSTER;", "first = 0;"),
    "last tile": ("(rank + 1) * count / CLUSTER;", "(rank + 1) * (count - 1) / CLUSTER;"),
    "tile of a warp": ("table, first + warp, end", "table, first, end"),
    "one too few": ("end, position};", "end, position - 1};"),
    "one too many": ("end, position};", "end, position + 1};"),
    "page": ("table[position / PAGE_TOKENS] * PAGE", "table[0] * PAGE"),
    "row of a page": ("position % PAGE_TOKENS) * HD", "position % 8) * HD"),
    "slot": ("(slots[0]) * max_pages", "(0) * max_pages"),
    "keys for values": ("half % 2 ? tiles.v_pool", "half % 3 ? tiles.v_pool"),
    "place in a tile": ("chunk ^ row % SWIZZLE", "(chunk + row) / 2"),
    "keys still on their way": (
        "cp_async_wait<RING - 1>();\n        __syncwarp();\n        score_tile",
        "__syncwarp();\n        score_tile",
    ),
    "values still on their way": (
        "cp_async_wait<RING - 1>();\n        __syncwarp();\n        add_values",
        "__syncwarp();\n        add_values",
    ),
    "place in the ring": ("int half = RING;", "int half = RING - 1;"),
    "key past the end": ("key + 8 < keys ? scores[1]", "key < keys ? scores[1]"),
    "maximum of a tile": ("next = fmaxf(next, __shfl_xor_sync(", "next = (__shfl_xor_sync("),
    "rescale": ("share.out[s][i] *= correction;", ""),
    "rescale the sum": ("share.sum *= correction;", ""),
    "weights rounded": ("return pack_bf16(value, left);", "return pack_bf16(value, 0.0f);"),
    "sum of a head": ("sum += __shfl_xor_sync(FULL_MASK, sum, lanes);", ""),
    "column of the values": ("share.out[s][2] + share.out[s][3];", "share.out[s][3];"),
    "warps": ("weight * exchange.sum[w][g]", "exchange.sum[w][g]"),
    "blocks": ("weight * exchange.parts[part]", "exchange.parts[part]"),
    "shares of a block": ("min(WARPS, end - first)", "min(WARPS, end - first) - 1"),
    "head of an output": ("(rank * OUTPUTS + index) / HD", "0"),
    "maximum of one head": ("index % HD < CLUSTER", "index < CLUSTER"),
    "too few bytes expected": ("4 * CLUSTER * (OUTPUTS + 2 * GROUP)", "4 * CLUSTER * OUTPUTS"),
    "too many bytes expected": ("sizeof exchange.token)", "sizeof exchange.token + 4)"),
}
# Two heads to a group and four blocks, of which two have outputs of the same head.
FAULT_CASE = {"sizes": Sizes(NH=4, NKV=2, HD=64), "slots": [1], "sharpness": 2.0, "orders": (0, 2)}
# Two blocks of the last have more tiles than the ring holds.
FAULT_PLACES = ((330, 4), (1, 4), (900, 2))


def run_fault_case(source: str) -> None:
    for position, cluster in FAULT_PLACES:
        run(position, source=source, cluster=cluster, **FAULT_CASE)


@pytest.mark.emulation
@pytest.mark.parametrize(("old", "new"), FAULTS.values(), ids=FAULTS)
def test_planted_fault_is_seen(old, new):
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times"
    with pytest.raises((AssertionError, EmulationError)):
        run_fault_case(SOURCE.replace(old, new))


@pytest.mark.emulation
def test_the_case_of_the_planted_faults_is_right_without_them():
    run_fault_case(SOURCE)


WAITS = {
    "all blocks have started": ("    cluster_wait();  // all", "    //"),
    "the token": ("    wait_for_bytes(exchange.token_arrivals);\n", ""),
    "the queries": ("    __syncthreads();\n    if (newest", "    if (newest"),
    "the block's shares": ("    __syncthreads();\n    send_shares", "    send_shares"),
    "the cluster's shares": ("    wait_for_bytes(exchange.part_arrivals);\n", ""),
    "the rotated head": (
        "        __syncwarp();\n#pragma unroll\n        for (int d",
        "        for (int d",
    ),
}


@pytest.mark.emulation
@pytest.mark.parametrize(("old", "new"), WAITS.values(), ids=WAITS)
def test_missing_wait_is_seen(old, new):
    assert SOURCE.count(old) == 1
    with pytest.raises((AssertionError, EmulationError)):
        run(330, source=SOURCE.replace(old, new), orders=ORDERS)
