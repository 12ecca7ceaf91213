"""Write a tiny GGUF from a tiny model's config and tensors, the way llama.cpp's converter does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, TokenType
from gguf.quants import quantize

from tests.engine.models.tiny_model import (
    CHAT_TEMPLATE,
    PLAIN_ADDED_TOKENS,
    SPECIAL_TOKENS,
    random_tensors,
    tiny_config,
    tiny_vocabulary,
    token_id,
)

_NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


def gguf_name(name: str) -> str:
    """llama.cpp's name of a checkpoint tensor."""
    for ours, theirs in (
        ("model.embed_tokens.", "token_embd."),
        ("model.norm.", "output_norm."),
        ("lm_head.", "output."),
    ):
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    _, _, layer, rest = name.split(".", 3)
    module, kind = rest.rsplit(".", 1)
    return f"blk.{layer}.{_NAMES[module]}.{kind}"


def permute(weights: np.ndarray, heads: int) -> np.ndarray:
    """Copy of `LlamaModel.permute` in llama.cpp's convert_hf_to_gguf.py."""
    return (
        weights.reshape(heads, 2, weights.shape[0] // heads // 2, *weights.shape[1:])
        .swapaxes(1, 2)
        .reshape(weights.shape)
    )


def add_metadata(writer: GGUFWriter, config: dict[str, Any]) -> None:
    """Write sizes and tokenizer."""
    writer.add_name("Tiny")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(config["rope_theta"])
    if "head_dim" in config:
        writer.add_key_length(config["head_dim"])
        writer.add_value_length(config["head_dim"])
    else:
        writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
        writer.add_vocab_size(config["vocab_size"])
    tokens, merges = tiny_vocabulary()
    types = [TokenType.NORMAL] * len(tokens)
    tokens += SPECIAL_TOKENS + PLAIN_ADDED_TOKENS
    types += [TokenType.CONTROL] * len(SPECIAL_TOKENS)
    types += [TokenType.USER_DEFINED] * len(PLAIN_ADDED_TOKENS)
    padding = config["vocab_size"] - len(tokens)
    tokens += [f"[PAD{number}]" for number in range(padding)]
    types += [TokenType.UNUSED] * padding
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_merges(merges)
    writer.add_eos_token_id(token_id("<|im_end|>"))
    writer.add_bos_token_id(token_id("<|endoftext|>"))
    writer.add_pad_token_id(token_id("<|endoftext|>"))
    writer.add_add_bos_token(False)
    writer.add_chat_template(CHAT_TEMPLATE)


def make_tiny_gguf(
    path: Path,
    *,
    model_type: str = "qwen3",
    seed: int = 0,
    block_type: str = "F16",
    **overrides: Any,
) -> Path:
    """Write a GGUF of the same random weights (made as F32) as `make_tiny_model` and return it.

    Matrices are stored as `block_type` (F32, F16, BF16, Q8_0, Q4_1, ...), norms as F32.
    """
    config = tiny_config(model_type, "F32", **overrides)
    tensors = random_tensors(config, seed, "F32")
    writer = GGUFWriter(path, model_type)
    add_metadata(writer, config)
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    quantization = GGMLQuantizationType[block_type]
    for name, values in tensors.items():
        module = name.split(".")[-2]
        if model_type == "llama" and module in heads:
            values = permute(values, heads[module])
        if values.ndim == 1:
            writer.add_tensor(gguf_name(name), values)
        else:
            stored = quantize(values, quantization)
            writer.add_tensor(gguf_name(name), stored, raw_dtype=quantization)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
