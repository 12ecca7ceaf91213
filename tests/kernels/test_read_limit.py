"""read_limit.cu reads every vector, once: the exclusive or of all words tells."""

import numpy as np
import pytest

from tests.kernels.checking import Guarded
from tests.kernels.emulation import Sizes, load_kernels


def check(vectors: int, blocks: int, sanitize: bool = False) -> None:
    words = np.random.default_rng(2).integers(0, 2**32, 4 * vectors, np.uint32)
    sums = Guarded((blocks,), np.uint32)
    kernels = load_kernels("read_limit.cu", Sizes())
    kernels.launch(
        "read_limit", (blocks,), (512,), [sums.array, words, np.int32(vectors)], sanitize=sanitize
    )
    sums.assert_guards_intact()
    assert np.bitwise_xor.reduce(sums.array) == np.bitwise_xor.reduce(words)


@pytest.mark.parametrize("vectors", [1, 4096, 4097])
def test_all_words_are_read(vectors):
    check(vectors, 1)


@pytest.mark.emulation
@pytest.mark.parametrize(("vectors", "blocks"), [(5, 3), (12288, 3), (20001, 2), (100, 4)])
def test_all_words_are_read_by_several_blocks(vectors, blocks):
    check(vectors, blocks)


@pytest.mark.emulation
def test_clean_under_the_sanitizer():
    check(4097, 2, sanitize=True)
