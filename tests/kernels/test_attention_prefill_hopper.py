"""attention_prefill_hopper.cu on the CPU emulation against float64."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.kernels.checking import Guarded
from tests.kernels.emulation import EmulationError, Sizes, from_bf16, load_kernels, to_bf16
from tests.kernels.emulation.build import KERNELS
from tests.kernels.oracle_attention import NAN_BF16, attention, attention_tolerance, paged_cache

SOURCE = (KERNELS / "attention_prefill_hopper.cu").read_text()
SHARED_BYTES = 230528
SMALL = Sizes(NH=2, NKV=1, HD=128)


def run_prefill(
    T, first_position, *, sizes=SMALL, source=None, query_scale=1.0, orders=(0,), sanitize=False
):
    """Worst ratio of error to tolerance; also checks that only [T, NH, HD] was written."""
    cache = paged_cache(sizes, [first_position + T], seed=T * 1000 + first_position)
    random = np.random.default_rng(T)
    q = to_bf16(query_scale * random.standard_normal((T, sizes.NH, sizes.HD)))
    out = Guarded(q.shape, np.uint16)
    out.array[...] = NAN_BF16
    block_table_row = cache.block_table[0, : -(-(first_position + T) // 64)].copy()
    load_kernels("attention_prefill_hopper.cu", sizes, source=source).launch(
        "attention_prefill_hopper",
        grid=(sizes.NH, -(-T // 128)),
        block=(384,),
        args=[
            *(out.array, q, cache.k_pool, cache.v_pool, block_table_row),
            *(np.int32(T), np.int32(first_position)),
        ],
        shared_bytes=SHARED_BYTES,
        orders=orders,
        sanitize=sanitize,
    )
    out.assert_guards_intact()
    expected = attention(q, cache.keys[0], cache.values[0], first_position + np.arange(T))
    error = np.abs(from_bf16(out.array) - expected) / attention_tolerance(cache.values[0], True)
    return float(np.max(np.nan_to_num(error, nan=np.inf)))


def test_header_states_the_launch():
    stated = re.search(r"block \((\d+)\), dynamic shared bytes ([\d,]+)", SOURCE)
    assert stated is not None
    assert stated[1] == "384"
    assert int(stated[2].replace(",", "")) == SHARED_BYTES


def test_one_token_of_an_empty_cache():
    assert run_prefill(1, 0, sizes=Sizes(NH=1, NKV=1, HD=128)) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("T", "first_position"),
    [(1, 63), (1, 127), (2, 127), (17, 64), (64, 0), (65, 190), (128, 0), (129, 1), (200, 100)],
)
def test_every_length_and_first_position(T, first_position):
    assert run_prefill(T, first_position) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 2), (3, 3), (6, 2)])
def test_groups_of_heads(heads, kv_heads):
    assert run_prefill(18, 120, sizes=Sizes(NH=heads, NKV=kv_heads, HD=128)) <= 1


@pytest.mark.emulation
def test_a_long_context():
    assert run_prefill(2, 8190, sizes=Sizes(NH=1, NKV=1, HD=128)) <= 1


@pytest.mark.emulation
def test_sharp_scores_keep_their_accuracy():
    # Maxima of about 100 that move from tile to tile: the running rescale must follow.
    assert run_prefill(20, 400, query_scale=25.0) <= 1


@pytest.mark.emulation
def test_result_does_not_depend_on_thread_order():
    assert run_prefill(17, 700, orders=(0, 1, 2, 3, -1, -3)) <= 1


@pytest.mark.emulation
@pytest.mark.parametrize(("T", "first_position"), [(3, 62), (3, 126)])
def test_reads_and_writes_stay_inside_the_arrays(T, first_position):
    assert run_prefill(T, first_position, sanitize=True) <= 1


def plant(old, new):
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times"
    return SOURCE.replace(old, new)


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rows.mask(scores, block.first_position, tile * KEYS);", ""),
        ("i / 2 % 2 * 8 > limit;", "i / 2 % 2 * 8 > limit + 1;"),
        ("blockIdx.x / (NH / NKV);", "blockIdx.x % NKV;"),
        ("score * SOFTMAX_SCALE - next", "score / HD - next"),
        ("rows.correct(correction);", ""),
        ("v_pool, pages, left);", "v_pool, pages, KEYS);"),
        (
            "load_pages(next_pages, block_table_row, tile + 1,",
            "load_pages(next_pages, block_table_row, tile,",
        ),
        ("wgmma_wait<0>();\n        settle(rows.out);\n        meeting", "meeting"),
        (
            "last % STAGES * TILE_BYTES));\n        barrier",
            "tile % STAGES * TILE_BYTES));\n        barrier",
        ),
    ],
    ids=range(9),
)
def test_planted_fault_is_seen(old, new):
    sizes = Sizes(NH=4, NKV=2, HD=128)
    assert run_prefill(17, 300, sizes=sizes, source=plant(old, new), query_scale=4.0) > 2


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("line", "orders"),
    [
        ("meeting.wait_full(tile);", (0, 3)),
        ("barrier_wait(meeting.ended, 0);", (0, 3)),
        ("meeting.wait_empty(meeting.k_empty, tile);", (0, -1)),
        ("meeting.wait_empty(meeting.v_empty, tile);", (0, -1)),
        ("__syncthreads();  // the barriers are made", (0, 1)),
    ],
)
def test_missing_barrier_is_seen(line, orders):
    try:
        worst = run_prefill(128, 650, source=plant(line, "//"), orders=orders)
    except EmulationError as error:
        found = str(error)
    else:
        found = "a wrong result" if worst > 2 else "nothing"
    assert re.search(r"thread orders|no barrier was made|never ends|a wrong result", found)
