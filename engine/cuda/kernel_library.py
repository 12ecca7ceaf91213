"""Compiles `kernels/*.cu` for one model and GPU, and hands out their functions.

The model's sizes are compile-time constants, so that another model compiles anew and the same
model finds its cubins in the cache. What is known to be needed is compiled ahead, on all cores.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cupy

from engine.api import LoadProgress
from engine.cuda.device import CUDA_ERRORS
from engine.cuda.kernel_source import KernelSource, dimension_options, kernel_source
from engine.errors import KernelCompileError
from engine.models.model_config import ModelConfig

Kernel = Any
"""A CuPy RawKernel: `kernel(grid, block, args, shared_mem=bytes)`."""

DEFAULT_SHARED_BYTES = 48 * 1024

MAX_COMPILERS = 8
"""Files compiled at a time; more would wait for the slowest one all the same."""


class KernelLibrary:
    """The compiled kernels of one model on the current device; compiles a file at first use."""

    def __init__(self, config: ModelConfig, cache_dir: Path | None = None) -> None:
        if cache_dir is not None:
            os.environ["CUPY_CACHE_DIR"] = str(cache_dir)
        self._options = ("-std=c++17", *dimension_options(config))
        self._modules: dict[KernelSource, Any] = {}
        self._kernels: dict[tuple[KernelSource, str, int], Kernel] = {}

    @property
    def sources(self) -> frozenset[KernelSource]:
        """What has been compiled (or found in the cache) so far."""
        return frozenset(self._modules)

    @contextmanager
    def compiling(
        self, sources: Sequence[KernelSource], device_index: int
    ) -> Iterator[Iterator[LoadProgress]]:
        """Compile files on other threads, several at a time, while the block does other work.

        Gives what must be iterated in the block to wait for them: progress in bytes of source text.

        Raises:
            KernelCompileError: NVRTC refused a file or is not installed; from the iteration.
        """
        texts = {source: kernel_source(source.file) for source in sources}
        # The longest first, so that no core is left with a long one at the end.
        missing = sorted(set(sources) - set(self._modules), key=lambda s: -len(texts[s]))
        threads = min(MAX_COMPILERS, os.cpu_count() or 1)
        # NVRTC works outside the GIL.
        with ThreadPoolExecutor(threads, "kernel compiler") as pool:
            jobs = {
                pool.submit(self._module, device_index, source, texts[source]): source
                for source in missing
            }
            try:
                yield self._compiled(jobs, texts)
            finally:
                pool.shutdown(cancel_futures=True)

    def _compiled(
        self, jobs: Mapping[Future[Any], KernelSource], texts: Mapping[KernelSource, str]
    ) -> Iterator[LoadProgress]:
        total = sum(map(len, texts.values()))
        done = total - sum(len(texts[source]) for source in jobs.values())
        for job in as_completed(jobs):
            self._modules[jobs[job]] = job.result()
            done += len(texts[jobs[job]])
            yield LoadProgress("kernels", done, total)
        yield LoadProgress("kernels", total, total)

    def kernel(
        self,
        file: str,
        function: str,
        shared_bytes: int = 0,
        defines: tuple[str, ...] = (),
        architecture: str = "",
    ) -> Kernel:
        """Return `function` of `kernels/<file>.cu`, with `shared_bytes` of dynamic shared memory.

        `architecture` names one with features of its own, as "90a"; by default the device's.

        Raises:
            KernelCompileError: NVRTC refused the file (the log is kept) or is not installed.
        """
        source = KernelSource(file, defines, architecture)
        key = (source, function, shared_bytes)
        # Prefill is a few hundred launches from Python: looking a kernel up must be cheap.
        if key not in self._kernels:
            self._kernels[key] = self._function(*key)
        return self._kernels[key]

    def _function(self, source: KernelSource, function: str, shared_bytes: int) -> Kernel:
        if source not in self._modules:
            text = kernel_source(source.file)
            self._modules[source] = self._module(int(cupy.cuda.Device().id), source, text)
        kernel = self._modules[source].get_function(function)
        if shared_bytes > DEFAULT_SHARED_BYTES:
            kernel.max_dynamic_shared_size_bytes = shared_bytes
        return kernel

    def _module(self, device_index: int, source: KernelSource, text: str) -> Any:  # noqa: ANN401
        """Compile a file, or find it in the cache, and load it; on any thread."""
        options = (*self._options, *source.defines)
        try:
            with cupy.cuda.Device(device_index):
                if source.architecture:
                    path = cached_cubin(source.file, text, source.architecture, options)
                    return cupy.RawModule(path=str(path))
                module = cupy.RawModule(code=text, options=options)
                module.compile()
                return module
        except CUDA_ERRORS:
            raise
        except (cupy.cuda.compiler.CompileException, RuntimeError, ImportError) as error:
            raise KernelCompileError(f"{source.file}.cu", str(error)) from error


def cached_cubin(name: str, text: str, architecture: str, options: tuple[str, ...]) -> Path:
    """Path of the machine code for `sm_<architecture>`, compiled if the cache lacks it.

    CuPy itself compiles for plain architectures only.

    Raises:
        CompileException: NVRTC refuses the text.
        ImportError, RuntimeError: NVRTC is not installed or fails.
    """
    from cupy_backends.cuda.libs import nvrtc

    options = (f"-arch=sm_{architecture}", "-ftz=true", *options)
    key = "\n".join((*map(str, nvrtc.getVersion()), *options, text))
    folder = Path(os.environ.get("CUPY_CACHE_DIR") or Path.home() / ".cupy" / "kernel_cache")
    path = folder / f"{name}_{hashlib.sha256(key.encode()).hexdigest()[:32]}.cubin"
    if not path.exists():
        cubin = _compile(nvrtc, f"{name}.cu", text, options)
        folder.mkdir(parents=True, exist_ok=True)
        # Put in place at once: another process may look for it, or this one may be ended.
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(cubin)
        Path(file.name).replace(path)
    return path


def _compile(nvrtc: Any, name: str, text: str, options: tuple[str, ...]) -> bytes:  # noqa: ANN401
    program = nvrtc.createProgram(text, name, (), ())
    try:
        nvrtc.compileProgram(program, options)
        cubin: bytes = nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program)
        raise cupy.cuda.compiler.CompileException(log, text, name, options) from error
    finally:
        nvrtc.destroyProgram(program)
    return cubin
