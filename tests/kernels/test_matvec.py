"""matvec.cu against float64."""

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import from_bf16, load_kernels, to_bf16

KERNELS = load_kernels("matvec.cu")


def run(out: np.ndarray, x: np.ndarray, weight: np.ndarray, accumulate: int, **options) -> None:
    (b, k), n = x.shape, len(weight)
    args = [out, x, weight, np.int32(b), np.int32(n), np.int32(k), np.int32(accumulate)]
    KERNELS.launch("matvec_bf16", ((n + 7) // 8,), (128,), args, **options)


def operands(b: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([b, n, k])
    return to_bf16(rng.standard_normal((b, k))), to_bf16(rng.standard_normal((n, k)))


def check(b: int, n: int, k: int, **options) -> None:
    x, weight = operands(b, n, k)
    out = Guarded((b, n), np.float32)
    run(out.array, x, weight, 0, **options)
    out.assert_guards_intact()
    values, rows = from_bf16(x).astype(np.float64), from_bf16(weight).astype(np.float64)
    scale = np.abs(values) @ np.abs(rows).T
    factor = 2 + np.sqrt(k)
    assert_close(out.array, oracle.matvec(values, rows), factor * oracle.FP32_EPS * scale)


# K: one group of 8, a warp of groups less one, a warp, one more, four warps and one, SmolLM2.
@pytest.mark.parametrize(
    ("b", "n", "k"), [(1, 1, 8), (1, 9, 248), (2, 7, 576), (3, 8, 264), (8, 17, 1032)]
)
def test_matches_float64(b, n, k):
    check(b, n, k)


@pytest.mark.emulation
@pytest.mark.parametrize("b", range(1, 9))
@pytest.mark.parametrize(("n", "k"), [(2, 16), (33, 256), (15, 1024), (3, 3072), (1000, 576)])
def test_matches_float64_for_every_batch(b, n, k):
    check(b, n, k)


@pytest.mark.emulation
@pytest.mark.parametrize("b", [1, 3, 8])
def test_accumulate_adds_into_the_residual(b):
    x, weight = operands(b, 11, 576)
    product = np.zeros((b, 11), np.float32)
    run(product, x, weight, 0)
    before = np.random.default_rng(6).standard_normal((b, 11)).astype(np.float32)
    residual = before.copy()
    run(residual, x, weight, 1, orders=(0,))
    np.testing.assert_array_equal(residual, before + product)


@pytest.mark.emulation
def test_a_row_does_not_depend_on_the_batch():
    x, weight = operands(8, 21, 576)
    together = np.zeros((8, 21), np.float32)
    run(together, x, weight, 0)
    for b in range(8):
        alone = np.zeros((1, 21), np.float32)
        run(alone, x[b : b + 1].copy(), weight, 0, orders=(0,))
        np.testing.assert_array_equal(alone[0], together[b])


@pytest.mark.emulation
@pytest.mark.parametrize(("b", "n", "k"), [(1, 1, 8), (3, 9, 576), (8, 15, 264)])
def test_clean_under_the_sanitizer(b, n, k):
    check(b, n, k, sanitize=True)
