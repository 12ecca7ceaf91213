"""Print the speed of the CPU backend in the shape of Qwen3-0.6B, with random weights.

Run: `.venv/bin/python -m tests.bench.bench_cpu [--layers 28] [--tokens 32] [--prompt 128]`. Speed
does not depend on the values of the weights, so none need to be fetched. Both kinds of weights are
measured where numba is installed. Needs about 5 GB of free memory.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from engine.api import Detail, GenerationControl, SamplingParams
from engine.cpu import cpu_backend
from engine.cpu.cpu_backend import CpuBackend
from engine.cpu.matrices import numba_installed
from engine.models.host_tensor import HostTensor
from engine.models.model_config import ModelConfig
from engine.models.model_files import ModelFiles
from tests.engine.models.tiny_model import random_tensors

QWEN3_06B = {
    "model_type": "qwen3", "num_hidden_layers": 28, "hidden_size": 1024, "intermediate_size": 3072,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
    "rms_norm_eps": 1e-6, "rope_theta": 1e6, "max_position_embeddings": 40960,
    "tie_word_embeddings": True,
}  # fmt: skip


def random_files(config: dict) -> ModelFiles:
    """A model of random bf16 weights in memory."""
    tensors = {
        name: HostTensor(
            name, "BF16", array.shape, array.nbytes, lambda a, b, array=array: array[a:b]
        )
        for name, array in random_tensors(config, 0, "BF16").items()
    }
    parsed = ModelConfig.from_dict(config, "random model")
    return ModelFiles(Path("random"), "random", "safetensors", parsed, tensors)


def measure(files: ModelFiles, prompt: int, tokens: int) -> str:
    """One line of figures; sampling as the model card recommends."""
    backend = CpuBackend(files, 8192)
    started = time.perf_counter()
    for _ in backend.load(GenerationControl()):
        pass
    load_s = time.perf_counter() - started
    backend.set_sampler(0, SamplingParams(), 1, (), (), Detail.NONE)
    chunk = backend.prefill_chunk_tokens
    backend.prefill(0, [1] * chunk, True)
    backend.decode([0], 2, frozenset())
    backend.truncate(0, 0)
    started = time.perf_counter()
    longest = 0.0
    for start in range(0, prompt, chunk):
        chunk_started = time.perf_counter()
        backend.prefill(0, list(range(start, min(prompt, start + chunk))), start + chunk >= prompt)
        longest = max(longest, time.perf_counter() - chunk_started)
    prefill_s = time.perf_counter() - started
    started = time.perf_counter()
    backend.decode([0], tokens, frozenset())
    decode_s = time.perf_counter() - started
    backend.close()
    return (
        f"{backend.device_name}: decode {tokens / decode_s:.1f} tokens/s, "
        f"prefill {prompt / prefill_s:.0f} tokens/s (chunks of {chunk}, the longest "
        f"{1000 * longest:.0f} ms), load {load_s:.1f} s, "
        f"plan {backend.memory().total_bytes / 1e9:.2f} GB"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=QWEN3_06B["num_hidden_layers"])
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--prompt", type=int, default=128)
    arguments = parser.parse_args()
    files = random_files(QWEN3_06B | {"num_hidden_layers": arguments.layers})
    print(f"{os.cpu_count()} cores, Qwen3-0.6B shape, {arguments.layers} layers, random weights")
    usual = cpu_backend._BF16_PARAMETERS
    if numba_installed():
        print(measure(files, arguments.prompt, arguments.tokens))
    cpu_backend._BF16_PARAMETERS = 1 << 62  # float32 whatever is installed
    print(measure(files, arguments.prompt, arguments.tokens))
    cpu_backend._BF16_PARAMETERS = usual


if __name__ == "__main__":
    main()
