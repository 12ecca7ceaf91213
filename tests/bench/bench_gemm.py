"""Times every entry point of gemm.cu, and cuBLAS, on a model's four products: one table.

`python -m tests.bench gemm [MODEL]`; microseconds, medians, one card, which is named. The rule by
which `Ops.gemm` picks a tile comes from this table.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import cupy
import numpy as np

from engine.api import GenerationControl
from engine.bench.random_model import model_or_random
from engine.cuda.cuda_backend import CudaBackend
from engine.cuda.ops import GEMM_TILES
from engine.cuda.prefill_product import find_cublas
from engine.models.model_files import open_model

REPEATS = 20
ROWS = (16, 32, 64, 128, 256, 512)


def microseconds(call, stream) -> float:
    times = []
    for repeat in range(REPEATS + 3):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record(stream)
        for _ in range(4):
            call()
        end.record(stream)
        end.synchronize()
        if repeat >= 3:
            times.append(cupy.cuda.get_elapsed_time(begin, end) * 1000 / 4)
    return statistics.median(times)


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench gemm", description=__doc__)
    parser.add_argument("model", type=Path, nargs="?", help="default: random weights")
    with model_or_random(parser.parse_args(arguments).model) as model:
        measure(model)


def measure(model: Path) -> None:
    backend = CudaBackend(open_model(model), 1024, use_cublas=False)
    for _ in backend.load(GenerationControl()):
        pass
    forward, ops, stream = backend._forward, backend._forward._ops, backend._stream
    cublas = find_cublas()
    layer = forward.layers[0]
    products = {
        "qkv": (forward._qkv, forward._norm, layer.qkv_proj),
        "o": (forward._hidden, forward._attention, layer.o_proj),
        "gate_up": (forward._gate_up, forward._norm, layer.gate_up_proj),
        "down": (forward._hidden, forward._swiglu, layer.down_proj),
    }
    print(backend.device_name)
    names = [*GEMM_TILES, "cuBLAS"]
    print("| product | N | K | T | chosen | " + " | ".join(names) + " |")
    with backend._on_device(), stream:
        for array in (forward._norm, forward._attention, forward._swiglu):
            bits = np.random.default_rng(0).standard_normal(array.size, np.float32)
            array.set((bits.view(np.uint32) >> 16).astype(np.uint16).reshape(array.shape))
        for name, (out, x, weight) in products.items():
            n, k = weight.shape
            for rows in ROWS:
                calls = [
                    partial(ops.launch_gemm, entry, out, x, weight, rows) for entry in GEMM_TILES
                ]
                if cublas is not None:
                    calls.append(partial(cublas, out, x, weight, rows))
                figures = [microseconds(call, stream) for call in calls]
                texts = " | ".join(f"{figure:.1f}" for figure in figures)
                print(f"| {name} | {n} | {k} | {rows} | {ops.gemm_entry(rows, n)} | {texts} |")
