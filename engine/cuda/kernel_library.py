"""Reads `kernels/*.cu`, compiles each for one model and GPU, and hands out its functions.

Every .cuh is put into the source string: CuPy's cache on disk keys on the string and the options,
not on included files. The model's sizes are compile-time constants, so that another model compiles
anew and the same model finds its cubins in the cache.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import cupy

from engine.errors import KernelCompileError, ModelFileMissing
from engine.models.model_config import ModelConfig

Kernel = Any
"""A CuPy RawKernel: `kernel(grid, block, args, shared_mem=bytes)`."""

INCLUDE = re.compile(r'#include "(\w+\.cuh)"$')
DEFAULT_SHARED_BYTES = 48 * 1024


def kernels_dir() -> Path:
    """Folder of the .cu files, in a checkout and in a frozen build alike."""
    frozen = getattr(sys, "_MEIPASS", None)
    base = Path(frozen) if frozen else Path(__file__).resolve().parents[2]
    return base / "kernels"


def kernel_source(name: str) -> str:
    """Source of `kernels/<name>.cu` with each .cuh inlined once, and file names for the log.

    Raises:
        ModelFileMissing: the file is not part of this installation.
    """
    folder = kernels_dir()
    try:
        return _inline(folder, f"{name}.cu", set())
    except OSError as error:
        raise ModelFileMissing(str(folder / f"{name}.cu"), "computing on the GPU") from error


def _inline(folder: Path, file: str, seen: set[str]) -> str:
    """Text of `file` with its includes of this folder replaced by their texts."""
    lines = [f'#line 1 "{file}"']
    for number, line in enumerate((folder / file).read_text(encoding="utf-8").splitlines(), 1):
        include = INCLUDE.match(line)
        if include is None:
            lines.append("" if line == "#pragma once" else line)
        elif include[1] not in seen:
            seen.add(include[1])
            lines += [_inline(folder, include[1], seen), f'#line {number + 1} "{file}"']
    return "\n".join(lines) + "\n"


def dimension_options(config: ModelConfig) -> tuple[str, ...]:
    """Compiler options that make the model's sizes constants (see kernels/README.md)."""
    return (
        f"-DDIM_E={config.hidden_size}",
        f"-DDIM_F={config.intermediate_size}",
        f"-DDIM_NH={config.num_attention_heads}",
        f"-DDIM_NKV={config.num_key_value_heads}",
        f"-DDIM_HD={config.head_dim}",
        f"-DDIM_V={config.vocab_size}",
        f"-DQK_NORM={int(config.qk_norm)}",
        f"-DRMS_NORM_EPS={config.rms_norm_eps!r}f",
    )


class KernelLibrary:
    """The compiled kernels of one model on the current device; compiles a file at first use."""

    def __init__(self, config: ModelConfig, cache_dir: Path | None = None) -> None:
        if cache_dir is not None:
            os.environ["CUPY_CACHE_DIR"] = str(cache_dir)
        self._options = ("-std=c++17", *dimension_options(config))
        self._modules: dict[tuple[str, tuple[str, ...]], Any] = {}

    def kernel(
        self,
        file: str,
        function: str,
        shared_bytes: int = 0,
        defines: tuple[str, ...] = (),
    ) -> Kernel:
        """Return `function` of `kernels/<file>.cu`, allowed `shared_bytes` of dynamic shared memory.

        Raises:
            KernelCompileError: NVRTC refused the file; the log is kept.
        """
        key = (file, defines)
        try:
            if key not in self._modules:
                self._modules[key] = cupy.RawModule(
                    code=kernel_source(file), options=(*self._options, *defines)
                )
            kernel = self._modules[key].get_function(function)
        except cupy.cuda.compiler.CompileException as error:
            raise KernelCompileError(f"{file}.cu", str(error)) from error
        if shared_bytes > DEFAULT_SHARED_BYTES:
            kernel.max_dynamic_shared_size_bytes = shared_bytes
        return kernel
