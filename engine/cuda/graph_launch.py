"""Launches a captured graph many times without letting go of the GIL in between.

CuPy gives the GIL up around each launch. Beside a thread that computes in Python, every launch
would then wait until that thread's turn is over: a millisecond in the app, longer than the step
itself takes. A launch is a few microseconds, so it is kept instead, through the driver's own entry.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from typing import Any

from cupy.cuda import driver


def launch_graph(graph: Any, stream: Any, times: int) -> None:  # noqa: ANN401  (CuPy's)
    """Enqueue a `cupy.cuda.Graph` so many times; does not wait.

    Raises:
        CUDADriverError, CUDARuntimeError: a launch was refused.
    """
    launch, handle = _driver_launch(), getattr(graph, "graphExec", None)
    if launch is None or handle is None:
        for _ in range(times):
            graph.launch(stream)
        return
    for _ in range(times):
        status = launch(handle, stream.ptr)
        if status != 0:
            raise driver.CUDADriverError(status)


@cache
def _driver_launch() -> Any:  # noqa: ANN401
    """cuGraphLaunch, called with the GIL held; None where the driver is not found by its name."""
    try:
        library = ctypes.PyDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return None
    launch = library.cuGraphLaunch
    launch.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    launch.restype = ctypes.c_int
    return launch
