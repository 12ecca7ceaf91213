"""Write tests/golden/engine/*.npz with transformers, for tests that run without it.

Run by `make golden` with .venv-oracle. Each file holds the token ids and Hugging Face's float32
logits of a tiny model with random weights, which the tests make again from its seed.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests.engine.cpu.golden_models import GOLDEN_MODELS, POSITIONS, SEED  # noqa: E402
from tests.engine.models.tiny_model import tiny_config  # noqa: E402
from tests.oracle.reference_model import (  # noqa: E402
    hugging_face_logits,
    hugging_face_model,
    random_model,
)


def main() -> None:
    """Write all files."""
    folder = ROOT / "tests" / "golden" / "engine"
    folder.mkdir(exist_ok=True)
    for name, (model_type, overrides) in GOLDEN_MODELS.items():
        config = tiny_config(model_type, **overrides)
        files = random_model(config, SEED)
        token_ids = np.random.default_rng(SEED).integers(0, config["vocab_size"], POSITIONS)
        logits = hugging_face_logits(hugging_face_model(files), token_ids.tolist())
        np.savez_compressed(folder / f"{name}.npz", token_ids=token_ids, logits=logits)


if __name__ == "__main__":
    main()
