"""The wrappers of cluster.cuh: blocks meet, and write to each other's shared memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.emulation import EmulationError, load_kernels

BLOCKS, THREADS = 4, 64
KERNEL = """
#include "common.cuh"
#include "cluster.cuh"

extern "C" __global__ void __cluster_dims__(4, 1, 1) __launch_bounds__(64)
    ring_shift(float* out, const float* x) {
    DYNAMIC_SHARED(float, buffer);
    const int rank = cluster_rank();
    const int index = blockIdx.x * blockDim.x + threadIdx.x;
    cluster_arrive();
    const float value = x[index];
    cluster_wait();
    store_to_block(buffer + threadIdx.x, (rank + 1) % 4, value);
    cluster_arrive();
    cluster_wait();
    out[index] = buffer[threadIdx.x] + 1000.0f * rank;
}
"""


def run(source: str = KERNEL, clusters: int = 3, blocks: int = 0) -> tuple[np.ndarray, np.ndarray]:
    count = blocks or clusters * BLOCKS
    x = np.arange(count * THREADS, dtype=np.float32)
    out = np.full_like(x, np.nan)
    load_kernels(source=source).launch(
        "ring_shift", (count,), (THREADS,), [out, x], shared_bytes=THREADS * 4, orders=(0, 1, 2, 3)
    )
    return out.reshape(-1, THREADS), x.reshape(-1, THREADS)


def test_each_block_gets_what_its_neighbour_in_the_cluster_has_sent():
    out, x = run()
    for block in range(len(out)):
        cluster, rank = divmod(block, BLOCKS)
        sender = cluster * BLOCKS + (rank - 1) % BLOCKS
        np.testing.assert_array_equal(out[block], x[sender] + 1000 * rank)


ARRIVE, WAIT = "    cluster_arrive();\n", "    cluster_wait();\n"
FAULTS = [
    (f"{WAIT}    store", "    store", "may not have started"),
    (f"{WAIT}    out", "    out", "ended|differ"),
    (f"{ARRIVE}    const", "    const", "has not arrived"),
    (f"{WAIT}    store", f"{ARRIVE}    store", "arrives again"),
    ("(rank + 1) % 4", "rank + 1", "no block 4"),
    ("buffer + threadIdx.x, (", "out + index, (", "no dynamic shared memory"),
    (f"{ARRIVE}    const", f"    if (rank == 2) return;\n{ARRIVE}    const", "never ends"),
]


@pytest.mark.parametrize(("old", "new", "message"), FAULTS, ids=[fault[2] for fault in FAULTS])
def test_what_the_hardware_leaves_undefined_is_an_error(old, new, message):
    assert KERNEL.count(old) == 1
    with pytest.raises(EmulationError, match=message):
        run(KERNEL.replace(old, new))


def test_a_grid_that_is_no_whole_number_of_clusters_is_refused():
    with pytest.raises(EmulationError, match="whole clusters of 4"):
        run(blocks=6)
