"""Kernel tests need g++ (emulation) and libnvrtc (compile check); without them they skip."""

from __future__ import annotations

import pytest

from tests.kernels.emulation import find_gxx


@pytest.fixture(autouse=True)
def _needs_gxx(request: pytest.FixtureRequest) -> None:
    if find_gxx() is None and "compile" not in request.node.path.name:
        pytest.skip("g++ is not installed: kernels cannot be emulated")
