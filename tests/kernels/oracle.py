"""Every kernel's operation once more, in float64 NumPy, written for reading.

Inputs are what the kernel sees (bf16 already decoded); results are unrounded float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BF16_EPS = 2.0**-8
FP32_EPS = 2.0**-23


def embedding(embed_tokens: Array, token_ids: NDArray[np.int32]) -> Array:
    """[T, E]: rows of `embed_tokens` [V, E]."""
    return embed_tokens[token_ids]


def rms_norm(x: Array, weight: Array, eps: float) -> Array:
    """`weight` * x / sqrt(mean(x^2) + eps) over the last axis."""
    normalised: Array = weight * x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + eps)
    return normalised


def matvec(x: Array, weight: Array) -> Array:
    """[B, N]: `x` [B, K] times the transpose of `weight` [N, K]."""
    return x @ weight.T


def swiglu(gate: Array, up: Array) -> Array:
    """silu(gate) * up, safe for gates of any size."""
    with np.errstate(over="ignore"):
        return gate / (1.0 + np.exp(-gate)) * up


def rope_table(positions: int, head_dim: int, theta: float) -> NDArray[np.float32]:
    """[positions, head_dim / 2, 2]: cos and sin of position * theta^(-2i / head_dim), as fp32."""
    frequencies = theta ** (-np.arange(0, head_dim, 2) / head_dim)
    angles = np.arange(positions)[:, None] * frequencies
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).astype(np.float32)


def rotate(x: Array, position: int, theta: float) -> Array:
    """Rotary embedding of `x` [..., HD]: pairs (i, i + HD/2) turn by position * theta^(-2i/HD)."""
    half = x.shape[-1] // 2
    angles = position * theta ** (-np.arange(half) / half)
    low, high = x[..., :half], x[..., half:]
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([low * cos - high * sin, high * cos + low * sin], axis=-1)
