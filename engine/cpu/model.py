"""The forward pass in NumPy, as the papers write it: the reference for every kernel.

One decoder layer, for new tokens T of one or several sequences:

    x = rms_norm(hidden) * input_layernorm
    q, k, v = x @ q_proj^T, x @ k_proj^T, x @ v_proj^T
    q, k = rope(rms_norm(q) * q_norm), rope(rms_norm(k) * k_norm)      (the norms: qwen3 only)
    hidden += attention(q, k, v) @ o_proj^T
    x = rms_norm(hidden) * post_attention_layernorm
    hidden += (silu(x @ gate_proj^T) * (x @ up_proj^T)) @ down_proj^T

Everything is float32. Sources: RMSNorm arXiv 1910.07467, RoPE 2104.09864 (half-split pairs as in
GPT-NeoX), grouped-query attention 2305.13245, SwiGLU 2002.05202.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.backend import DumpSink
from engine.cpu.kv_cache import KvCache
from engine.cpu.matrices import Matrix
from engine.models.memory_plan import CPU_SCORES_VALUES
from engine.models.model_config import ModelConfig

Array = NDArray[np.float32]


@dataclass(frozen=True)
class LayerWeights:
    """Weights of one decoder layer; `q_norm` and `k_norm` [HD] are None without QK-norm."""

    input_layernorm: Array
    qkv_proj: Matrix  # rows of q_proj, k_proj, v_proj
    q_norm: Array | None
    k_norm: Array | None
    o_proj: Matrix
    post_attention_layernorm: Array
    gate_up_proj: Matrix  # rows of gate_proj, up_proj
    down_proj: Matrix


@dataclass(frozen=True)
class ModelWeights:
    """All weights; with tied embeddings `lm_head` is the same object as `embed_tokens`."""

    embed_tokens: Matrix
    layers: Sequence[LayerWeights]
    norm: Array
    lm_head: Matrix


@dataclass(frozen=True)
class Segment:
    """New tokens of one sequence, to be appended to its cache."""

    cache: KvCache
    token_ids: Sequence[int]


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """`x / sqrt(mean(x^2) + eps) * weight` over the last axis."""
    mean_square = np.einsum("...i,...i->...", x, x) / np.float32(x.shape[-1])
    root: Array = np.sqrt(mean_square + np.float32(eps))[..., None]
    normed: Array = x / root * weight
    return normed


def rope_table(positions: int, head_dim: int, theta: float) -> tuple[Array, Array]:
    """Cosines and sines, each [positions, HD/2] float32, computed in float64.

    Angle of pair i at position p: p * theta^(-2i/HD). In float32 the angle itself would be off by
    1e-3 at position 40,000.
    """
    frequencies = theta ** (-np.arange(0, head_dim, 2, dtype=np.float64) / head_dim)
    angles = np.arange(positions, dtype=np.float64)[:, None] * frequencies
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)


def rotate(x: Array, cos: Array, sin: Array) -> Array:
    """Rotate each pair (i, i + HD/2) of x [T, heads, HD] by its angle; cos and sin [T, HD/2]."""
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    cos, sin = cos[:, None, :], sin[:, None, :]
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def silu(x: Array) -> Array:
    """`x / (1 + exp(-x))`."""
    with np.errstate(over="ignore"):  # exp(-x) may become infinite, the quotient then is -0
        result: Array = x / (1 + np.exp(-x))
    return result


def softmax(scores: Array) -> Array:
    """Softmax over the last axis, in place."""
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    return scores


def attention(q: Array, keys: Array, values: Array) -> Array:
    """Causal grouped-query attention as [T, NH, HD].

    q [T, NH, HD] are the last T positions of keys and values [NKV, S, HD]; query head h reads kv
    head h // (NH / NKV).
    """
    new_tokens, heads, _ = q.shape
    positions = keys.shape[1]
    out = np.empty_like(q)
    rows_at_once = max(1, CPU_SCORES_VALUES // (heads * positions))
    for start in range(0, new_tokens, rows_at_once):
        rows = q[start : start + rows_at_once]
        # Positions that the last of these rows sees.
        visible = positions - new_tokens + start + rows.shape[0]
        out[start : start + rows.shape[0]] = _attend_rows(
            rows, keys[:, :visible], values[:, :visible]
        )
    return out


def _attend_rows(rows: Array, keys: Array, values: Array) -> Array:
    """`attention` with all scores in memory at once; they are gone when it returns."""
    count, heads, head_dim = rows.shape
    kv_heads, visible, _ = keys.shape
    grouped = rows.reshape(count, kv_heads, heads // kv_heads, head_dim).transpose(1, 2, 0, 3)
    scores = grouped.reshape(kv_heads, -1, head_dim) @ keys.transpose(0, 2, 1)
    scores *= np.float32(head_dim**-0.5)
    if count > 1:
        hidden_from_row = np.triu(np.ones((count, count), np.bool_), k=1)
        by_row = scores.reshape(kv_heads, -1, count, visible)
        by_row[..., visible - count :][..., hidden_from_row] = -np.inf
    mixed = softmax(scores) @ values
    by_head = mixed.reshape(kv_heads, heads // kv_heads, count, head_dim)
    return by_head.transpose(2, 0, 1, 3).reshape(count, heads, head_dim)


def _feed_forward(layer: LayerWeights, x: Array) -> Array:
    """The SwiGLU half of a layer, after the norm and without the residual: [T, E]."""
    gate_up = layer.gate_up_proj.product(x)
    intermediate = gate_up.shape[-1] // 2
    gate, up = gate_up[:, :intermediate], gate_up[:, intermediate:]
    return layer.down_proj.product(silu(gate) * up)


class NumpyModel:
    """A decoder of the qwen3 or llama family."""

    def __init__(self, config: ModelConfig, weights: ModelWeights, max_positions: int) -> None:
        self._config = config
        self._weights = weights
        self._cos, self._sin = rope_table(max_positions, config.head_dim, config.rope_theta)

    def forward(self, segments: Sequence[Segment], dump: DumpSink | None = None) -> Array:
        """Append the segments to their caches; hidden states after the final norm, [T, E].

        All segments go through each weight matrix together; T counts over all of them, in order.
        """
        config, weights = self._config, self._weights
        token_ids = np.concatenate([np.asarray(s.token_ids, np.int64) for s in segments])
        positions = np.concatenate(
            [np.arange(s.cache.length, s.cache.length + len(s.token_ids)) for s in segments]
        )
        angles = self._cos[positions], self._sin[positions]
        hidden = weights.embed_tokens.rows(token_ids)
        if dump:
            dump("hidden.00", hidden)
        for index, layer in enumerate(weights.layers):
            x = rms_norm(hidden, layer.input_layernorm, config.rms_norm_eps)
            hidden = hidden + self._attend(index, layer, x, angles, segments)
            x = rms_norm(hidden, layer.post_attention_layernorm, config.rms_norm_eps)
            hidden = hidden + _feed_forward(layer, x)
            if dump:
                dump(f"hidden.{index + 1:02d}", hidden)
        for segment in segments:
            segment.cache.advance(len(segment.token_ids))
        normed = rms_norm(hidden, weights.norm, config.rms_norm_eps)
        if dump:
            dump("hidden.norm", normed)
        return normed

    def logits(self, normed: Array) -> Array:
        """Logits [T, V] of hidden states after the final norm [T, E]."""
        return self._weights.lm_head.product(normed)

    def _attend(
        self,
        index: int,
        layer: LayerWeights,
        x: Array,
        angles: tuple[Array, Array],
        segments: Sequence[Segment],
    ) -> Array:
        """The attention half of a layer, after the norm and without the residual: [T, E].

        `angles` are the cosines and sines of the new positions, [T, HD/2] each.
        """
        config = self._config
        heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
        qkv = layer.qkv_proj.product(x).reshape(x.shape[0], heads + 2 * kv_heads, config.head_dim)
        q, k, v = qkv[:, :heads], qkv[:, heads : heads + kv_heads], qkv[:, heads + kv_heads :]
        if layer.q_norm is not None and layer.k_norm is not None:
            q = rms_norm(q, layer.q_norm, config.rms_norm_eps)
            k = rms_norm(k, layer.k_norm, config.rms_norm_eps)
        q, k = rotate(q, *angles), rotate(k, *angles)
        mixed = np.empty_like(q)
        start = 0
        for segment in segments:
            rows = slice(start, start + len(segment.token_ids))
            keys, values = segment.cache.append(index, k[rows], v[rows])
            mixed[rows] = attention(q[rows], keys, values)
            start = rows.stop
        return layer.o_proj.product(mixed.reshape(x.shape[0], -1))
