"""Compiles CUDA source with NVRTC 12 or 13 through ctypes: no driver, no GPU, no CuPy."""

from __future__ import annotations

import ctypes
import importlib.util
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
# By major version: the wheel, and its folder in `nvidia`.
WHEELS = {12: ("nvidia-cuda-nvrtc-cu12", "cuda_nvrtc"), 13: ("nvidia-cuda-nvrtc", "cu13")}
NVRTC_13_ENVIRONMENT = Path(__file__).resolve().parents[2] / ".venv-nvrtc13"


class NvrtcError(Exception):
    """NVRTC refused a source; the message is its log."""


@dataclass(frozen=True)
class KernelResources:
    """What ptxas says about one kernel."""

    name: str
    registers: int
    spill_bytes: int
    stack_bytes: int


def find_nvrtc(major: int = 12) -> Path | None:
    """Path of libnvrtc.so.<major> of the installed wheel, None where it is missing."""
    for folder in _nvidia_folders():
        library = folder / WHEELS[major][1] / "lib" / f"libnvrtc.so.{major}"
        if library.exists():
            return library
    return None


def _nvidia_folders() -> Iterator[Path]:
    spec = importlib.util.find_spec("nvidia")
    yield from map(Path, (spec.submodule_search_locations or ()) if spec else ())
    yield from NVRTC_13_ENVIRONMENT.glob("lib/python*/site-packages/nvidia")


def why_missing(major: int) -> str:
    """What tests say that are skipped without this NVRTC."""
    return f"libnvrtc.so.{major} ({WHEELS[major][0]}) is not installed"


@cache
def _library(path: Path) -> ctypes.CDLL:
    # NVRTC 13 opens its builtins by name alone and does not find them beside itself; once they are
    # loaded, by their path, the name is enough.
    for builtins in path.parent.glob("libnvrtc-builtins.so.*"):
        ctypes.CDLL(str(builtins))
    return ctypes.CDLL(str(path))


def compile_cubin(
    source: str, name: str, arch: int | str, flags: Sequence[str], major: int = 12
) -> tuple[bytes, list[KernelResources]]:
    """Machine code for `sm_<arch>` by NVRTC `major`, and the resources of each kernel in it.

    Raises:
        NvrtcError: NVRTC is not installed, or the source does not compile.
    """
    path = find_nvrtc(major)
    if path is None:
        raise NvrtcError(why_missing(major))
    nvrtc = _library(path)
    program = ctypes.c_void_p()
    options = [f"-arch=sm_{arch}", "--std=c++17", "-ftz=true", "--ptxas-options=-v", *flags]
    array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), name.encode(), 0, None, None)
    try:
        code = nvrtc.nvrtcCompileProgram(program, len(options), array)
        log = _read(nvrtc, "ProgramLog", program).decode(errors="replace").rstrip("\0")
        if code != 0:
            raise NvrtcError(f"{name} for sm_{arch}: {log}")
        return _read(nvrtc, "CUBIN", program), parse_resources(log)
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read(nvrtc: ctypes.CDLL, what: str, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, buffer)
    return buffer.raw


def parse_resources(log: str) -> list[KernelResources]:
    """Resources from the text of `ptxas -v`."""
    found = []
    pattern = (
        r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
        r"(\d+) bytes spill loads.*?Used (\d+) registers"
    )
    for match in re.finditer(pattern, log, re.DOTALL):
        name, stack, stores, loads, registers = match.groups()
        found.append(KernelResources(name, int(registers), int(stores) + int(loads), int(stack)))
    return found


def inline_includes(path: Path) -> str:
    """Source of a .cu file with each .cuh of its folder put in, once, in place of its #include."""
    seen: set[str] = set()

    def inline(text: str) -> str:
        return re.sub(r'^#include "(\w+\.cuh)"$', replace, text, flags=re.MULTILINE)

    def replace(match: re.Match[str]) -> str:
        name = match[1]
        if name in seen:
            return ""
        seen.add(name)
        return inline((path.parent / name).read_text().replace("#pragma once\n", ""))

    return inline(path.read_text())
