"""Which weights a model needs, in which order and shape, and the check of a file against them.

Both backends lay weights out as `weight_blocks` says: a block is one matrix or vector, made of the
rows of its parts, one under the other (qkv_proj: q, k, v; gate_up_proj: gate, then up). The check
runs before any memory is asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from engine.errors import BadModelFile
from engine.models.host_tensor import HostTensor
from engine.models.model_config import ModelConfig

_SHOWN_DIFFERENCES = 5
# Buffers that old checkpoints store though they follow from rope_theta.
_IGNORED = re.compile(r"(model\.layers\.[0-9]+\.self_attn\.)?rotary_emb\.inv_freq")


@dataclass(frozen=True, slots=True)
class WeightPart:
    """One tensor of the checkpoint, by its own name."""

    name: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WeightBlock:
    """One array of the engine: its parts' rows, one under the other.

    `name` is the checkpoint's where there is one part; fused ones are called
    "model.layers.N.self_attn.qkv_proj.weight" and "model.layers.N.mlp.gate_up_proj.weight".
    """

    name: str
    parts: tuple[WeightPart, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows of all parts, then the width: `[N, K]` (or `[N]` for a norm)."""
        return (sum(part.shape[0] for part in self.parts), *self.parts[0].shape[1:])

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)


def weight_blocks(config: ModelConfig) -> list[WeightBlock]:
    """List every weight that the engine loads, in the order of use.

    embed_tokens; per layer input_layernorm, qkv_proj, (q_norm, k_norm), o_proj,
    post_attention_layernorm, gate_up_proj, down_proj; norm; lm_head only where it is not tied.
    """
    embedding = (config.vocab_size, config.hidden_size)
    blocks = [_single("model.embed_tokens.weight", *embedding)]
    for layer in range(config.num_hidden_layers):
        blocks += _layer_blocks(config, f"model.layers.{layer}")
    blocks.append(_single("model.norm.weight", config.hidden_size))
    if not config.tie_word_embeddings:
        blocks.append(_single("lm_head.weight", *embedding))
    return blocks


def _single(name: str, *shape: int) -> WeightBlock:
    return WeightBlock(name, (WeightPart(name, shape),))


def _fused(prefix: str, fused: str, parts: Mapping[str, int], width: int) -> WeightBlock:
    return WeightBlock(
        f"{prefix}.{fused}.weight",
        tuple(WeightPart(f"{prefix}.{name}.weight", (rows, width)) for name, rows in parts.items()),
    )


def _layer_blocks(config: ModelConfig, layer: str) -> list[WeightBlock]:
    hidden, inner = config.hidden_size, config.intermediate_size
    q_rows = config.num_attention_heads * config.head_dim
    kv_rows = config.num_key_value_heads * config.head_dim
    qkv = {"q_proj": q_rows, "k_proj": kv_rows, "v_proj": kv_rows}
    head_norms = [
        _single(f"{layer}.self_attn.{name}.weight", config.head_dim)
        for name in ("q_norm", "k_norm")
    ]
    return [
        _single(f"{layer}.input_layernorm.weight", hidden),
        _fused(f"{layer}.self_attn", "qkv_proj", qkv, hidden),
        *(head_norms if config.qk_norm else ()),
        _single(f"{layer}.self_attn.o_proj.weight", hidden, q_rows),
        _single(f"{layer}.post_attention_layernorm.weight", hidden),
        _fused(f"{layer}.mlp", "gate_up_proj", {"gate_proj": inner, "up_proj": inner}, hidden),
        _single(f"{layer}.mlp.down_proj.weight", hidden, inner),
    ]


def check_weights(
    config: ModelConfig,
    tensors: Mapping[str, HostTensor],
    readable_dtypes: Iterable[str],
    where: str,
) -> None:
    """Refuse a file whose tensors are not exactly those of `config`; reads no tensor.

    A stored `lm_head` of a tied model is allowed, and never loaded (Hugging Face overwrites it
    with the embedding, too); `rotary_emb.inv_freq` buffers are ignored. Everything else that is
    not known would change the numbers (a bias, an adapter), so it is refused by name.

    Raises:
        BadModelFile: names the first differences: missing, unexpected, shape or dtype.
    """
    expected = {part.name: part.shape for block in weight_blocks(config) for part in block.parts}
    allowed = {**expected}
    if config.tie_word_embeddings:
        allowed["lm_head.weight"] = (config.vocab_size, config.hidden_size)
    readable = frozenset(readable_dtypes)
    problems = [f"{name}: missing" for name in expected if name not in tensors]
    for name, tensor in tensors.items():
        shape = allowed.get(name)
        if shape is None:
            if not _IGNORED.fullmatch(name):
                problems.append(f"{name}: not a weight of a {config.model_type} model")
        elif tensor.shape != shape:
            problems.append(f"{name}: expected {list(shape)}, found {list(tensor.shape)}")
        elif tensor.dtype not in readable:
            problems.append(
                f"{name}: expected dtype {', '.join(sorted(readable))}, found {tensor.dtype}"
            )
    if problems:
        more = len(problems) - _SHOWN_DIFFERENCES
        shown = "; ".join(problems[:_SHOWN_DIFFERENCES])
        raise BadModelFile(where, shown + (f"; and {more} more" if more > 0 else ""))
