"""Records decode and prefill speed of the CUDA backend: `python -m tests.bench cuda [MODEL]`.

Prints one JSON line per figure; medians of several runs on one card, which is named. Nothing is
asserted: speed is recorded, behaviour is tested elsewhere.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from engine.api import Detail, GenerationControl, SamplingParams
from engine.cuda.cuda_backend import CudaBackend
from engine.models.model_files import ModelFiles, open_model
from tests.bench.random_model import model_or_random

RUNS = 5
STEPS = 64


def record(device: str, what: str, values: list[float], unit: str) -> None:
    figures = {"device": device, "what": what, "unit": unit, "median": statistics.median(values)}
    print(json.dumps({**figures, "min": min(values), "max": max(values)}), flush=True)


def fill(backend: CudaBackend, length: int, token_ids: list[int]) -> None:
    backend.truncate(0, 0)
    chunk = backend.prefill_chunk_tokens
    for first in range(0, length, chunk):
        last = first + chunk >= length
        backend.prefill(0, token_ids[first : min(first + chunk, length)], last)


def decode_speed(backend: CudaBackend, position: int, token_ids: list[int]) -> list[float]:
    fill(backend, position, token_ids)
    speeds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        sampled = backend.decode([0], STEPS, frozenset())[0]
        speeds.append(len(sampled) / (time.perf_counter() - begin))
    return speeds


def prefill_speed(backend: CudaBackend, length: int, token_ids: list[int]) -> list[float]:
    speeds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        fill(backend, length, token_ids)
        speeds.append(length / (time.perf_counter() - begin))
    return speeds


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench cuda", description=__doc__)
    parser.add_argument("model", type=Path, nargs="?", help="default: random weights")
    parser.add_argument("--context", type=int, help="default: what the model knows")
    asked = parser.parse_args(arguments)
    with model_or_random(asked.model) as path:
        measure(open_model(path), asked.context)


def measure(files: ModelFiles, asked_context: int | None) -> None:
    known = files.config.max_position_embeddings
    context = min(known, asked_context or known)
    begin = time.perf_counter()
    backend = CudaBackend(files, context, 1)
    for _ in backend.load(GenerationControl()):
        pass
    name = backend.device_name
    record(name, "load", [time.perf_counter() - begin], "s")
    random = np.random.default_rng(0)
    ids = random.integers(0, files.config.vocab_size, context).tolist()
    for label, sampling in (
        ("greedy", SamplingParams(temperature=0.0)),
        ("top-k 20, top-p 0.95", SamplingParams()),
    ):
        backend.set_sampler(0, sampling, 1, (), (), Detail.NONE)
        for position in (1, 512, 4096, 32768):
            if position + RUNS * STEPS <= context:
                speeds = decode_speed(backend, position, ids)
                record(name, f"decode, {label}, position {position}", speeds, "tokens/s")
    for length in (128, 512, 2048, 8192):
        if length <= context:
            record(name, f"prefill {length}", prefill_speed(backend, length, ids), "tokens/s")
    backend.close()


if __name__ == "__main__":
    main()
