"""Print the speed of the CPU backend: `python -m tests.bench cpu [MODEL]`.

Both kinds of weights are measured where numba is installed. With Qwen3-0.6B it needs about 5 GB of
free memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import threadpoolctl

from engine.api import Detail, GenerationControl, SamplingParams
from engine.bench.random_model import model_or_random
from engine.cpu import cpu_backend
from engine.cpu.cpu_backend import CpuBackend, cpu_weight_dtype
from engine.models.model_files import ModelFiles, open_model


def read_gigabytes_per_second() -> float:
    """What BLAS on all cores reads of a float32 matrix times a vector: the limit of decoding.

    It changes with the hour where the machine is shared, so it is measured beside each figure.
    """
    weight, x = np.ones((65536, 2048), np.float32), np.ones(2048, np.float32)
    seconds = []
    with threadpoolctl.threadpool_limits(os.cpu_count(), user_api="blas"):
        for _ in range(9):
            started = time.perf_counter()
            weight @ x
            seconds.append(time.perf_counter() - started)
    return weight.nbytes / statistics.median(seconds) / 1e9


def measure(files: ModelFiles, prompt: int, tokens: int) -> str:
    """One line of figures; sampling as the model card recommends."""
    backend = CpuBackend(files, 8192)
    started = time.perf_counter()
    for _ in backend.load(GenerationControl()):
        pass
    load_s = time.perf_counter() - started
    backend.set_sampler(0, SamplingParams(), 1, (), (), Detail.NONE)
    chunk = backend.prefill_chunk_tokens
    backend.prefill(0, [1] * chunk, True)
    backend.decode([0], 2, frozenset())
    backend.truncate(0, 0)
    started = time.perf_counter()
    longest = 0.0
    for start in range(0, prompt, chunk):
        chunk_started = time.perf_counter()
        backend.prefill(0, list(range(start, min(prompt, start + chunk))), start + chunk >= prompt)
        longest = max(longest, time.perf_counter() - chunk_started)
    prefill_s = time.perf_counter() - started
    started = time.perf_counter()
    backend.decode([0], tokens, frozenset())
    decode_s = time.perf_counter() - started
    read = read_gigabytes_per_second()
    limit = read * 1e9 / backend.memory().weights_bytes
    backend.close()
    return (
        f"{backend.device_name}: decode {tokens / decode_s:.1f} tokens/s "
        f"(limit {limit:.1f}: the weights read once at {read:.1f} GB/s), "
        f"prefill {prompt / prefill_s:.0f} tokens/s (chunks of {chunk}, the longest "
        f"{1000 * longest:.0f} ms), load {load_s:.1f} s, "
        f"plan {backend.memory().total_bytes / 1e9:.2f} GB"
    )


def main(arguments: Sequence[str]) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench cpu", description=__doc__)
    parser.add_argument("model", type=Path, nargs="?", help="default: random weights")
    parser.add_argument("--layers", type=int, help="of the random model; default 28")
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--prompt", type=int, default=128)
    asked = parser.parse_args(arguments)
    with model_or_random(asked.model, layers=asked.layers) as path:
        files = open_model(path)
        config = files.config
        print(
            f"{os.cpu_count()} cores; {config.model_type}, {config.num_hidden_layers} layers, "
            f"hidden size {config.hidden_size}",
            flush=True,
        )
        print(measure(files, asked.prompt, asked.tokens), flush=True)
        if cpu_weight_dtype(files) == "float32":
            return
        usual, cpu_backend._BF16_PARAMETERS = cpu_backend._BF16_PARAMETERS, 1 << 62
        try:  # float32 whatever is installed
            print(measure(files, asked.prompt, asked.tokens), flush=True)
        finally:
            cpu_backend._BF16_PARAMETERS = usual
