"""`python -m engine.bench [--model DIR | --random qwen3-0.6b] --json OUT`: the speeds of a model.

Measures how fast the device reads, holds the computed numbers against a float32 reference, then
times sampled replies with their text. OUT is a file, or a folder in which the result is named by
date, device and commit. Nothing of the device is set. Ends with 1 where the numbers are wrong: then
no speed is written.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from engine.bench.random_model import DEFAULT_SHAPE, model_or_random, shape_names
from engine.bench.result import BenchError
from engine.bench.session import Session
from engine.errors import EngineError

EXIT_OK, EXIT_WRONG, EXIT_FAILED = 0, 1, 2


def build_parser() -> argparse.ArgumentParser:
    """Make the parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m engine.bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--model", type=Path, help="folder or GGUF")
    which.add_argument(
        "--random",
        choices=shape_names(),
        default=DEFAULT_SHAPE,
        help="random weights in this shape (the default)",
    )
    parser.add_argument("--json", type=Path, help="file or folder of the result")
    parser.add_argument("--device", choices=("cuda", "cpu"), help="default: cuda where usable")
    parser.add_argument(
        "--tokenizer",
        type=Path,
        default=os.environ.get("THINKPANE_QWEN3"),
        help="folder of the tokenizer for random weights (default: THINKPANE_QWEN3, else made up)",
    )
    parser.add_argument("--layers", type=int, help="of the random model; default: its own number")
    parser.add_argument("--runs", type=int, default=5, help="of each figure; default 5")
    parser.add_argument("--only", nargs="+", metavar="ROW", help="names of rows, for a quick look")
    parser.add_argument("--commit", help="named in the result where git cannot tell it")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write; the exit code."""
    asked = build_parser().parse_args(arguments)
    command = "python -m engine.bench " + " ".join(sys.argv[1:] if arguments is None else arguments)
    try:
        random = model_or_random(asked.model, asked.random, asked.layers, asked.tokenizer)
        with random as model, tempfile.TemporaryDirectory() as scratch:
            session = Session(
                model=model,
                device=asked.device,
                runs=asked.runs,
                only=frozenset(asked.only or ()),
                scratch=Path(scratch),
                say=lambda text: print(text, flush=True),  # noqa: T201
            )
            result = session.measure()
            if asked.json is not None:
                path = result.write(asked.json, command.strip(), asked.commit)
                session.say(f"written to {path}")
            return EXIT_OK if result.accuracy.holds else EXIT_WRONG
    except (EngineError, BenchError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
