"""rms_norm.cu against float64."""

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import Sizes, from_bf16, load_kernels, to_bf16


def check(embed: int, hidden: np.ndarray, eps: float = 1e-6, sanitize: bool = False) -> None:
    rows = len(hidden)
    weight = to_bf16(np.random.default_rng(2).uniform(-2, 2, embed))
    out = Guarded((rows, embed), np.uint16)
    kernels = load_kernels("rms_norm.cu", Sizes(E=embed, RMS_NORM_EPS=eps))
    args = [out.array, hidden, weight, np.int32(rows)]
    kernels.launch("rms_norm_bf16", (rows,), (256,), args, sanitize=sanitize)
    out.assert_guards_intact()
    expected = oracle.rms_norm(hidden.astype(np.float64), from_bf16(weight), eps)
    assert_close(from_bf16(out.array), expected, oracle.BF16_EPS * np.abs(expected) + 1e-38)


# Widths: one and two groups of 8, a warp less one group, a warp, one more, SmolLM2, Qwen3-0.6B.
@pytest.mark.parametrize(
    "embed",
    [8, pytest.param(16, marks=pytest.mark.emulation)]
    + [pytest.param(e, marks=pytest.mark.emulation) for e in (248, 256, 264, 1024, 2056)]
    + [576],
)
def test_matches_float64(embed):
    check(embed, np.random.default_rng(3).standard_normal((3, embed)).astype(np.float32))


@pytest.mark.emulation
def test_large_small_and_zero_rows():
    rows = np.random.default_rng(4).standard_normal((4, 576)).astype(np.float32)
    rows *= np.array([[1e12], [1e-12], [0.0], [1.0]], np.float32)
    rows[3, 0] = 5000.0  # a massive activation
    check(576, rows, eps=1e-5)


@pytest.mark.emulation
def test_nan_stays_in_its_row():
    rows = np.ones((2, 64), np.float32)
    rows[0, 5] = np.nan
    out = np.zeros((2, 64), np.uint16)
    args = [out, rows, to_bf16(np.ones(64)), np.int32(2)]
    load_kernels("rms_norm.cu", Sizes(E=64)).launch("rms_norm_bf16", (2,), (256,), args)
    assert np.isnan(from_bf16(out[0])).all()
    assert np.isfinite(from_bf16(out[1])).all()


@pytest.mark.emulation
@pytest.mark.parametrize("embed", [8, 576])
def test_clean_under_the_sanitizer(embed):
    check(
        embed,
        np.random.default_rng(3).standard_normal((2, embed)).astype(np.float32),
        sanitize=True,
    )


@pytest.mark.parametrize(
    ("embed", "rows", "part_count", "first_row"),
    [(8, 2, 1, 0), (72, 3, 0, 0)]
    + [
        pytest.param(*case, marks=pytest.mark.emulation)
        for case in ((1024, 3, 2, 0), (1032, 4, 16, 3), (576, 5, 3, 2))
    ],
)
def test_parts_of_a_product_join_the_residual_before_the_norm(embed, rows, part_count, first_row):
    rng = np.random.default_rng(5)
    hidden = rng.standard_normal((rows, embed)).astype(np.float32)
    parts = rng.standard_normal((max(part_count, 1), rows, embed)).astype(np.float32)
    weight = to_bf16(rng.uniform(-2, 2, embed))
    out = Guarded((rows, embed), np.uint16)
    found = Guarded((rows, embed), np.float32)
    found.array[...] = hidden
    args = [out.array, found.array, parts, weight, *map(np.int32, (rows, part_count, first_row))]
    load_kernels("rms_norm.cu", Sizes(E=embed)).launch(
        "rms_norm_add_bf16", (rows - first_row,), (128,), args
    )
    for guarded in (out, found):
        guarded.assert_guards_intact()
    expected = hidden.astype(np.float64)
    expected[first_row:] += parts[:part_count, first_row:].astype(np.float64).sum(axis=0)
    magnitude = np.abs(hidden) + np.abs(parts[:part_count]).sum(axis=0)
    assert_close(found.array, expected, (part_count + 1) * oracle.FP32_EPS * magnitude)
    normed = oracle.rms_norm(expected[first_row:], from_bf16(weight), 1e-6)
    slack = 1e-5 * np.abs(from_bf16(weight))
    tolerance = oracle.BF16_EPS * np.abs(normed) + slack
    assert_close(from_bf16(out.array[first_row:]), normed, tolerance)
    assert (out.array[:first_row] == 0xFFFF).all(), "a row before the first was written"
