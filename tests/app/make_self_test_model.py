"""Writes resources/self_test_model: `python -m tests.app.make_self_test_model`.

Random weights of a fixed seed, so that the committed files can be made again byte for byte.
"""

from __future__ import annotations

from pathlib import Path

from tests.engine.models.tiny_model import make_tiny_model

FOLDER = Path(__file__).resolve().parents[2] / "resources" / "self_test_model"
SEED = 3


def write_self_test_model(folder: Path) -> Path:
    """The model of `--self-test`."""
    return make_tiny_model(folder, seed=SEED)


if __name__ == "__main__":
    write_self_test_model(FOLDER)
