"""A reply whose self-attention runs in clusters, on the emulated GPU, against separate kernels."""

from __future__ import annotations

import numpy as np
import pytest

from engine.errors import DeviceLost, NotEnoughMemory
from engine.models.model_config import ModelConfig
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy
from tests.kernels.emulated_device.gpu import OUT_OF_MEMORY, CUDADriverError
from tests.kernels.test_cuda_backend_emulated import (
    IDS,
    cuda_backend,
    load,
    logits,
    reply,
    start,
)

pytestmark = pytest.mark.emulation

CLUSTER = "self_attention_cluster_bf16"
LAUNCH_FAILURE = 719
INVALID_CLUSTER_SIZE = 912


def launched(gpu: EmulatedGpu) -> set[str]:
    return {launch.kernel for launch in gpu.launches}


QWEN3_0_6B_LAYER = {
    "num_hidden_layers": 1,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
}
LLAMA = {"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1}


@pytest.mark.parametrize("model", [{}, LLAMA], ids=["qwen3", "llama"])
def test_logits_are_those_of_the_separate_kernels(tmp_path, model):
    compare_logits(make_tiny_model(tmp_path, **model), steps=80)


def test_logits_of_a_layer_of_qwen3_0_6b(tmp_path):
    compare_logits(make_tiny_model(tmp_path, **QWEN3_0_6B_LAYER), steps=2)


def compare_logits(folder, steps):
    tokens = np.random.default_rng(1).integers(0, 250, steps).tolist()
    found = {}
    for clusters in (False, True):
        with emulated_cupy(EmulatedGpu(compute_capability=90)) as gpu:
            backend = cuda_backend(folder, use_clusters=clusters, use_hopper=False)
            start(backend, IDS)
            found[clusters] = np.stack([logits_after(backend, token) for token in tokens])
            assert (CLUSTER in launched(gpu)) == clusters
            assert ("decode_attention_bf16" in launched(gpu)) == (not clusters)
    # The fp32 sums differ in their order, and now and then so does what they are rounded to.
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


# Of the first step, which a load makes: the embedding, then the first layer's clusters.
CLUSTER_LAUNCH = 1


def test_where_the_driver_refuses_clusters_separate_kernels_serve(tmp_path, caplog):
    folder = make_tiny_model(tmp_path)
    with emulated_cupy(EmulatedGpu(compute_capability=90)) as gpu:
        expected = reply(cuda_backend(folder, use_clusters=False, use_hopper=False), IDS, 4)
        gpu.launches.clear()
        gpu.fail("launch", CUDADriverError(INVALID_CLUSTER_SIZE), after=CLUSTER_LAUNCH)
        backend = cuda_backend(folder, use_hopper=False)
        assert reply(backend, IDS, 4) == expected
        assert CLUSTER not in launched(gpu)
        assert not backend.graph_refused
        backend.close()
        assert reply(load(backend), IDS, 4) == expected  # and does not ask the driver again
    assert caplog.text.count("runs no clusters") == 1


@pytest.mark.parametrize(
    ("status", "error"), [(LAUNCH_FAILURE, DeviceLost), (OUT_OF_MEMORY, NotEnoughMemory)]
)
def test_other_errors_of_that_launch_are_not_taken_for_a_refusal(tmp_path, caplog, status, error):
    folder = make_tiny_model(tmp_path)
    with emulated_cupy(EmulatedGpu(compute_capability=90, executes=False)) as gpu:
        gpu.fail("launch", CUDADriverError(status), after=CLUSTER_LAUNCH)
        with pytest.raises(error):
            cuda_backend(folder, use_hopper=False)
        assert {launch.kernel for launch in gpu.launches} == {"embedding_bf16"}
        assert gpu.allocated_bytes == 0
    assert "clusters" not in caplog.text


@pytest.mark.parametrize("sizes", [{"head_dim": 256}, {"num_attention_heads": 8}])
def test_models_that_the_kernel_does_not_fit_take_separate_kernels(tmp_path, sizes):
    folder = make_tiny_model(tmp_path, **{"num_key_value_heads": 1, **sizes})
    with emulated_cupy(EmulatedGpu(compute_capability=90)) as gpu:
        reply(cuda_backend(folder, use_hopper=False), IDS, 2)
        assert "decode_attention_bf16" in launched(gpu)
        assert CLUSTER not in launched(gpu)


@pytest.mark.parametrize(
    ("hidden_size", "compute_capability", "fits"),
    [(1024, 90, True), (2048, 90, False), (1024, 120, False)],
)
def test_shared_memory_decides_who_has_clusters(hidden_size, compute_capability, fits):
    shape = (28, hidden_size, 3 * hidden_size, 16, 8, 128, 151936)  # of Qwen3-0.6B, and -1.7B
    config = ModelConfig("qwen3", *shape, 1e-6, 1e6, 40960, True)
    with emulated_cupy(EmulatedGpu(compute_capability)):
        from engine.cuda.device import find_device
        from engine.cuda.self_attention import cluster_attention

        assert (cluster_attention(config, find_device()) is not None) == fits


def test_where_a_gpu_has_no_clusters_separate_kernels_serve(tmp_path):
    folder = make_tiny_model(tmp_path)
    with emulated_cupy(EmulatedGpu(compute_capability=89)) as gpu:
        backend = cuda_backend(folder, use_hopper=False)
        reply(backend, IDS, 4)
        assert CLUSTER not in launched(gpu)
