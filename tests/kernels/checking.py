"""Guard bytes and tolerances of the kernel tests.

Tolerance: |found - expected| <= factor * eps * scale, elementwise, where `scale` is the sum of the
magnitudes that went into the element (|a*b| summed, so that cancellation is allowed for) and eps is
2^-8 for one rounding to bf16 (half an ulp is at most 2^-9 of the value, doubled) or 2^-23 for fp32.
`factor` counts roundings: about 2 + sqrt(additions) in fp32, 1 for a bf16 result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

GUARD_ELEMENTS = 64
_GUARD_BYTE = 0xA5


class Guarded:
    """An output array between guard bytes; it starts as NaN (0xFF bytes)."""

    def __init__(self, shape: tuple[int, ...], dtype: type[np.generic]) -> None:
        count = int(np.prod(shape))
        self._whole = np.empty(count + 2 * GUARD_ELEMENTS, dtype)
        self._whole.view(np.uint8)[:] = _GUARD_BYTE
        self.array = self._whole[GUARD_ELEMENTS : GUARD_ELEMENTS + count].reshape(shape)
        self.array.view(np.uint8)[...] = 0xFF

    def assert_guards_intact(self) -> None:
        """Fail if a byte beside the array has changed."""
        guards = np.concatenate([self._whole[:GUARD_ELEMENTS], self._whole[-GUARD_ELEMENTS:]])
        changed = np.flatnonzero(guards.view(np.uint8) != _GUARD_BYTE)
        assert changed.size == 0, f"guard bytes changed at {changed[:8]}"


def assert_close(
    found: NDArray[np.floating], expected: NDArray[np.float64], tolerance: NDArray[np.float64]
) -> None:
    """Fail with the worst element if any differs by more than its own `tolerance`, or is NaN."""
    error = np.abs(found.astype(np.float64) - expected)
    bad = ~(error <= tolerance)
    if bad.any():
        worst = np.unravel_index(int(np.argmax(np.where(bad, error - tolerance, -1))), error.shape)
        raise AssertionError(
            f"{int(bad.sum())} of {bad.size} elements are off; at {worst}: found {found[worst]}, "
            f"expected {expected[worst]}, allowed {tolerance[worst]}"
        )
