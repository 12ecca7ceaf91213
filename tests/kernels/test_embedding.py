"""embedding.cu against table look-up."""

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded
from tests.kernels.emulation import SMOLLM2_135M, Sizes, from_bf16, load_kernels, to_bf16


def run(sizes: Sizes, token_ids: list[int], sanitize: bool = False):
    rng = np.random.default_rng(1)
    table = to_bf16(rng.standard_normal((sizes.V, sizes.E)))
    ids = np.array(token_ids, np.int32)
    out = Guarded((len(ids), sizes.E), np.float32)
    kernels = load_kernels("embedding.cu", sizes)
    args = [out.array, table, ids, np.int32(len(ids))]
    kernels.launch("embedding_bf16", (len(ids),), (128,), args, sanitize=sanitize)
    out.assert_guards_intact()
    return out.array, from_bf16(table)


@pytest.mark.parametrize("embed", [8, 64, 576])
def test_rows_are_copied_exactly(embed):
    found, table = run(Sizes(E=embed, V=100), [0, 99, 5, 5])
    np.testing.assert_array_equal(found, oracle.embedding(table, np.array([0, 99, 5, 5])))


def test_an_id_outside_the_vocabulary_gives_nan_and_reads_nothing():
    found, _ = run(Sizes(E=64, V=100), [-1, 100, 2**31 - 1, 3])
    assert np.isnan(found[:3]).all()
    assert np.isfinite(found[3]).all()


@pytest.mark.emulation
def test_real_width_under_the_sanitizer_reads_the_last_row_and_no_further():
    sizes = Sizes(**{**vars(SMOLLM2_135M), "V": 300})
    found, table = run(sizes, [299, -5, 300], sanitize=True)
    np.testing.assert_array_equal(found[0], table[299])
