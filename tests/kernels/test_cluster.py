"""The wrappers of cluster.cuh: blocks meet, and write to each other's shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.emulation import EmulationError, load_kernels

BLOCKS, THREADS = 4, 64
KERNEL = """
#include "common.cuh"
#include "cluster.cuh"

struct __align__(16) Shared {
    float sent[64];
    float fours[64];
    Arrivals arrivals;
};

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64)
    ring_shift(float* out, const float* x) {
    DYNAMIC_SHARED(Shared, shared);
    const int rank = cluster_rank();
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        expect_bytes(shared->arrivals, 512);
    }
    cluster_arrive();
    const float value = x[index];
    cluster_wait();
    send(shared->sent + threadIdx.x, shared->arrivals, (rank + 1) % 4, value);
    if (threadIdx.x % 4 == 0) {
        send_4(shared->fours + threadIdx.x, shared->arrivals, (rank + 3) % 4,
               make_float4(value, value + 1, value + 2, value + 3));
    }
    wait_for_bytes(shared->arrivals);
    out[index] = shared->sent[threadIdx.x] * 1000.0f + shared->fours[threadIdx.x];
}
"""


def run(source: str = KERNEL, clusters: int = 3, blocks: int = 0) -> tuple[np.ndarray, np.ndarray]:
    count = blocks or clusters * BLOCKS
    x = np.arange(count * THREADS, dtype=np.float32)
    out = np.full_like(x, np.nan)
    load_kernels(source=source).launch(
        "ring_shift", (count,), (THREADS,), [out, x], shared_bytes=528, orders=(0, 1, 2, 3)
    )
    return out.reshape(-1, THREADS), x.reshape(-1, THREADS)


def test_each_block_gets_what_its_neighbours_in_the_cluster_have_sent():
    out, x = run()
    for block in range(len(out)):
        cluster, rank = divmod(block, BLOCKS)
        before, after = (cluster * BLOCKS + (rank + step) % BLOCKS for step in (-1, 1))
        np.testing.assert_array_equal(out[block], x[before] * 1000 + x[after])


ARRIVE, WAIT = "    cluster_arrive();\n", "    cluster_wait();\n"
FAULTS = [
    (f"{WAIT}    send", "    send", "may not have started"),
    ("    wait_for_bytes(shared->arrivals);\n", "", "ended|differ"),
    (f"{ARRIVE}    const", "    const", "has not arrived"),
    (f"{WAIT}    send", f"{ARRIVE}    send", "arrives again"),
    ("(rank + 1) % 4", "rank + 1", "no block 4"),
    ("send(shared->sent + threadIdx.x", "send(out + index", "no dynamic shared memory"),
    (f"{ARRIVE}    const", f"    if (rank == 2) return;\n{ARRIVE}    const", "never ends"),
    ("shared->arrivals, 512", "shared->arrivals, 516", "never ends"),
    ("shared->arrivals, 512", "shared->arrivals, 508", "more bytes than are expected|ended"),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[fault[2] for fault in FAULTS])
def test_what_the_hardware_leaves_undefined_is_an_error(old, new, message):
    assert KERNEL.count(old) == 1
    with pytest.raises(EmulationError, match=message):
        run(KERNEL.replace(old, new))


def test_a_cluster_of_one_block_cannot_send():
    source = KERNEL.replace("__cluster_dims__(4", "__cluster_dims__(1").replace("% 4,", "% 1,")
    with pytest.raises(EmulationError, match="a cluster of one block"):
        run(source)


def test_a_grid_that_is_no_whole_number_of_clusters_is_refused():
    with pytest.raises(EmulationError, match="whole clusters of 4"):
        run(blocks=6)
