"""A decode layer's self-attention in one launch of clusters (self_attention_cluster.cu)."""

from __future__ import annotations

from dataclasses import dataclass

from engine.cuda.decode_product import decode_products
from engine.cuda.dependent_launch import dependent_launch_available
from engine.cuda.device import CudaDevice
from engine.models.model_config import ModelConfig

MIN_COMPUTE_CAPABILITY = 90
THREADS = 256
PORTABLE_CLUSTER = 8
"""Blocks of a cluster that every GPU with clusters can run; more must be allowed."""

_WARPS = 8
_WARP = 32
_VALUES_PER_VECTOR = 8
_MOST_INPUTS = 2048
_HEAD_DIMS = (32, 64, 128, 256)


@dataclass(frozen=True, slots=True)
class SelfAttention:
    """One kv head to a cluster of `blocks`; each has `stages` units of cached rows under way."""

    config: ModelConfig
    blocks: int
    stages: int

    @property
    def defines(self) -> tuple[str, ...]:
        """Compiler options."""
        return (f"-DATTENTION_CLUSTER={self.blocks}", f"-DATTENTION_STAGES={self.stages}")

    @property
    def shared_bytes(self) -> int:
        """Dynamic shared memory of a block: weights, cached rows, then what blocks exchange."""
        config = self.config
        group = config.num_attention_heads // config.num_key_value_heads
        token, heads = (group + 2) * config.head_dim, group * config.head_dim
        qkv = self._slots(token, config.hidden_size)
        o = self._slots(config.hidden_size, heads)
        keys_at_once = THREADS // (config.head_dim // _VALUES_PER_VECTOR)
        keys_each = 2 if keys_at_once <= _WARP else 1
        slots = (max(qkv, o) + self.stages * 2 * keys_each) * THREADS
        exchanged = token + heads + self.blocks * (heads // self.blocks + 1 + 2 * group)
        shares = _WARPS * group * (config.head_dim + 2)
        return slots * 16 + _ceil(exchanged + shares, 4) * 16

    def _slots(self, rows: int, inputs: int) -> int:
        """16-byte vectors that a thread stages of a matrix which the cluster shares."""
        vectors = _ceil(inputs, _VALUES_PER_VECTOR * _WARP)
        return _ceil(_ceil(rows, self.blocks), _WARPS) * vectors

    def fits(self, device: CudaDevice) -> bool:
        """Whether the kernel can serve this model on this GPU."""
        config = self.config
        outputs = config.num_attention_heads // config.num_key_value_heads * config.head_dim
        return (
            device.compute_capability >= MIN_COMPUTE_CAPABILITY
            and config.head_dim in _HEAD_DIMS
            and config.hidden_size <= _MOST_INPUTS
            and outputs % self.blocks == 0
            and self.shared_bytes <= device.shared_bytes_per_block
        )


def cluster_attention(config: ModelConfig, device: CudaDevice, blocks: int) -> SelfAttention | None:
    """How one sequence's self-attention is launched in clusters; None where it cannot be."""
    if blocks == 0 or (blocks > PORTABLE_CLUSTER and not dependent_launch_available(device)):
        return None
    joining = decode_products(config, {}).joining()
    if any(p.shared_bytes(device) > device.shared_bytes_per_block for p in joining):
        return None
    for stages in (2, 1):
        attention = SelfAttention(config, blocks, stages)
        if attention.fits(device):
            return attention
    return None


def _ceil(count: int, per: int) -> int:
    return -(-count // per)
