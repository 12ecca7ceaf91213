"""Write tiny models with random weights: a Hugging Face folder or a GGUF that the engine can run.

The tokenizer is a real byte-level BPE with Qwen3's pre-tokenizer and control tokens; nothing here
uses the engine's own readers, so that tests compare two independent sides.
"""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
"""Added tokens flagged special, in the order of their ids."""

PLAIN_ADDED_TOKENS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
"""Added tokens that are control tokens though, as in Qwen3, not flagged special."""

MERGED_WORDS = (
    "Ġthe", "Ġand", "Ġof", "Ġto", "Ġin", "Ġis", "Ġthat", "ing", "user", "assistant", "system",
    "Ġwhat", "Ġcapital", "Ġanswer", "hello", "ĊĊ",
)  # fmt: skip

QWEN_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)

CHAT_TEMPLATE = r"""{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == 'assistant' and '</think>' in content %}
        {%- set content = content.split('</think>')[-1].lstrip('\n') %}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\n\n</think>\n\n' }}
    {%- endif %}
{%- endif %}"""

_NUMPY_DTYPES = {"BF16": "<u2", "F16": "<f2", "F32": "<f4"}
_TORCH_DTYPES = {"BF16": "bfloat16", "F16": "float16", "F32": "float32"}


def byte_characters() -> list[str]:
    """The character that stands for each of the 256 bytes in a byte-level vocabulary (GPT-2)."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    characters = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        if byte not in characters:
            characters[byte] = chr(256 + len(characters) - len(printable))
    return [characters[byte] for byte in range(256)]


def tiny_vocabulary() -> tuple[list[str], list[str]]:
    """Tokens (without the added ones) and merges ("a b"), hand-made from MERGED_WORDS."""
    tokens, merges = byte_characters(), []
    for word in MERGED_WORDS:
        left = word[0]
        for character in word[1:]:
            merge = f"{left} {character}"
            left += character
            if merge not in merges:
                merges.append(merge)
            if left not in tokens:
                tokens.append(left)
    return tokens, merges


def token_id(text: str) -> int:
    """Id of an added token such as "<|im_end|>"."""
    return len(tiny_vocabulary()[0]) + (SPECIAL_TOKENS + PLAIN_ADDED_TOKENS).index(text)


def tiny_config(model_type: str = "qwen3", dtype: str = "BF16", **overrides: Any) -> dict[str, Any]:
    """Parsed config.json of a tiny model; `overrides` replace or (None) keep keys as null."""
    config: dict[str, Any] = {
        "architectures": ["Qwen3ForCausalLM" if model_type == "qwen3" else "LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": token_id("<|endoftext|>"),
        "eos_token_id": token_id("<|im_end|>"),
        "hidden_act": "silu",
        "hidden_size": 64,
        "intermediate_size": 96,
        "max_position_embeddings": 1024,
        "model_type": model_type,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-6,
        "rope_scaling": None,
        "rope_theta": 1000000.0 if model_type == "qwen3" else 10000.0,
        "tie_word_embeddings": model_type == "qwen3",
        "torch_dtype": _TORCH_DTYPES[dtype],
        "vocab_size": 352,
    }
    if model_type == "qwen3":
        # Not hidden_size / heads, as in Qwen3-0.6B.
        config |= {"head_dim": 32, "use_sliding_window": False, "sliding_window": None}
    return config | overrides


def to_stored(values: np.ndarray, dtype: str) -> np.ndarray:
    """Float32 values in a stored dtype; BF16 by cutting off (the values are random anyway)."""
    if dtype == "BF16":
        return (np.ascontiguousarray(values, "<f4").view("<u4") >> 16).astype("<u2")
    return values.astype(_NUMPY_DTYPES[dtype])


def random_tensors(config: dict[str, Any], seed: int, dtype: str) -> dict[str, np.ndarray]:
    """All weights of a config under the checkpoint's names, in stored dtype."""
    random = np.random.default_rng(seed)
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    head_dim = config.get("head_dim") or hidden // heads

    def matrix(rows: int, width: int) -> np.ndarray:
        values = random.standard_normal((rows, width), np.float32) / np.sqrt(width)
        return to_stored(values.astype(np.float32), dtype)

    def norm(width: int) -> np.ndarray:
        values = 1 + 0.1 * random.standard_normal(width, np.float32)
        return to_stored(values.astype(np.float32), dtype)

    vocabulary = random.standard_normal((config["vocab_size"], hidden), np.float32)
    tensors = {"model.embed_tokens.weight": to_stored(vocabulary * np.float32(0.3), dtype)}
    for layer in range(config["num_hidden_layers"]):
        prefix = f"model.layers.{layer}"
        tensors |= {
            f"{prefix}.input_layernorm.weight": norm(hidden),
            f"{prefix}.self_attn.q_proj.weight": matrix(heads * head_dim, hidden),
            f"{prefix}.self_attn.k_proj.weight": matrix(kv_heads * head_dim, hidden),
            f"{prefix}.self_attn.v_proj.weight": matrix(kv_heads * head_dim, hidden),
            f"{prefix}.self_attn.o_proj.weight": matrix(hidden, heads * head_dim),
            f"{prefix}.post_attention_layernorm.weight": norm(hidden),
            f"{prefix}.mlp.gate_proj.weight": matrix(inner, hidden),
            f"{prefix}.mlp.up_proj.weight": matrix(inner, hidden),
            f"{prefix}.mlp.down_proj.weight": matrix(hidden, inner),
        }
        if config["model_type"] == "qwen3":
            tensors[f"{prefix}.self_attn.q_norm.weight"] = norm(head_dim)
            tensors[f"{prefix}.self_attn.k_norm.weight"] = norm(head_dim)
    tensors["model.norm.weight"] = norm(hidden)
    if not config["tie_word_embeddings"]:
        tensors["lm_head.weight"] = matrix(config["vocab_size"], hidden)
    return tensors


def safetensors_bytes(header: dict[str, Any] | str, data: bytes = b"") -> bytes:
    """A file from a header (an object, or JSON text as it is) and the tensors' bytes."""
    text = header if isinstance(header, str) else json.dumps(header, separators=(",", ":"))
    encoded = text.encode("utf-8", "surrogatepass")
    # The reference pads too, so that tensors of a whole file lie aligned.
    encoded += b" " * (-len(encoded) % 8)
    return struct.pack("<Q", len(encoded)) + encoded + data


def write_safetensors(path: Path, tensors: dict[str, np.ndarray]) -> None:
    """Write arrays (uint16 is BF16)."""
    names = {"uint16": "BF16", "float16": "F16", "float32": "F32"}
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    position = 0
    for name, array in tensors.items():
        header[name] = {
            "dtype": names[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [position, position + array.nbytes],
        }
        position += array.nbytes
    with path.open("wb") as file:
        file.write(safetensors_bytes(header))
        for array in tensors.values():
            file.write(np.ascontiguousarray(array).data)


def write_json(path: Path, value: object) -> None:
    """Write a JSON file as Hugging Face does."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_tokenizer(folder: Path) -> None:
    """Write tokenizer.json, tokenizer_config.json and generation_config.json."""
    tokens, merges = tiny_vocabulary()
    added = [
        {
            "id": token_id(text),
            "content": text,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": text in SPECIAL_TOKENS,
        }
        for text in SPECIAL_TOKENS + PLAIN_ADDED_TOKENS
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False}
    split = {"type": "Split", "pattern": {"Regex": QWEN_SPLIT}, "behavior": "Isolated"}
    write_json(
        folder / "tokenizer.json",
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": {"type": "NFC"},
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [split | {"invert": False}, byte_level | {"use_regex": False}],
            },
            "post_processor": byte_level | {"use_regex": False},
            "decoder": byte_level | {"use_regex": False},
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": "",
                "end_of_word_suffix": "",
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": {token: number for number, token in enumerate(tokens)},
                "merges": [merge.split(" ") for merge in merges],
            },
        },
    )
    keys = ("content", "lstrip", "normalized", "rstrip", "single_word", "special")
    write_json(
        folder / "tokenizer_config.json",
        {
            "add_bos_token": False,
            "add_prefix_space": False,
            "added_tokens_decoder": {
                str(token["id"]): {key: token[key] for key in keys} for token in added
            },
            "additional_special_tokens": ["<|im_start|>", "<|im_end|>"],
            "bos_token": None,
            "chat_template": CHAT_TEMPLATE,
            "clean_up_tokenization_spaces": False,
            "eos_token": "<|im_end|>",
            "model_max_length": 1024,
            "pad_token": "<|endoftext|>",
            "tokenizer_class": "Qwen2Tokenizer",
            "unk_token": None,
        },
    )
    write_json(
        folder / "generation_config.json",
        {
            "bos_token_id": token_id("<|endoftext|>"),
            "do_sample": True,
            "eos_token_id": [token_id("<|im_end|>"), token_id("<|endoftext|>")],
            "pad_token_id": token_id("<|endoftext|>"),
            "temperature": 0.6,
            "top_k": 20,
            "top_p": 0.95,
        },
    )


def make_tiny_model(
    folder: Path,
    *,
    model_type: str = "qwen3",
    seed: int = 0,
    dtype: str = "BF16",
    shards: int = 1,
    **overrides: Any,
) -> Path:
    """Write a whole model folder of random weights and return it.

    `dtype` is BF16, F16 or F32; with `shards` above 1 the weights lie in several files with an
    index; `overrides` are keys of config.json (sizes, theta, tie_word_embeddings, ...).
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = tiny_config(model_type, dtype, **overrides)
    write_json(folder / "config.json", config)
    write_tokenizer(folder)
    tensors = random_tensors(config, seed, dtype)
    if shards == 1:
        write_safetensors(folder / "model.safetensors", tensors)
        return folder
    names = list(tensors)
    weight_map: dict[str, str] = {}
    for shard in range(shards):
        file_name = f"model-{shard + 1:05}-of-{shards:05}.safetensors"
        part = {name: tensors[name] for name in names[shard::shards]}
        write_safetensors(folder / file_name, part)
        weight_map |= dict.fromkeys(part, file_name)
    total = sum(array.nbytes for array in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    write_json(folder / "model.safetensors.index.json", index)
    return folder
