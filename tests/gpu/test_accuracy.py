"""Proof 3: the CUDA backend against transformers, and planted faults that the gates must catch."""

from __future__ import annotations

import dataclasses
import gc
import os
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("cupy")

import engine.cuda.kernel_library as kernel_library  # noqa: E402
from engine.cuda.cuda_backend import CudaBackend  # noqa: E402
from engine.cuda.prefill_product import find_cublas  # noqa: E402
from engine.models.model_files import open_model  # noqa: E402
from tests.gpu import accuracy, demo_conversations, planted_faults, teacher_forcing  # noqa: E402
from tests.gpu.conftest import SMOLLM2  # noqa: E402

_ROWS: list[accuracy.Comparison] = []


class Reference:
    """Transformers' fp32 and bf16 outputs of one model, computed once."""

    def __init__(self, folder: Path, token_ids: list[int] | None = None) -> None:
        from transformers import AutoModelForCausalLM

        self.files = open_model(folder)
        if token_ids is None:
            self.sequences = accuracy.random_sequences(self.files.config.vocab_size)
        else:
            self.sequences = accuracy.text_sequences(token_ids)
        outputs = []
        for dtype in (torch.float32, torch.bfloat16):
            model = AutoModelForCausalLM.from_pretrained(
                folder, dtype=dtype, attn_implementation="eager"
            ).cuda()
            outputs.append(accuracy.transformers_outputs(model, self.sequences))
            del model
            gc.collect()
            torch.cuda.empty_cache()
        self.fp32, self.bf16 = outputs

    def compare(self, name: str, ours: accuracy.Outputs) -> accuracy.Comparison:
        comparison = accuracy.compare(name, ours, self.bf16, self.fp32, self.sequences)
        _ROWS.append(comparison)
        print("\n" + accuracy.table([comparison]))
        return comparison


@pytest.fixture(scope="module", autouse=True)
def write_table():
    yield
    if _ROWS and (folder := os.environ.get("OUT")):
        (Path(folder) / "accuracy_table.md").write_text(accuracy.table(_ROWS) + "\n")


@pytest.fixture(scope="module")
def qwen3_reference(random_qwen3):
    return Reference(random_qwen3)


@pytest.fixture(scope="module")
def smollm2_reference(smollm2):
    from engine.models.gguf_file import open_gguf
    from engine.text.tokenizer import Tokenizer

    return Reference(smollm2, Tokenizer.from_gguf(open_gguf(SMOLLM2[0])).encode(accuracy.passage()))


@pytest.fixture(scope="module")
def demo_reference():
    return Reference(demo_conversations.FOLDER, demo_conversations.token_ids())


def check_all_paths(reference: Reference, name: str) -> None:
    layers = reference.files.config.num_hidden_layers
    comparisons = []

    def prefill(backend: CudaBackend, path: str) -> None:
        ours = teacher_forcing.prefill_outputs(backend, reference.sequences, layers)
        comparisons.append(reference.compare(f"{name}, prefill, {path}", ours))

    def decode(backend: CudaBackend) -> None:
        path = "clusters" if backend._attention else "separate kernels"
        ours = teacher_forcing.decode_outputs(backend, reference.sequences, layers)
        comparisons.append(reference.compare(f"{name}, decode step, {path}", ours))

    backend = teacher_forcing.loaded_backend(reference.files, use_cublas=False)
    if backend._hopper_prefill is not None:
        prefill(backend, "Hopper kernels")
    if backend._attention:
        decode(backend)
    backend.close()
    backend = teacher_forcing.loaded_backend(
        reference.files, use_cublas=False, use_hopper=False, use_clusters=False
    )
    decode(backend)
    prefill(backend, "own GEMM")
    cublas = find_cublas()
    if cublas is not None:
        backend._forward.prefill_product = cublas
        prefill(backend, "cuBLAS")
    backend.close()
    failures = {c.name: c.failures() for c in comparisons if c.failures()}
    assert not failures


def test_random_weights_in_the_true_shape_pass_the_gates(qwen3_reference):
    check_all_paths(qwen3_reference, "random Qwen3-0.6B")


def test_smollm2_passes_the_gates(smollm2_reference):
    check_all_paths(smollm2_reference, "SmolLM2-135M")


def test_the_demo_model_passes_the_gates(demo_reference):
    check_all_paths(demo_reference, "demo model")


@pytest.mark.parametrize("path", planted_faults.DECODE_PATHS)
def test_graph_and_single_launches_give_the_same_bits_each_time(qwen3_reference, path):
    clusters = planted_faults.DECODE_PATHS[path][0]
    backend = teacher_forcing.loaded_backend(qwen3_reference.files, use_clusters=clusters)
    row = qwen3_reference.sequences[0].tolist() * 10
    first = teacher_forcing.decode_logits(backend, row, by_graph=True)
    assert np.isfinite(first).all()
    for by_graph in (True, False):
        again = teacher_forcing.decode_logits(backend, row, by_graph=by_graph)
        for position, (a, b) in enumerate(zip(first, again, strict=True)):
            same = np.array_equal(a.view(np.uint32), b.view(np.uint32))
            assert same, f"position {position}, {'graph' if by_graph else 'single launches'}"
    backend.close()


@pytest.mark.parametrize("path", planted_faults.DECODE_PATHS)
@pytest.mark.parametrize("fault", [*planted_faults.SOURCE_FAULTS, "eps", "theta"])
def test_a_planted_fault_fails_the_gates(qwen3_reference, fault, path, monkeypatch):
    files = qwen3_reference.files
    clusters, kernel = planted_faults.DECODE_PATHS[path]
    if fault == "eps":
        files = dataclasses.replace(
            files, config=dataclasses.replace(files.config, rms_norm_eps=1e-5)
        )
    elif fault == "theta":
        files = dataclasses.replace(files, config=dataclasses.replace(files.config, rope_theta=1e4))
    else:
        source = planted_faults.planted_source(fault, kernel)
        monkeypatch.setattr(kernel_library, "kernel_source", source)
    backend = teacher_forcing.loaded_backend(files, use_cublas=False, use_clusters=clusters)
    if clusters and backend._attention is None:
        pytest.skip("this GPU has no clusters")
    layers = files.config.num_hidden_layers
    ours = teacher_forcing.decode_outputs(backend, qwen3_reference.sequences, layers)
    backend.close()
    assert qwen3_reference.compare(f"planted fault: {fault}, {path}", ours).failures()
