"""Logits of tiny models equal those that Hugging Face gave for the same weights (`make golden`)."""

from pathlib import Path

import numpy as np
import pytest

from engine.api import GenerationControl
from engine.cpu.cpu_backend import CpuBackend
from engine.models.model_files import open_model
from tests.engine.cpu.golden_models import GOLDEN_MODELS, POSITIONS, SEED
from tests.engine.models.tiny_model import make_tiny_model

GOLDEN = Path(__file__).parents[2] / "golden" / "engine"


@pytest.mark.parametrize("name", GOLDEN_MODELS)
def test_logits_equal_hugging_face(tmp_path, name):
    model_type, overrides = GOLDEN_MODELS[name]
    golden = np.load(GOLDEN / f"{name}.npz")
    folder = make_tiny_model(tmp_path, model_type=model_type, seed=SEED, **overrides)
    backend = CpuBackend(open_model(folder), 2 * POSITIONS)
    for _ in backend.load(GenerationControl()):
        pass
    found = []
    keep = lambda name, value: found.append(value) if name == "logits" else None  # noqa: E731
    token_ids = golden["token_ids"].tolist()
    backend.prefill(0, token_ids[:13], False, keep)
    backend.prefill(0, token_ids[13:], False, keep)
    error = np.abs(np.concatenate(found) - golden["logits"]).max()
    assert error <= 1e-4 * np.abs(golden["logits"]).max()
