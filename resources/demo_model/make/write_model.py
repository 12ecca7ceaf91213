"""Write the weights (bfloat16) and the configuration files beside the tokenizer."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from resources.demo_model.make.encoding import Encoder
from resources.demo_model.make.network import Network

POSITIONS = 2048


def write_model(network: Network, encoder: Encoder, folder: Path) -> None:
    """config.json, generation_config.json, model.safetensors."""
    shape = network.shape
    end, text_end = encoder.end, encoder.control["<|endoftext|>"]
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": text_end,
        "eos_token_id": end,
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "hidden_size": shape.hidden_size,
        "initializer_range": 0.02,
        "intermediate_size": shape.intermediate_size,
        "max_position_embeddings": POSITIONS,
        "max_window_layers": shape.num_hidden_layers,
        "model_type": "qwen3",
        "num_attention_heads": shape.num_attention_heads,
        "num_hidden_layers": shape.num_hidden_layers,
        "num_key_value_heads": shape.num_key_value_heads,
        "rms_norm_eps": shape.rms_norm_eps,
        "rope_scaling": None,
        "rope_theta": int(shape.rope_theta),
        "sliding_window": None,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "use_cache": True,
        "use_sliding_window": False,
        "vocab_size": shape.vocab_size,
    }
    generation = {
        "bos_token_id": text_end,
        "do_sample": True,
        "eos_token_id": [end, text_end],
        "pad_token_id": text_end,
        "temperature": 0.6,
        "top_k": 20,
        "top_p": 0.95,
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in (("config.json", config), ("generation_config.json", generation)):
        (folder / name).write_text(json.dumps(value, indent=2) + "\n", "utf-8")
    tensors = {
        f"model.{name}": value.detach().to("cpu", torch.bfloat16).contiguous()
        for name, value in network.state_dict().items()
    }
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
