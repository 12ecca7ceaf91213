"""Model folders for benchmarks: the one that is named, else random weights in a true shape.

Speed does not depend on the values of the weights, so none need to be fetched.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.engine.models.tiny_model import random_tensors, write_json, write_safetensors

QWEN3_06B = {
    "model_type": "qwen3", "num_hidden_layers": 28, "hidden_size": 1024, "intermediate_size": 3072,
    "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936,
    "rms_norm_eps": 1e-6, "rope_theta": 1e6, "max_position_embeddings": 40960,
    "tie_word_embeddings": True, "torch_dtype": "bfloat16",
}  # fmt: skip


def write_random_model(folder: Path, config: dict) -> Path:
    """Write config.json and bf16 weights; no tokenizer, since a backend needs none."""
    write_json(folder / "config.json", config)
    write_safetensors(folder / "model.safetensors", random_tensors(config, 0, "BF16"))
    return folder


@contextmanager
def model_or_random(path: Path | None, layers: int | None = None) -> Iterator[Path]:
    """`path`, or a temporary folder of random weights in Qwen3-0.6B's shape (1.2 GB)."""
    if path is not None:
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="thinkpane-bench-") as folder:
        config = QWEN3_06B | ({} if layers is None else {"num_hidden_layers": layers})
        yield write_random_model(Path(folder), config)
