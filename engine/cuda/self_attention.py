"""A decode layer's self-attention in one launch of clusters (self_attention_cluster.cu)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cuda.device import CudaDevice
from engine.models.model_config import ModelConfig

MIN_COMPUTE_CAPABILITY = 90
THREADS = 256
CLUSTER_BLOCKS = 8
"""As many as every GPU with clusters can run; 16 need a fuller part of an H200 and are slower."""

_WARPS = 8
_WARP = 32
_VECTOR_VALUES = 8
_TILE = 16
_HALVES = 6
"""Halves of tiles (16 keys, or their values) that a warp has under way, at least."""
_MOST_INPUTS = 2048
_MOST_GROUP = 4
_HEAD_DIMS = (32, 64, 128)


@dataclass(frozen=True, slots=True)
class SelfAttention:
    """One kv head to a cluster of `blocks`."""

    config: ModelConfig
    blocks: int = CLUSTER_BLOCKS

    @property
    def defines(self) -> tuple[str, ...]:
        """Compiler options."""
        return (f"-DATTENTION_CLUSTER={self.blocks}", f"-DATTENTION_DEDICATED={self._dedicated}")

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block: weights and cached rows, then what blocks exchange."""
        head_dim, group = self.config.head_dim, self._group
        slots = _WARPS * (self._dedicated * self._tile_slots + self._weight_slots)
        queries = group * (head_dim + 8)  # two columns of bf16 a head
        token = self._token + (group + 1) * head_dim + queries + head_dim + group
        sent = self.blocks * (group * head_dim // self.blocks + 1 + 2 * group)
        shares = _WARPS * group * (head_dim + 2)
        arrivals = 5  # two mbarriers, aligned
        return slots * 16 + _ceil(token + sent + shares + arrivals, 4) * 16

    def fits(self, device: CudaDevice) -> bool:
        """Whether the kernel can serve this model on this GPU."""
        config = self.config
        return (
            device.compute_capability >= MIN_COMPUTE_CAPABILITY
            and config.head_dim in _HEAD_DIMS
            and config.hidden_size <= _MOST_INPUTS
            and self._group <= _MOST_GROUP
            and self._group * config.head_dim % self.blocks == 0
            and self.shared_bytes <= device.shared_bytes_per_block
        )

    @property
    def _group(self) -> int:
        return self.config.num_attention_heads // self.config.num_key_value_heads

    @property
    def _token(self) -> int:
        """Values of q, k and v that belong to one kv head."""
        return (self._group + 2) * self.config.head_dim

    @property
    def _tile_slots(self) -> int:
        """16-byte vectors of the keys of a tile."""
        return _TILE * self.config.head_dim // _VECTOR_VALUES

    @property
    def _weight_slots(self) -> int:
        """16-byte vectors of weight that a warp stages."""
        vectors = _ceil(self.config.hidden_size, _VECTOR_VALUES * _WARP)
        return _ceil(_ceil(self._token, self.blocks), _WARPS) * vectors * _WARP

    @property
    def _dedicated(self) -> int:
        """Halves of tiles beside the weights: the first tile, or more where those have no room."""
        return max(2, _HALVES - self._weight_slots // self._tile_slots)


def cluster_attention(config: ModelConfig, device: CudaDevice) -> SelfAttention | None:
    """How one sequence's self-attention is launched in clusters; None where it cannot be."""
    attention = SelfAttention(config)
    return attention if attention.fits(device) else None


def _ceil(count: int, per: int) -> int:
    return -(-count // per)
