"""The Qwen3 network in PyTorch, as small as it can be written, with names of the checkpoint."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes, by the keys of config.json."""

    vocab_size: int
    num_hidden_layers: int = 6
    hidden_size: int = 256
    intermediate_size: int = 768
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    head_dim: int = 64
    rope_theta: float = 1e6
    rms_norm_eps: float = 1e-6


class Norm(nn.Module):
    """RMSNorm over the last dimension, in float32."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self._eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Same shape and dtype as `x`."""
        wide = x.float()
        scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + self._eps)
        return (wide * scale * self.weight).to(x.dtype)


def rope_tables(positions: Tensor, shape: Shape) -> tuple[Tensor, Tensor]:
    """Cosines and sines [B, 1, T, HD] float32 of positions [B, T]."""
    half = torch.arange(0, shape.head_dim, 2, device=positions.device, dtype=torch.float32)
    angles = positions[..., None].float() * shape.rope_theta ** (-half / shape.head_dim)
    angles = torch.cat((angles, angles), -1)[:, None]
    return angles.cos(), angles.sin()


def _rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    low, high = x.float().chunk(2, -1)
    return (x.float() * cos + torch.cat((-high, low), -1) * sin).to(x.dtype)


class Attention(nn.Module):
    """Grouped-query attention with norms on queries and keys."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self._shape = shape
        size, hd = shape.hidden_size, shape.head_dim
        self.q_proj = nn.Linear(size, shape.num_attention_heads * hd, bias=False)
        self.k_proj = nn.Linear(size, shape.num_key_value_heads * hd, bias=False)
        self.v_proj = nn.Linear(size, shape.num_key_value_heads * hd, bias=False)
        self.o_proj = nn.Linear(shape.num_attention_heads * hd, size, bias=False)
        self.q_norm = Norm(hd, shape.rms_norm_eps)
        self.k_norm = Norm(hd, shape.rms_norm_eps)

    def project(self, x: Tensor, rope: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries [B, NH, T, HD], keys and values [B, NKV, T, HD]."""
        batch, length, _ = x.shape

        def heads(y: Tensor) -> Tensor:
            return y.view(batch, length, -1, self._shape.head_dim)

        q = self.q_norm(heads(self.q_proj(x))).transpose(1, 2)
        k = self.k_norm(heads(self.k_proj(x))).transpose(1, 2)
        v = heads(self.v_proj(x)).transpose(1, 2)
        return _rotated(q, *rope), _rotated(k, *rope), v

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
        """The output [B, T, E]; `mask` is True where a query may look."""
        groups = self._shape.num_attention_heads // self._shape.num_key_value_heads
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        out = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.o_proj(out.transpose(1, 2).flatten(2))


class Mlp(nn.Module):
    """SwiGLU."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.up_proj = nn.Linear(shape.hidden_size, shape.intermediate_size, bias=False)
        self.down_proj = nn.Linear(shape.intermediate_size, shape.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape as `x`."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """One block."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.input_layernorm = Norm(shape.hidden_size, shape.rms_norm_eps)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = Norm(shape.hidden_size, shape.rms_norm_eps)
        self.mlp = Mlp(shape)

    def forward(self, x: Tensor, rope: tuple[Tensor, Tensor], mask: Tensor) -> Tensor:
        """The whole block without a cache."""
        q, k, v = self.self_attn.project(self.input_layernorm(x), rope)
        return self.finish(x, self.self_attn.attend(q, k, v, mask))

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """What follows the attention."""
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x))


class Network(nn.Module):
    """The model; `state_dict` has the checkpoint's names without "model."."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.embed_tokens = nn.Embedding(shape.vocab_size, shape.hidden_size)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.num_hidden_layers))
        self.norm = Norm(shape.hidden_size, shape.rms_norm_eps)
        depth = (2 * shape.num_hidden_layers) ** 0.5
        for name, parameter in self.named_parameters():
            if parameter.ndim == 2:
                # Outputs into the residual are smaller, so that its size does not grow with depth.
                spread = (
                    0.02 / depth if name.endswith(("o_proj.weight", "down_proj.weight")) else 0.02
                )
                nn.init.normal_(parameter, std=spread)

    def forward(self, tokens: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Logits [B, T, V] of tokens [B, T]."""
        rope = rope_tables(positions, self.shape)
        x = self.embed_tokens(tokens)
        for layer in self.layers:
            x = layer(x, rope, mask)
        return functional.linear(self.norm(x), self.embed_tokens.weight)
