"""The same weights in Hugging Face transformers: float32, eager attention, on the CPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM

from engine.models.host_tensor import HostTensor, to_float32
from engine.models.model_config import ModelConfig
from engine.models.model_files import ModelFiles
from engine.models.weights import check_weights
from tests.engine.models.tiny_model import random_tensors


def random_model(config: dict, seed: int) -> ModelFiles:
    """A model of random bf16 weights in memory, of any shape; `config` as in config.json."""
    arrays = random_tensors(config, seed, "BF16")
    tensors = {
        name: HostTensor(name, "BF16", array.shape, array.nbytes, _reader(array))
        for name, array in arrays.items()
    }
    parsed = ModelConfig.from_dict(config, "random model")
    check_weights(parsed, tensors, ("BF16",), "random model")
    return ModelFiles(Path("random"), "random", "safetensors", parsed, tensors)


def _reader(array):
    return lambda begin, end: array[begin:end]


def hugging_face_model(files: ModelFiles) -> torch.nn.Module:
    """transformers' own model with the tensors of `files`, dequantized to float32."""
    config = files.config
    config_class, model_class = {
        "qwen3": (Qwen3Config, Qwen3ForCausalLM),
        "llama": (LlamaConfig, LlamaForCausalLM),
    }[config.model_type]
    hf_config = config_class(
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_hidden_layers,
        num_attention_heads=config.num_attention_heads,
        num_key_value_heads=config.num_key_value_heads,
        head_dim=config.head_dim,
        rms_norm_eps=config.rms_norm_eps,
        max_position_embeddings=config.max_position_embeddings,
        rope_parameters={"rope_type": "default", "rope_theta": config.rope_theta},
        tie_word_embeddings=config.tie_word_embeddings,
        attn_implementation="eager",
    )
    model = model_class(hf_config).eval()
    state = {
        name: torch.from_numpy(np.array(to_float32(tensor)))
        for name, tensor in files.tensors.items()
    }
    missing, unexpected = model.load_state_dict(state, strict=False)
    allowed = {"lm_head.weight"} if config.tie_word_embeddings else set()
    assert set(missing) <= allowed, missing
    assert not unexpected, unexpected
    model.tie_weights()
    return model


def hugging_face_logits(model: torch.nn.Module, token_ids: list[int]) -> np.ndarray:
    """Logits [T, V] float32 of every position."""
    with torch.inference_mode():
        return model(torch.tensor([token_ids])).logits[0].numpy()
