"""Child process of a sanitized launch: reads one launch from stdin, writes its arrays to stdout.

Runs with libasan preloaded, so every array lies in memory of exactly its size between red zones.
"""

from __future__ import annotations

import pickle
import sys

import numpy as np

from tests.kernels.emulation.launch import EmulationError, run_library


def main() -> None:
    """Run one launch; a finding of the sanitizers ends the process with its report on stderr."""
    library, name, grid, block, args, *rest = pickle.loads(sys.stdin.buffer.read())
    # Unpickled arrays may share memory with the pickle; a copy has its own allocation.
    own = [np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args]
    outcome: list[object] | str
    try:
        run_library(library, name, grid, block, own, *rest)
        outcome = own
    except EmulationError as error:
        outcome = str(error)
    sys.stdout.buffer.write(pickle.dumps(outcome))


if __name__ == "__main__":
    main()
