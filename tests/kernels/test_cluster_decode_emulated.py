"""A reply whose qkv and attention run in clusters, on the emulated GPU, against two kernels."""

from __future__ import annotations

import numpy as np
import pytest

from engine.api import SamplingParams
from tests.engine.models.tiny_model import make_tiny_model
from tests.kernels.emulated_device import EmulatedGpu, emulated_cupy
from tests.kernels.test_cuda_backend_emulated import IDS, cuda_backend, logits, reply, start

pytestmark = pytest.mark.emulation

GREEDY = SamplingParams(temperature=0.0)
CLUSTER = "qkv_attention_cluster_bf16"


def launched(gpu: EmulatedGpu) -> set[str]:
    return {launch.kernel for launch in gpu.launches}


LLAMA = {"model_type": "llama", "num_attention_heads": 2, "num_key_value_heads": 1}


@pytest.mark.parametrize("model", [{}, LLAMA], ids=["qwen3", "llama"])
def test_a_reply_is_that_of_the_separate_kernels(tmp_path, model):
    folder = make_tiny_model(tmp_path, **model)
    found = {}
    for blocks in (0, 4):
        with emulated_cupy(EmulatedGpu(compute_capability=90)) as gpu:
            backend = cuda_backend(folder, cluster_blocks=blocks, use_hopper=False)
            found[blocks] = reply(backend, IDS, 80), logits(backend)
            assert (CLUSTER in launched(gpu)) == (blocks > 0)
            assert ("decode_attention_bf16" in launched(gpu)) == (blocks == 0)
    assert found[4][0] == found[0][0]
    np.testing.assert_allclose(found[4][1], found[0][1], rtol=1e-3, atol=1e-3)


def test_several_sequences_take_the_separate_kernels(tmp_path):
    folder = make_tiny_model(tmp_path)
    with emulated_cupy(EmulatedGpu(compute_capability=90)) as gpu:
        backend = cuda_backend(folder, 256, 2, cluster_blocks=4, use_hopper=False)
        for slot in (0, 1):
            start(backend, IDS, slot=slot)
        gpu.launches.clear()
        backend.decode([0, 1], 3, frozenset())
        assert "decode_attention_bf16" in launched(gpu)
        assert CLUSTER not in launched(gpu)


@pytest.mark.parametrize(("capability", "blocks"), [(89, 4), (90, 16)])
def test_where_a_gpu_has_no_such_clusters_two_kernels_serve(tmp_path, capability, blocks):
    folder = make_tiny_model(tmp_path)  # more than 8 blocks must be allowed with cuda-bindings
    with emulated_cupy(EmulatedGpu(compute_capability=capability)) as gpu:
        backend = cuda_backend(folder, cluster_blocks=blocks, use_hopper=False)
        reply(backend, IDS, 4)
        assert CLUSTER not in launched(gpu)
