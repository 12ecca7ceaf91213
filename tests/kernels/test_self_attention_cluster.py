"""self_attention_cluster.cu against float64: products, norms, rotation, cache, attention."""

from __future__ import annotations

import numpy as np
import pytest

from engine.models.model_config import ModelConfig
from tests.kernels import oracle
from tests.kernels.attention_step import NORMED, PLAIN, AttentionStep
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulated_device import emulated_cupy
from tests.kernels.emulation import EmulationError, Sizes, from_bf16, load_kernels, to_bf16
from tests.kernels.emulation.build import source_with
from tests.kernels.oracle_attention import NAN_BF16

SOURCE = source_with(
    "self_attention_cluster.cu", "attention_share.cuh", "self_attention_products.cuh"
)
ORDERS = (0, 1, 2, 3)


def self_attention(sizes: Sizes, cluster: int, stages: int):
    """The launch as the engine lays it out."""
    heads = (sizes.NH, sizes.NKV, sizes.HD)
    config = ModelConfig("qwen3", 1, sizes.E, sizes.F, *heads, 256, 1e-6, 1e6, 4096, True)
    with emulated_cupy():
        from engine.cuda.self_attention import SelfAttention

        return SelfAttention(config, cluster, stages)


class ClusterStep(AttentionStep):
    """As its base, for one row; q, k and v come from the product of x with qkv_proj."""

    product_size = 4.0

    def __init__(self, position: int, *, cluster=4, stages=2, **case) -> None:
        super().__init__([position], **case)
        self.cluster, self.stages = cluster, stages
        s, rng = self.sizes, np.random.default_rng([11, position + 1])
        self.x = rng.standard_normal(s.E).astype(np.float32) * 3
        self.norm = to_bf16(rng.uniform(0.5, 2, s.E))
        self.qkv_proj = to_bf16(rng.standard_normal((self.qkv.shape[1], s.E)) / np.sqrt(s.E))
        self.o_proj = to_bf16(rng.standard_normal((s.E, s.NH * s.HD)) / np.sqrt(s.NH * s.HD))
        self.parts = Guarded((s.NKV, s.E), np.float32)
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
        attention = self_attention(self.sizes, self.cluster, self.stages)
        kernels = load_kernels(
            "self_attention_cluster.cu",
            self.sizes,
            arch=arch,
            source=source,
            defines=dict(define.removeprefix("-D").split("=") for define in attention.defines),
        )
        args = [self.parts.array, self.k_pool, self.v_pool, self.x, self.norm]
        args += [self.qkv_proj, self.o_proj, self.q_norm, self.k_norm, self.rope_table]
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
        self.parts.assert_guards_intact()

    def check(self) -> None:
        self.check_cache()
        if self.positions[0] < 0:
            assert np.isnan(self.parts.array).all(), "an idle row was written"
            return
        s = self.sizes
        attention, error = self.attention(0)
        # By kv head: [NKV, its values], and of o_proj [E, NKV, its values].
        heads = attention.reshape(s.NKV, -1)
        weights = from_bf16(self.o_proj).astype(np.float64).reshape(s.E, s.NKV, -1)
        expected = np.einsum("gv,egv->ge", heads, weights)
        sizes = np.einsum("gv,egv->ge", np.abs(heads), np.abs(weights))
        tolerance = error * np.abs(weights).sum(axis=2).T + 8 * oracle.FP32_EPS * sizes
        assert_close(self.parts.array, expected, tolerance)


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
@pytest.mark.parametrize("cluster", [1, 2, 8, 16])
@pytest.mark.parametrize("position", [1, 31, 32, 33, 63, 64, 65, 127, 200, 513])
def test_every_position_and_cluster(position, cluster, sizes):
    run(position, cluster=cluster, sizes=sizes)


@pytest.mark.emulation
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("position", [0, 64, 700])
def test_any_number_of_stages(position, stages):
    run(position, cluster=2, stages=stages)


@pytest.mark.emulation
@pytest.mark.parametrize("position", [0, 63, 130])
@pytest.mark.parametrize(
    "sizes",
    [
        Sizes(E=1024, NH=4, NKV=2, HD=128),  # Qwen3-0.6B
        Sizes(E=2048, NH=4, NKV=2, HD=128),  # Qwen3-1.7B
        Sizes(E=576, NH=9, NKV=3, HD=64, QK_NORM=0),  # SmolLM2
        Sizes(E=256, NH=4, NKV=2, HD=64),  # the demo model
        Sizes(E=72, NH=8, NKV=1, HD=128),
        Sizes(E=64, NH=4, NKV=1, HD=256),
        Sizes(E=64, NH=2, NKV=2, HD=32),
    ],
    ids=lambda sizes: f"E{sizes.E}-HD{sizes.HD}-group{sizes.NH // sizes.NKV}",
)
def test_sizes_of_models(sizes, position):
    run(position, sizes=sizes, cluster=16)


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
    np.testing.assert_array_equal(apart.parts.array, together.parts.array)


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
    assert np.isnan(step.parts.array).all()


FAULTS = {
    "norm of the input": ("values[v][i] *= factors[i];", ""),
    "mean of the input": ("warp_sum(squares) * (1.0f / E)", "warp_sum(squares)"),
    "weights still on their way": ("    cp_async_wait<STAGES>();", ""),
    "head of q": ("kv_head * GROUP + head :", "head :"),
    "head of k and v": ("(head - GROUP) * NKV + kv_head", "(head - GROUP) * NKV"),
    "row of a block": ("cluster_rank() * BLOCK_ROWS + row :", "row :"),
    "token to some blocks": ("lane < CLUSTER && index", "lane < CLUSTER - 1 && index"),
    "norm of k": ("exchange.token, key_norm", "exchange.token, query_norm"),
    "mean of a head": ("squares * (1.0f / HD)", "squares"),
    "other half's norm": ("other[d] *= scale * other_factors[d]", "other[d] *= scale"),
    "rotation": ("chunk < HALF ? -turned : turned", "turned"),
    "angle": ("% HALF * 8 + d]", "% HALF * 8]"),
    "position of the angle": ("(position) * (HD / 2)", "(position - 1) * (HD / 2)"),
    "k not rounded": ("    unpack_8_bf16(key, packed_key);", "    key[0] *= 1.1f;"),
    "v not rounded": ("    unpack_8_bf16(value, packed_value);", "    value[0] *= 1.1f;"),
    "v of the cache": ("v_row + chunk * 8, packed_value", "v_row + chunk * 8, packed_key"),
    "token of all lanes": ("if (lane < KEY_LANES) {\n            shares", "{\n            shares"),
    "token of no block": ("rank == CLUSTER - 1 &&", "rank == CLUSTER &&"),
    "token of every block": ("rank == CLUSTER - 1 &&", ""),
    "first unit": ("rank * units / CLUSTER,", "0,"),
    "last unit": ("(rank + 1) * units / CLUSTER,", "(rank + 1) * (units - 1) / CLUSTER,"),
    "one too few": ("position};", "position - 1};"),
    "one too many": ("position};", "position + 1};"),
    "page": ("table[position / PAGE_TOKENS] * PAGE", "table[0] * PAGE"),
    "row of a page": ("position % PAGE_TOKENS) * HD", "position % 8) * HD"),
    "slot": ("(slots[0]) * max_pages", "(0) * max_pages"),
    "units still on their way": ("cp_async_wait<STAGES - 1>();", ""),
    "stage": ("stage + 1 < STAGES ? stage + 1 : 0", "0"),
    "rescale": ("shares[g].out[d] *= correction;", ""),
    "warps": ("weight * exchange.sum[w][g]", "exchange.sum[w][g]"),
    "blocks": ("weight * exchange.parts[part]", "exchange.parts[part]"),
    "row of o_proj": ("cluster_rank() * O_BLOCK_ROWS + row : E", "row : E"),
    "heads of o_proj": ("(blockIdx.y) * HEADS;", "(0) * HEADS;"),
    "kv head of a part": ("(blockIdx.y) * E, weights", "(0) * E, weights"),
    "o_proj still on its way": ("    cp_async_wait<0>();", ""),
    "joined values to some blocks": ("        if (used) {", "        if (used && part > 0) {"),
    "head of an output": ("(rank * OUTPUTS + index) / HD", "0"),
    "maximum of one head": ("index % HD < CLUSTER", "index < CLUSTER"),
}
# Two heads to a group and four blocks, of which two have outputs of the same head.
FAULT_CASE = {"sizes": Sizes(NH=4, NKV=2, HD=64), "slots": [1], "sharpness": 2.0, "orders": (0, 2)}
FAULT_POSITIONS = (330, 1)


def run_fault_case(source: str) -> None:
    for position in FAULT_POSITIONS:
        run(position, source=source, **FAULT_CASE)


@pytest.mark.emulation
@pytest.mark.parametrize(("old", "new"), FAULTS.values(), ids=FAULTS)
def test_planted_fault_is_seen(old, new):
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times"
    with pytest.raises((AssertionError, EmulationError)):
        run_fault_case(SOURCE.replace(old, new))


@pytest.mark.emulation
def test_the_case_of_the_planted_faults_is_right_without_them():
    run_fault_case(SOURCE)


MEET = "    cluster_arrive();\n    cluster_wait();\n"
WAITS = {
    "all blocks have started": ("    cluster_wait();  // all", "    cluster_arrive();  // all"),
    "the token": ("    cp_async_commit();\n    cluster_wait();\n", "    cp_async_commit();\n"),
    "the block's shares": ("    __syncthreads();\n    send_shares", "    send_shares"),
    "the cluster's shares": (f"{MEET}    join_blocks", "    join_blocks"),
    "the joined values": (f"{MEET}    multiply_o", "    multiply_o"),
}


@pytest.mark.emulation
@pytest.mark.parametrize(("old", "new"), WAITS.values(), ids=WAITS)
def test_missing_wait_is_seen(old, new):
    assert SOURCE.count(old) == 1
    with pytest.raises((AssertionError, EmulationError)):
        run(330, source=SOURCE.replace(old, new), orders=ORDERS)
