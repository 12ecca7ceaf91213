"""Prefill by the kernels of compute capability 9.0 against prefill by the portable ones."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("cupy")

from engine.api import Detail, GenerationControl, SamplingParams
from engine.cuda.cuda_backend import CudaBackend
from engine.cuda.device import find_device
from engine.models.memory_plan import HOPPER_CHUNK_TOKENS
from engine.models.model_files import open_model
from tests.engine.models.tiny_model import make_tiny_model

SIZES = {
    "num_hidden_layers": 4,
    "hidden_size": 512,
    "intermediate_size": 1024,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "max_position_embeddings": 8192,
}
# Around tiles of 64 and 128 rows and of 128 keys, one chunk, and chunks over chunks.
LENGTHS = (1, 2, 63, 64, 65, 127, 128, 129, 200, 512, 1000, 2047, 2048, 2049, 4100, 6200)
IDS = np.random.default_rng(0).integers(0, 340, max(LENGTHS)).tolist()


@pytest.fixture(scope="module")
def backends(tmp_path_factory):
    """By the Hopper kernels, and by the portable ones: the same model."""
    if find_device().compute_capability != 90:
        pytest.skip("these kernels are for compute capability 9.0")
    folder = make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3", **SIZES)
    backends = [
        CudaBackend(open_model(folder), 8192, use_hopper=hopper) for hopper in (True, False)
    ]
    for backend in backends:
        for _ in backend.load(GenerationControl()):
            pass
    yield backends
    for backend in backends:
        backend.close()


def logits(backend, length, chunk=None):
    """Logits after a prompt of `length` tokens, computed in chunks."""
    chunk = chunk or backend.prefill_chunk_tokens
    backend.truncate(0, 0)
    backend.set_sampler(0, SamplingParams(temperature=0.0), 0, (), (), Detail.NONE)
    for first in range(0, length, chunk):
        backend.prefill(0, IDS[first : min(first + chunk, length)], first + chunk >= length)
    return backend._forward.logits[0].get().astype(np.float64)


def distance(found, expected):
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("length", LENGTHS)
def test_logits_are_those_of_the_portable_kernels_within_bf16(backends, length):
    hopper, portable = backends
    found = logits(hopper, length)
    assert distance(found, logits(portable, length)) < 0.02
    assert (logits(hopper, length) == found).all()  # runs repeat bit for bit


@pytest.mark.parametrize("chunk", [1, 37, 64, 500, 1999])
def test_any_cut_of_the_prompt_gives_the_same_within_bf16(backends, chunk):
    hopper, _ = backends
    length = 130 if chunk < 64 else 4100
    assert hopper.prefill_chunk_tokens == HOPPER_CHUNK_TOKENS
    assert distance(logits(hopper, length, chunk), logits(hopper, length)) < 0.02
