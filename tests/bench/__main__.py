"""Benchmarks: `python -m tests.bench [cpu|cuda] [MODEL] [options]`, or `make bench ARGS="..."`.

Without a command: the CPU backend, and the CUDA backend where a GPU is usable. Without a model:
random weights in the shape of Qwen3-0.6B in a temporary folder. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.open_engine import cuda_is_usable
from tests.bench import bench_cpu
from tests.bench.random_model import model_or_random


def bench_cuda_main(arguments: Sequence[str]) -> None:
    # Imported late: it needs CuPy.
    from tests.bench import bench_cuda

    bench_cuda.main(arguments)


COMMANDS = {"cpu": bench_cpu.main, "cuda": bench_cuda_main}


def main(arguments: Sequence[str]) -> None:
    if arguments and arguments[0] in COMMANDS:
        COMMANDS[arguments[0]](arguments[1:])
        return
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__,
        epilog="`cpu --help` and `cuda --help` tell the options of each.",
    )  # fmt: skip
    parser.add_argument("model", type=Path, nargs="?")
    with model_or_random(parser.parse_args(arguments).model) as model:
        bench_cpu.main([str(model)])
        if cuda_is_usable():
            bench_cuda_main([str(model)])
        else:
            print("cuda: no usable NVIDIA GPU, left out")


if __name__ == "__main__":
    main(sys.argv[1:])
