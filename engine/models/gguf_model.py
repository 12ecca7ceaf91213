"""A GGUF as a model: its metadata as `ModelConfig`, its tensors under the checkpoint's names."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadModelFile, UnsupportedModel
from engine.models.gguf_file import GgufFile, GgufTensor
from engine.models.host_tensor import HostTensor
from engine.models.model_config import SUPPORTED_ARCHITECTURES, ModelConfig, check_config

_GLOBAL_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_LAYER_TENSOR = re.compile(r"blk\.(0|[1-9][0-9]{0,3})\.([a-z_]+)\.(weight|bias)", re.ASCII)

# Keys below "<architecture>." that are understood: anything else might change the computation.
_SIZE_KEYS = {
    "num_hidden_layers": "block_count",
    "hidden_size": "embedding_length",
    "intermediate_size": "feed_forward_length",
    "num_attention_heads": "attention.head_count",
    "max_position_embeddings": "context_length",
}
_OTHER_KEYS = {
    "attention.head_count_kv", "attention.key_length", "attention.value_length",
    "attention.layer_norm_rms_epsilon", "rope.freq_base", "rope.dimension_count", "vocab_size",
    "tensor_data_layout",
}  # fmt: skip
# Keys that are understood with one value only.
_INERT_VALUES: dict[str, object] = {
    "rope.scaling.type": "none",
    "rope.scaling.factor": 1.0,
    "rope.scale_linear": 1.0,
    "attention.sliding_window": 0,
    "attention.causal": True,
    "use_parallel_residual": False,
    "expert_count": 0,
    "expert_used_count": 0,
}


def gguf_config(file: GgufFile) -> ModelConfig:
    """Read sizes and constants from the metadata.

    Raises:
        BadModelFile: a key is missing, has a wrong type, or contradicts another.
        UnsupportedModel: another architecture, rope scaling, or any key that is not understood.
    """
    where = str(file.path)
    architecture = file.metadata.get("general.architecture")
    if not isinstance(architecture, str):
        raise BadModelFile(where, "general.architecture is missing")
    if architecture not in SUPPORTED_ARCHITECTURES:
        raise UnsupportedModel(
            "architecture", architecture[:80], ", ".join(SUPPORTED_ARCHITECTURES)
        )
    _refuse_unknown(file, architecture)
    sizes = {key: _integer(file, f"{architecture}.{name}") for key, name in _SIZE_KEYS.items()}
    heads = sizes["num_attention_heads"]
    kv_heads = _integer(file, f"{architecture}.attention.head_count_kv", heads)
    config = ModelConfig(
        model_type=architecture,
        num_key_value_heads=kv_heads,
        head_dim=_head_dim(file, architecture, sizes["hidden_size"], heads),
        vocab_size=_vocab_size(file, architecture),
        rms_norm_eps=_number(file, f"{architecture}.attention.layer_norm_rms_epsilon"),
        rope_theta=_number(file, f"{architecture}.rope.freq_base"),
        tie_word_embeddings="output.weight" not in file.tensors,
        **sizes,
    )
    check_config(config, where)
    return config


def gguf_tensors(file: GgufFile, config: ModelConfig) -> dict[str, HostTensor]:
    """All tensors under the checkpoint's names; llama's q and k rows are put back in order.

    Names that are not known stay as they are, for `check_weights` to refuse.

    Raises:
        UnsupportedModel: the file carries rope factors.
        BadModelFile: two tensors have the same name in the checkpoint.
    """
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    tensors: dict[str, HostTensor] = {}
    for stored in file.tensors.values():
        name, interleaved_heads = _GLOBAL_NAMES.get(stored.name, stored.name), 0
        if stored.name.startswith("rope_freqs"):
            raise UnsupportedModel("tensor", stored.name, "models without rope factors")
        match = _LAYER_TENSOR.fullmatch(stored.name)
        if match and match[2] in _LAYER_NAMES:
            name = f"model.layers.{match[1]}.{_LAYER_NAMES[match[2]]}.{match[3]}"
            if config.model_type == "llama":
                interleaved_heads = heads.get(match[2], 0)
        if name in tensors:
            raise BadModelFile(str(file.path), f"two tensors are called {name}")
        tensors[name] = _host_tensor(file, stored, name, interleaved_heads)
    return tensors


def _host_tensor(file: GgufFile, stored: GgufTensor, name: str, interleaved: int) -> HostTensor:
    def read_rows(begin: int, end: int) -> NDArray[np.generic]:
        if not interleaved:
            return file.read_rows(stored, slice(begin, end))
        return file.read_rows(stored, half_split_rows(stored.shape[0], interleaved)[begin:end])

    return HostTensor(name, stored.block_type, stored.shape, stored.nbytes, read_rows)


def half_split_rows(rows: int, heads: int) -> NDArray[np.intp]:
    """Where each row of a q or k matrix lies in a llama GGUF, `[rows]`.

    llama.cpp rotates neighbours (2i, 2i+1), Hugging Face and we rotate halves (i, i + HD/2), so
    its converter moved row i of each head to 2i and row i + HD/2 to 2i + 1
    (`LlamaModel.permute` in convert_hf_to_gguf.py); this is the way back.
    """
    order = np.arange(rows, dtype=np.intp).reshape(heads, rows // heads // 2, 2)
    return order.swapaxes(1, 2).reshape(rows)


def _refuse_unknown(file: GgufFile, architecture: str) -> None:
    understood = {*_SIZE_KEYS.values(), *_OTHER_KEYS}
    for key, value in file.metadata.items():
        name = key.removeprefix(f"{architecture}.")
        if name == key or name in understood:
            continue
        if name not in _INERT_VALUES:
            raise UnsupportedModel(key[:80], f"{value!s:.80}", "a model without this key")
        if value != _INERT_VALUES[name]:
            raise UnsupportedModel(key, f"{value!s:.80}", str(_INERT_VALUES[name]))


def _integer(file: GgufFile, key: str, default: int | None = None) -> int:
    value = file.metadata.get(key, default)
    if value is None:
        raise BadModelFile(str(file.path), f"{key} is missing")
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadModelFile(str(file.path), f"{key}: expected a whole number, found {value!s:.80}")
    return value


def _number(file: GgufFile, key: str) -> float:
    value = file.metadata.get(key)
    if value is None:
        raise BadModelFile(str(file.path), f"{key} is missing; it is never guessed")
    if not isinstance(value, float):
        raise BadModelFile(str(file.path), f"{key}: expected a number, found {value!s:.80}")
    # Stored as float32: 1e-6 comes back as 9.999999974752427e-07. The shortest decimal that gives
    # the same float32 is what config.json says.
    return float(str(np.float32(value)))


def _head_dim(file: GgufFile, architecture: str, hidden_size: int, heads: int) -> int:
    key = f"{architecture}.attention.key_length"
    if key in file.metadata:
        head_dim = _integer(file, key)
    elif heads < 1 or hidden_size % heads:
        raise BadModelFile(
            str(file.path), f"{key} is missing, and {heads} heads do not divide {hidden_size}"
        )
    else:
        # As in llama.cpp, whatever the family.
        head_dim = hidden_size // heads
    for other in ("attention.value_length", "rope.dimension_count"):
        found = _integer(file, f"{architecture}.{other}", head_dim)
        if found != head_dim:
            raise UnsupportedModel(f"{architecture}.{other}", found, f"the head size, {head_dim}")
    return head_dim


def _vocab_size(file: GgufFile, architecture: str) -> int:
    embedding = file.tensors.get("token_embd.weight")
    if embedding is None:
        raise BadModelFile(str(file.path), "tensor token_embd.weight is missing")
    rows = embedding.shape[0]
    stated = _integer(file, f"{architecture}.vocab_size", rows)
    if stated != rows:
        raise BadModelFile(
            str(file.path),
            f"{architecture}.vocab_size: expected {rows} as embedded, found {stated}",
        )
    return rows
