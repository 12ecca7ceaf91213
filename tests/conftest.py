"""What every test shares: where there is no screen, windows are drawn in memory.

Without it Qt would end the whole test process at the first widget, with a core dump.
"""

from __future__ import annotations

import os
import sys

if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
