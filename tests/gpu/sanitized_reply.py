"""A few short replies of small models, for compute-sanitizer to watch:

`compute-sanitizer --tool memcheck --report-api-errors no python3 -m tests.gpu.sanitized_reply`,
and with racecheck. Not a test of its own: pytest does not collect it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from engine.api import Detail, GenerationControl, SamplingParams
from engine.cuda.cuda_backend import CudaBackend
from engine.models.model_files import open_model
from tests.engine.models.tiny_model import make_tiny_model

PROMPT, STEPS = 100, 6


def reply(folder: Path, sequences: int, **options: bool) -> list[int]:
    backend = CudaBackend(open_model(folder), 512 * sequences, sequences, **options)
    for _ in backend.load(GenerationControl()):
        pass
    ids = np.random.default_rng(3).integers(0, 250, PROMPT).tolist()
    for slot in range(sequences):
        backend.set_sampler(slot, SamplingParams(), 1, (), (), Detail.NONE)
        backend.prefill(slot, ids[slot:], True)
    tokens = [
        token.token_id for token in backend.decode([*range(sequences)], STEPS, frozenset())[0]
    ]
    backend.close()
    return tokens


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        for head_dim in (32, 128):
            folder = make_tiny_model(Path(scratch) / str(head_dim), head_dim=head_dim)
            for options in (
                {},
                {"use_clusters": False},
                {"use_graph": False},
                {"use_hopper": False},
            ):
                print(head_dim, options, reply(folder, 1, **options), flush=True)
            print(head_dim, "two sequences", reply(folder, 2), flush=True)


if __name__ == "__main__":
    main()
