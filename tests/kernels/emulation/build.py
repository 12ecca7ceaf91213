"""Compiles a .cu file with g++ into a shared library, once per content and flags."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[3] / "kernels"
HERE = Path(__file__).resolve().parent
_ENTRY = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+(?:__cluster_dims__\((\w+), 1, 1\)\s*)?'
    r"(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\("
)


@dataclass(frozen=True)
class Sizes:
    """The model's sizes, compiled into every kernel; names as in kernels/README.md."""

    E: int = 64
    F: int = 128
    NH: int = 4
    NKV: int = 2
    HD: int = 32
    V: int = 256
    QK_NORM: int = 1
    RMS_NORM_EPS: float = 1e-6

    def defines(self) -> list[str]:
        """Compiler flags, the same for g++ and NVRTC."""
        flags = [f"-DDIM_{name}={value}" for name, value in asdict(self).items() if len(name) <= 3]
        return [*flags, f"-DQK_NORM={self.QK_NORM}", f"-DRMS_NORM_EPS={self.RMS_NORM_EPS:.9e}f"]


QWEN3_0_6B = Sizes(1024, 3072, 16, 8, 128, 151936, 1, 1e-6)
SMOLLM2_135M = Sizes(576, 1536, 9, 3, 64, 49152, 0, 1e-5)


def entry_points(source: str) -> list[str]:
    """Names of the kernels that a .cu text defines, in order."""
    return [name for _, name in _ENTRY.findall(source)]


def find_gxx() -> str | None:
    """Path of the C++ compiler, None where there is none."""
    return shutil.which("g++")


def _cache_folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"thinkpane-emulation-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder


def _translation_unit(path: Path) -> str:
    entries = _ENTRY.findall(path.read_text())
    if not entries:
        raise ValueError(f'{path} defines no extern "C" __global__ function')
    table = "\n".join(
        f'    emulation::Binding<&{name}>::kernel("{name}", {cluster or 1}),'
        for cluster, name in entries
    )
    return (
        f'#include "cuda_names.h"\n#include "{path}"\n'
        f"const emulation::Kernel emulation_kernels[] = {{\n{table}\n    {{}}}};\n"
    )


def _compile(command: list[str], inputs: list[Path], stdin: str, name: str) -> Path:
    """Path of what `command` makes of `stdin`; taken from the cache if nothing has changed."""
    compiler = find_gxx()
    if compiler is None:
        raise RuntimeError("g++ is needed to emulate kernels and was not found")
    digest = hashlib.sha256("\0".join([compiler, *command, stdin]).encode())
    for path in inputs:
        digest.update(path.read_bytes())
    stem, suffix = name.rsplit(".", 1)
    result = _cache_folder() / f"{stem}-{digest.hexdigest()[:24]}.{suffix}"
    if not result.exists():
        unfinished = _unfinished(result)
        done = subprocess.run(
            [compiler, *command, "-o", str(unfinished)],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"g++ refused {name}:\n{done.stderr[:6000]}")
        unfinished.replace(result)
    return result


def build_library(path: Path, flags: list[str], arch: int, sanitize: bool) -> Path:
    """Path of the library with all kernels of `path`.

    Raises:
        RuntimeError: g++ is missing or refuses the source (its message follows).
    """
    options = [
        "-std=c++17",
        "-g1",
        "-fPIC",
        "-fvisibility=hidden",
        "-fno-strict-aliasing",
        "-ffp-contract=off",
    ]
    options += ["-Wall", "-Wno-unknown-pragmas", "-Wno-unused-function", f"-I{HERE}"]
    if sanitize:
        options += ["-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]
        options += ["-fsanitize-sections=emulated_shared", "-fno-omit-frame-pointer"]
    else:
        options += ["-O2"]
    headers = sorted(HERE.glob("*.h"))
    runtime = [
        _compile([*options, "-c", str(source)], [source, *headers], "", f"{source.stem}.o")
        for source in sorted(HERE.glob("*.cpp"))
    ]
    command = [*options, "-shared", f"-DKERNEL_EMULATION={arch}", *flags, f"-I{KERNELS}"]
    command += ["-x", "c++", "-", "-x", "none", *map(str, runtime)]
    inputs = [path, *sorted(KERNELS.glob("*.cuh")), *headers]
    return _compile(command, inputs, _translation_unit(path), f"{path.stem}.so")


def source_with(file: str, *headers: str) -> str:
    """Text of `kernels/<file>` with some of its headers in it, to plant faults in any of them."""
    source = (KERNELS / file).read_text()
    for header in headers:
        text = (KERNELS / header).read_text().replace("#pragma once\n", "")
        source = source.replace(f'#include "{header}"\n', text)
    return source


def write_source(source: str) -> Path:
    """Path of a file with this text, for planted faults."""
    digest = hashlib.sha256(source.encode()).hexdigest()[:16]
    path = _cache_folder() / f"planted-{digest}.cu"
    if not path.exists():
        unfinished = _unfinished(path)
        unfinished.write_text(source)
        unfinished.replace(path)
    return path


def _unfinished(path: Path) -> Path:
    """A name of this thread's own: several may make the same file at a time."""
    return path.with_suffix(f".{os.getpid()}-{threading.get_ident()}.part")
