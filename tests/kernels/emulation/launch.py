"""Launches emulated kernels on NumPy arrays, in several orders and under the sanitizers."""

from __future__ import annotations

import ctypes
import pickle
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from tests.kernels.emulation.build import KERNELS, Sizes, build_library, find_gxx, write_source

Argument = np.ndarray | np.generic
ORDERS = (0, 1, 2)
_SANITIZER_TIMEOUT_S = 110


class EmulationError(Exception):
    """The kernel did what CUDA leaves undefined, or its result depends on the order of threads."""


class SanitizerError(EmulationError):
    """AddressSanitizer or UBSan stopped the kernel; the message is their report."""


def run_library(
    library: str,
    name: str,
    grid: Sequence[int],
    block: Sequence[int],
    args: Sequence[Argument],
    shared_bytes: int,
    order: int,
    resident: bool,
) -> None:
    """Run one launch in this process; arrays are written in place.

    Raises:
        EmulationError: as `Kernels.launch`.
    """
    entry = _entry(library)
    # The scalars must outlive the call; arrays are passed as the address of their pointer.
    cells: list[ctypes.c_uint64 | np.ndarray] = []
    addresses: list[int] = []
    sizes: list[int] = []
    for arg in args:
        if isinstance(arg, np.ndarray):
            if not arg.flags.c_contiguous or not arg.flags.writeable:
                raise ValueError("expected C-contiguous, writeable arrays")
            cell = ctypes.c_uint64(arg.ctypes.data)
            cells.append(cell)
            addresses.append(ctypes.addressof(cell))
            sizes.append(8)
        else:
            scalar = np.array(arg)
            cells.append(scalar)
            addresses.append(scalar.ctypes.data)
            sizes.append(scalar.nbytes)
    message = ctypes.create_string_buffer(2000)
    failed = entry(
        name.encode(),
        (ctypes.c_uint * 3)(*grid, *[1] * (3 - len(grid))),
        (ctypes.c_uint * 3)(*block, *[1] * (3 - len(block))),
        ctypes.c_size_t(shared_bytes),
        (ctypes.c_void_p * len(addresses))(*addresses),
        (ctypes.c_size_t * len(sizes))(*sizes),
        len(sizes),
        order,
        int(resident),
        message,
        ctypes.c_size_t(len(message)),
    )
    if failed:
        raise EmulationError(message.value.decode())


@cache
def _entry(library: str) -> ctypes._NamedFuncPointer:
    entry = ctypes.CDLL(library).emulation_launch
    entry.restype = ctypes.c_int
    return entry


class Kernels:
    """The kernels of one .cu file, compiled for one set of sizes and one architecture."""

    def __init__(self, path: Path, flags: list[str], arch: int) -> None:
        self._path = path
        self._flags = flags
        self._arch = arch

    def launch(
        self,
        name: str,
        grid: Sequence[int],
        block: Sequence[int],
        args: Sequence[Argument],
        *,
        shared_bytes: int = 0,
        orders: Sequence[int] = ORDERS,
        resident: bool = False,
        sanitize: bool = False,
    ) -> None:
        """Run `name` once per order and leave its results in the arrays of `args`.

        Raises:
            EmulationError: a divergent barrier or warp operation, an endless spin wait, results
                that depend on the order of threads, or arguments that do not fit the signature.
            SanitizerError: with `sanitize`, an access outside an array, a misaligned vector load.
        """
        library = str(build_library(self._path, self._flags, self._arch, sanitize))
        if sanitize:
            launch = (library, name, tuple(grid), tuple(block), list(args), shared_bytes)
            _launch_in_sanitized_child((*launch, orders[0], resident))
            return
        before = [np.array(arg) for arg in args]
        first: list[Argument] | None = None
        for order in orders:
            for arg, original in zip(args, before, strict=True):
                if isinstance(arg, np.ndarray):
                    arg[...] = original
            run_library(library, name, grid, block, args, shared_bytes, order, resident)
            if first is None:
                first = [np.array(arg) for arg in args]
            for i, (arg, expected) in enumerate(zip(args, first, strict=True)):
                if np.asarray(arg).tobytes() != np.asarray(expected).tobytes():
                    raise EmulationError(
                        f"{name}: argument {i} differs between thread orders {orders[0]} and "
                        f"{order}: a barrier is missing or blocks race"
                    )


def load_kernels(
    file: str = "",
    sizes: Sizes | None = None,
    *,
    arch: int = 900,
    source: str | None = None,
    defines: Mapping[str, object] | None = None,
) -> Kernels:
    """Kernels of `kernels/<file>`, or of the text `source`; compiled at the first launch."""
    path = KERNELS / file if source is None else write_source(source)
    flags = (sizes or Sizes()).defines()
    flags += [f"-D{name}={value}" for name, value in (defines or {}).items()]
    return Kernels(path, flags, arch)


@cache
def _sanitizer_library() -> str:
    gxx = find_gxx()
    if gxx is None:
        raise RuntimeError("g++ is needed to emulate kernels and was not found")
    found = subprocess.run(
        [gxx, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def _launch_in_sanitized_child(launch: tuple[object, ...]) -> None:
    """Run `launch` (arguments of run_library) in a child; copy its arrays back."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.emulation.sanitized_child"],
        input=pickle.dumps(launch),
        capture_output=True,
        check=False,
        timeout=_SANITIZER_TIMEOUT_S,
        cwd=Path(__file__).resolve().parents[3],
        env={
            "LD_PRELOAD": _sanitizer_library(),
            "ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=0:exitcode=99",
            "UBSAN_OPTIONS": "print_stacktrace=1:exitcode=99",
            "PATH": "/usr/bin:/bin",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
    )
    if done.returncode != 0:
        raise SanitizerError(done.stderr.decode(errors="replace")[:6000])
    outcome = pickle.loads(done.stdout)
    if isinstance(outcome, str):
        raise EmulationError(outcome)
    arguments = launch[4]
    assert isinstance(arguments, list)
    for arg, result in zip(arguments, outcome, strict=True):
        if isinstance(arg, np.ndarray):
            arg[...] = result
