"""What every test shares: where there is no screen, windows are drawn in memory; and who cleans up.

Without a platform Qt would end the whole test process at the first widget, with a core dump. So
would a widget of an earlier test whose garbage another thread collects: a test that had windows
collects on its own thread when it is over (see app/gui_garbage.py).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator

import pytest

if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")


def pytest_collection_finish() -> None:
    # What was imported stays: collections need not go through it again and again.
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def windows_are_collected_on_this_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "qapp" in request.fixturenames:
        gc.collect()
