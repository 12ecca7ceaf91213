"""swiglu.cu against float64."""

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import Sizes, from_bf16, load_kernels


def check(width: int, gate_up: np.ndarray, sanitize: bool = False) -> None:
    rows = len(gate_up)
    out = Guarded((rows, width), np.uint16)
    kernels = load_kernels("swiglu.cu", Sizes(F=width))
    grid = ((width + 1023) // 1024, rows)
    kernels.launch(
        "swiglu_bf16", grid, (128,), [out.array, gate_up, np.int32(rows)], sanitize=sanitize
    )
    out.assert_guards_intact()
    values = gate_up.astype(np.float64)
    expected = oracle.swiglu(values[:, :width], values[:, width:])
    # 1e-38: results below the smallest normal number may become 0.
    assert_close(from_bf16(out.array), expected, oracle.BF16_EPS * np.abs(expected) + 1e-38)


@pytest.mark.parametrize("width", [8, 1032])
def test_matches_float64(width):
    check(width, np.random.default_rng(5).normal(0, 4, (2, 2 * width)).astype(np.float32))


@pytest.mark.emulation
@pytest.mark.parametrize("width", [16, 1016, 1024, 1536, 3072])
def test_matches_float64_at_other_widths(width):
    check(width, np.random.default_rng(5).normal(0, 4, (3, 2 * width)).astype(np.float32))


@pytest.mark.emulation
def test_extreme_gates():
    gates = np.array([0, -0.0, 100, -100, 1e4, -1e4, 3e38, -3e38], np.float32)
    check(8, np.concatenate([gates, np.ones(8, np.float32)])[None])


@pytest.mark.emulation
def test_clean_under_the_sanitizer():
    check(1032, np.random.default_rng(5).normal(0, 4, (2, 2064)).astype(np.float32), sanitize=True)
