"""A reply whose self-attention runs in clusters, on the emulated GPU, against separate kernels."""

from __future__ import annotations

import numpy as np
import pytest

from engine.api import SamplingParams
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy
from tests.kernels.emulated_device.gpu import CUDADriverError
from tests.kernels.test_cuda_backend_emulated import IDS, cuda_backend, logits, reply, start

pytestmark = pytest.mark.emulation

GREEDY = SamplingParams(temperature=0.0)
CLUSTER = "self_attention_cluster_bf16"
INVALID_CLUSTER_SIZE = 912


def launched(gpu: EmulatedGpu) -> set[str]:
    return {launch.kernel for launch in gpu.launches}


LLAMA = {"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1}


@pytest.mark.parametrize("model", [{}, LLAMA], ids=["qwen3", "llama"])
def test_logits_are_those_of_the_separate_kernels(tmp_path, model):
    folder = make_tiny_model(tmp_path, **model)
    tokens = np.random.default_rng(1).integers(0, 250, 80).tolist()
    found = {}
    for clusters in (False, True):
        with emulated_cupy(EmulatedGpu(compute_capability=90)) as gpu:
            backend = cuda_backend(folder, use_clusters=clusters, use_hopper=False)
            start(backend, IDS)
            found[clusters] = np.stack([logits_after(backend, token) for token in tokens])
            assert (CLUSTER in launched(gpu)) == clusters
            assert ("decode_attention_bf16" in launched(gpu)) == (not clusters)
    # The separate kernels round the attention's output to bf16.
    error = np.linalg.norm(found[True] - found[False], axis=1) / np.linalg.norm(
        found[False], axis=1
    )
    assert error.max() < 2**-6
    assert error.max() > 0


def logits_after(backend, token_id):
    """Decode one step from a given token."""
    backend._pending[0] = token_id
    backend.decode([0], 1, frozenset())
    return logits(backend)


def test_several_sequences_take_the_separate_kernels(tmp_path):
    folder = make_tiny_model(tmp_path)
    with emulated_cupy(EmulatedGpu(compute_capability=90)) as gpu:
        backend = cuda_backend(folder, 256, 2, use_hopper=False)
        for slot in (0, 1):
            start(backend, IDS, slot=slot)
        gpu.launches.clear()
        backend.decode([0, 1], 3, frozenset())
        assert "decode_attention_bf16" in launched(gpu)
        assert CLUSTER not in launched(gpu)


def test_where_the_driver_refuses_clusters_separate_kernels_serve(tmp_path, monkeypatch, caplog):
    folder = make_tiny_model(tmp_path)
    with emulated_cupy(EmulatedGpu(compute_capability=90)) as gpu:
        expected = reply(cuda_backend(folder, use_clusters=False, use_hopper=False), IDS, 4)

        def refuse(*_):
            raise CUDADriverError(INVALID_CLUSTER_SIZE)

        monkeypatch.setattr("engine.cuda.ops.Ops.self_attention", refuse)
        backend = cuda_backend(folder, use_hopper=False)
        gpu.launches.clear()
        assert reply(backend, IDS, 4) == expected
        assert CLUSTER not in launched(gpu)
        assert not backend.graph_refused
    assert "runs no clusters" in caplog.text


@pytest.mark.parametrize("sizes", [{"head_dim": 256}, {"num_attention_heads": 8}])
def test_models_that_the_kernel_does_not_fit_take_separate_kernels(tmp_path, sizes):
    folder = make_tiny_model(tmp_path, **{"num_key_value_heads": 1, **sizes})
    with emulated_cupy(EmulatedGpu(compute_capability=90)) as gpu:
        reply(cuda_backend(folder, use_hopper=False), IDS, 2)
        assert "decode_attention_bf16" in launched(gpu)
        assert CLUSTER not in launched(gpu)


def test_where_a_gpu_has_no_clusters_separate_kernels_serve(tmp_path):
    folder = make_tiny_model(tmp_path)
    with emulated_cupy(EmulatedGpu(compute_capability=89)) as gpu:
        backend = cuda_backend(folder, use_hopper=False)
        reply(backend, IDS, 4)
        assert CLUSTER not in launched(gpu)
