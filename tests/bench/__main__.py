"""Benchmarks: `python -m tests.bench COMMAND [options]`, or `make bench ARGS="..."`.

`cuda` is `python -m engine.bench --device cuda`, and so are options alone where a GPU is usable:
the figures of docs/performance.md. `cpu` prints the CPU backend with both kinds of weights, `gemm`
the tiles of the matrix product on a GPU. Nothing is asserted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from engine.bench.__main__ import main as bench_main
from tests.bench import bench_cpu


def bench_gemm_main(arguments: Sequence[str]) -> None:
    # Imported late: it needs CuPy.
    from tests.bench import bench_gemm

    bench_gemm.main(arguments)


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    command, *options = arguments or ("",)
    if command in ("-h", "--help"):
        print(__doc__)
    elif command == "cpu":
        bench_cpu.main(options)
    elif command == "gemm":
        bench_gemm_main(options)
    elif command == "cuda":
        return bench_main(["--device", "cuda", *options])
    else:
        return bench_main(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
