"""Compiles `kernels/*.cu` for one model and GPU, and hands out their functions.

The model's sizes are compile-time constants, so that another model compiles anew and the same
model finds its cubins in the cache.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cupy

from engine.cuda.device import CUDA_ERRORS
from engine.cuda.kernel_source import dimension_options, kernel_source
from engine.errors import KernelCompileError
from engine.models.model_config import ModelConfig

Kernel = Any
"""A CuPy RawKernel: `kernel(grid, block, args, shared_mem=bytes)`."""

DEFAULT_SHARED_BYTES = 48 * 1024


class KernelLibrary:
    """The compiled kernels of one model on the current device; compiles a file at first use."""

    def __init__(self, config: ModelConfig, cache_dir: Path | None = None) -> None:
        if cache_dir is not None:
            os.environ["CUPY_CACHE_DIR"] = str(cache_dir)
        self._options = ("-std=c++17", *dimension_options(config))
        self._modules: dict[tuple[str, tuple[str, ...]], Any] = {}
        self._kernels: dict[tuple[str, str, int, tuple[str, ...]], Kernel] = {}

    def kernel(
        self,
        file: str,
        function: str,
        shared_bytes: int = 0,
        defines: tuple[str, ...] = (),
    ) -> Kernel:
        """Return `function` of `kernels/<file>.cu`, with `shared_bytes` of dynamic shared memory.

        Raises:
            KernelCompileError: NVRTC refused the file (the log is kept) or is not installed.
        """
        key = (file, function, shared_bytes, defines)
        # Prefill is a few hundred launches from Python: looking a kernel up must be cheap.
        if key not in self._kernels:
            self._kernels[key] = self._compiled(*key)
        return self._kernels[key]

    def _compiled(
        self, file: str, function: str, shared_bytes: int, defines: tuple[str, ...]
    ) -> Kernel:
        try:
            if (file, defines) not in self._modules:
                self._modules[file, defines] = cupy.RawModule(
                    code=kernel_source(file), options=(*self._options, *defines)
                )
            kernel = self._modules[file, defines].get_function(function)
        except CUDA_ERRORS:
            raise
        except (cupy.cuda.compiler.CompileException, RuntimeError) as error:
            raise KernelCompileError(f"{file}.cu", str(error)) from error
        if shared_bytes > DEFAULT_SHARED_BYTES:
            kernel.max_dynamic_shared_size_bytes = shared_bytes
        return kernel
