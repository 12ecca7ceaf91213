"""The factory: a model on disk and the name of a device become an `Engine`, not yet loaded."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine.api import Engine, MemoryPlan
from engine.backend import Backend, DumpSink
from engine.cpu.cpu_backend import CpuBackend, cpu_weight_dtype
from engine.errors import (
    BadModelFile,
    BadRequest,
    DriverTooOld,
    GpuFault,
    NoCudaDevice,
    UnsupportedModel,
)
from engine.generation import TextEngine
from engine.models.memory_plan import plan_memory
from engine.models.model_files import ModelFiles, open_model
from engine.text.tokenizer import Tokenizer

DEVICES = ("auto", "cuda", "cpu")
"""What may be asked for; "auto" takes an NVIDIA GPU where there is one that works."""

DEFAULT_CAPACITY_TOKENS = 8192


def open_engine(
    path: str | Path,
    device: str = "auto",
    capacity_tokens: int = DEFAULT_CAPACITY_TOKENS,
    max_sequences: int = 1,
    kernel_cache_dir: Path | None = None,
    *,
    dump: DumpSink | None = None,
    use_graph: bool = True,
) -> Engine:
    """Open a model folder or GGUF for a device; `load` must follow.

    `capacity_tokens` is cut to the positions that the model knows (`info()` tells the result).
    `kernel_cache_dir` keeps compiled CUDA kernels. `dump` takes intermediate values. `use_graph`
    False launches every kernel by itself on a GPU; the CPU never has a graph.

    Raises:
        ModelFileMissing, BadModelFile, UnsupportedModel: the files.
        BadRequest: an unknown device, a capacity or a number of sequences out of range.
        NoCudaDevice, DriverTooOld: "cuda" was asked for and is not usable.
    """
    _check_device(device)
    files = open_model(Path(path))
    capacity_tokens = min(capacity_tokens, max_sequences * files.config.max_position_embeddings)
    if max_sequences < 1 or capacity_tokens // max_sequences < 2:
        raise BadRequest("context length", capacity_tokens, "2 tokens or more per sequence")
    # Side by side: finding a GPU is waiting for its driver, building a tokenizer is computing.
    with ThreadPoolExecutor(1, "tokenizer") as pool:
        tokenizer = pool.submit(_open_tokenizer, files)
        sizes = (capacity_tokens, max_sequences)
        backend = _open_backend(files, device, *sizes, kernel_cache_dir, use_graph)
        return TextEngine(backend, tokenizer.result(), files.name, dump=dump)


def describe_memory(path: str | Path, capacity_tokens: int, device: str) -> MemoryPlan:
    """Bytes that `open_engine` with the same arguments would need; reads no tensor.

    "auto" counts as "cuda" where a GPU is usable, else as "cpu". Raises as `open_engine`.
    """
    _check_device(device)
    files = open_model(Path(path))
    capacity_tokens = min(capacity_tokens, files.config.max_position_embeddings)
    if device == "auto":
        device = "cuda" if cuda_is_usable() else "cpu"
    if device == "cuda":
        return plan_memory(files.config, capacity_tokens, "cuda")
    return plan_memory(files.config, capacity_tokens, "cpu", cpu_weights=cpu_weight_dtype(files))


def context_of(path: str | Path, capacity_tokens: int) -> int:
    """`capacity_tokens`, or the model's longest context where that is shorter.

    Raises as `open_engine`.
    """
    return min(capacity_tokens, open_model(Path(path)).config.max_position_embeddings)


def cuda_is_usable() -> bool:
    """Whether CuPy is installed and finds an NVIDIA GPU and driver that the kernels run on."""
    try:
        from engine.cuda.device import find_device

        find_device()
    except (ImportError, NoCudaDevice, DriverTooOld):
        return False
    return True


def _check_device(device: str) -> None:
    if device not in DEVICES:
        raise BadRequest("device", device, " or ".join(DEVICES))


def _open_tokenizer(files: ModelFiles) -> Tokenizer:
    if files.gguf is not None:
        tokenizer = Tokenizer.from_gguf(files.gguf)
    else:
        tokenizer = Tokenizer.from_folder(files.path)
    if tokenizer.vocab_size > files.config.vocab_size:
        raise BadModelFile(
            str(files.path),
            f"the tokenizer has {tokenizer.vocab_size} tokens, "
            f"the model only {files.config.vocab_size}",
        )
    return tokenizer


def _open_backend(
    files: ModelFiles,
    device: str,
    capacity_tokens: int,
    max_sequences: int,
    kernel_cache_dir: Path | None,
    use_graph: bool,
) -> Backend:
    if device != "cpu":
        try:
            return _open_cuda(files, capacity_tokens, max_sequences, kernel_cache_dir, use_graph)
        except (NoCudaDevice, DriverTooOld, UnsupportedModel):
            if device == "cuda":
                raise
    return CpuBackend(files, capacity_tokens, max_sequences)


def _open_cuda(
    files: ModelFiles,
    capacity_tokens: int,
    max_sequences: int,
    kernel_cache_dir: Path | None,
    use_graph: bool,
) -> Backend:
    if kernel_cache_dir is not None:
        # CuPy looks at it once, while it is imported.
        os.environ["CUPY_CACHE_DIR"] = str(kernel_cache_dir)
    try:
        from engine.cuda.cuda_backend import CudaBackend
    except ModuleNotFoundError as error:
        reason = f"{error.name} is not installed"
        raise NoCudaDevice(reason, GpuFault.NOT_INSTALLED) from error
    except ImportError as error:  # CuPy is there, but a library that it needs is not
        reason = f"CuPy does not start: {error}"
        raise NoCudaDevice(reason, GpuFault.NOT_STARTING) from error
    sizes = (capacity_tokens, max_sequences)
    backend: Backend = CudaBackend(files, *sizes, kernel_cache_dir, use_graph=use_graph)
    return backend
