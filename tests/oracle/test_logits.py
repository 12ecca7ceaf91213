"""Proof 2: float32 logits of the CPU backend against Hugging Face on the same weights."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.api import Detail, GenerationControl, SamplingParams
from engine.cpu.cpu_backend import CpuBackend
from engine.models.model_files import open_model
from tests.real.smollm2 import smollm2_path

pytestmark = [pytest.mark.oracle, pytest.mark.timeout(400)]

POSITIONS = 64
RELATIVE_LIMIT = 1e-4
SHARED_CONFIG = Path(__file__).parents[3] / "shared" / "qwen3-0.6b" / "config.json"


def backend_logits(files, token_ids):
    """Logits of a prefill of the first half, and of single decode steps for the second."""
    backend = CpuBackend(files, 2 * POSITIONS)
    for _ in backend.load(GenerationControl()):
        pass
    backend.set_sampler(0, SamplingParams(temperature=0.0), 0, (), (), Detail.NONE)
    rows = []

    def keep(name, value):
        if name == "logits":
            rows.append(value)

    half = len(token_ids) // 2
    for start in range(0, half, backend.prefill_chunk_tokens):
        end = min(half, start + backend.prefill_chunk_tokens)
        backend.prefill(0, token_ids[start:end], False, keep)
    for token_id in token_ids[half:]:
        backend.prefill(0, [token_id], False, keep)
    return np.concatenate(rows)


def compare(files, name):
    from tests.oracle.reference_model import hugging_face_logits, hugging_face_model

    random = np.random.default_rng(64)
    token_ids = random.integers(0, files.config.vocab_size, POSITIONS).tolist()
    expected = hugging_face_logits(hugging_face_model(files), token_ids)
    found = backend_logits(files, token_ids)
    assert found.shape == expected.shape == (POSITIONS, files.config.vocab_size)
    error = np.abs(found - expected).max() / np.abs(expected).max()
    print(f"{name}: largest difference / largest logit = {error:.2e} over {POSITIONS} positions")
    assert error <= RELATIVE_LIMIT


def test_smollm2():
    compare(open_model(smollm2_path()), "SmolLM2-135M, fetched weights")


def test_random_weights_in_the_shape_of_qwen3_at_four_layers():
    from tests.oracle.reference_model import random_model

    if not SHARED_CONFIG.is_file():
        pytest.skip(f"{SHARED_CONFIG} is not here")
    config = json.loads(SHARED_CONFIG.read_text()) | {"num_hidden_layers": 4}
    compare(random_model(config, seed=6), "Qwen3-0.6B shape, 4 layers, random weights")
