"""One method per operation: chooses grid, block and shared memory, and launches the kernel.

Nothing here computes or waits; every launch goes to the current stream, so that the same calls run
eagerly or are captured into a graph. Shapes and dtypes are those of kernels/README.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.cuda.decode_product import DecodeProduct, LaunchShape, decode_products
from engine.cuda.dependent_launch import DependentLaunch
from engine.cuda.device import CudaDevice
from engine.cuda.kernel_library import KernelLibrary
from engine.cuda.memory_block import DeviceArray
from engine.cuda.self_attention import THREADS, SelfAttention
from engine.errors import UnsupportedModel
from engine.models.memory_plan import DECODE_SPLITS
from engine.models.model_config import ModelConfig

GEMM_COLUMNS = 8
"""The matrix product wants its output and inner widths in multiples of this."""

_TURING_SHARED_BYTES = 48 * 1024

# Compute capabilities whose multiprocessors hold the largest tiles well; on the others smaller
# tiles fit twice and are faster (headers of gemm.cu and attention_prefill.cu).
_LARGE_SHARED_MEMORY = (80, 90, 100, 103)

# Entry point: rows of T, columns of N, threads, dynamic shared bytes (header of gemm.cu), and the
# relative time of one output where the device is full.
GEMM_TILES = {
    "gemm_bf16_32x16": (32, 16, 256, 16384, 4.0),
    "gemm_bf16": (64, 64, 128, 49152, 2.0),
    "gemm_bf16_128x128": (128, 128, 128, 49152, 1.2),
    "gemm_bf16_128x256": (128, 256, 256, 98304, 1.0),
}


def _blocks(count: int, per_block: int) -> int:
    return -(-count // per_block)


def _i32(value: int) -> Any:  # noqa: ANN401  (NumPy scalars carry the C type of an argument)
    return np.int32(value)


def require_kernel_sizes(config: ModelConfig) -> None:
    """Check what the kernels' headers assume of a model's sizes.

    Raises:
        UnsupportedModel: names the size.
    """
    group = config.num_attention_heads // config.num_key_value_heads
    multiple = 16 if config.head_dim <= 128 else 32
    if config.head_dim % multiple or not 32 <= config.head_dim <= 256:
        supported = "multiples of 16 from 32 to 128, of 32 to 256"
        raise UnsupportedModel("head_dim", config.head_dim, supported)
    if group > 8 or group * config.head_dim > 1024:
        raise UnsupportedModel("query heads per kv head", group, "up to 8 and up to 1024 values")
    for key in ("hidden_size", "intermediate_size"):
        if getattr(config, key) % GEMM_COLUMNS:
            raise UnsupportedModel(key, getattr(config, key), "multiples of 8")


class Ops:
    """The operations of one model on one device."""

    def __init__(
        self,
        config: ModelConfig,
        device: CudaDevice,
        library: KernelLibrary,
        shapes: dict[str, LaunchShape] | None = None,
        attention: SelfAttention | None = None,
    ) -> None:
        self._config = config
        self._device = device
        self._library = library
        self._launch = DependentLaunch(device)
        self.products = decode_products(config, shapes or {}, beside_clusters=attention is not None)
        self.cluster_attention = attention
        """How self-attention of one row is launched as one kernel; None: it is not."""
        self._heads = config.num_attention_heads + 2 * config.num_key_value_heads
        self._large_tiles = device.compute_capability in _LARGE_SHARED_MEMORY

    def embedding(
        self, hidden: DeviceArray, embed_tokens: DeviceArray, token_ids: DeviceArray, rows: int
    ) -> None:
        """Compute hidden [T, E] float32 = rows of embed_tokens [V, E]."""
        kernel = self._library.kernel("embedding", "embedding_bf16")
        self._launch(kernel, (rows,), (128,), (hidden, embed_tokens, token_ids, _i32(rows)))

    def rms_norm(
        self, out: DeviceArray, hidden: DeviceArray, weight: DeviceArray, rows: int
    ) -> None:
        """Compute out [T, E] bf16 = RMSNorm of hidden [T, E] float32."""
        kernel = self._library.kernel("rms_norm", "rms_norm_bf16")
        kernel((rows,), (256,), (out, hidden, weight, _i32(rows)))

    def decode_product(
        self,
        product: DecodeProduct,
        out: DeviceArray,
        x: DeviceArray,
        weight: DeviceArray,
        rows: int,
        norm: DeviceArray | None = None,
    ) -> None:
        """Compute a fused product of B rows, x [B, K] to out [B, N]; types: decode_product.cu."""
        shared = product.shared_bytes(self._device)
        name = "decode_product"
        kernel = self._library.kernel(name, f"{name}_bf16", shared, product.defines)
        # Without a norm the kernel does not read that argument.
        arguments = (out, x, weight if norm is None else norm, weight, _i32(rows))
        grid = (product.blocks(self._device),)
        self._launch(kernel, grid, (product.threads,), arguments, shared_mem=shared)

    def gemm(
        self,
        out: DeviceArray,
        x: DeviceArray,
        weight: DeviceArray,
        rows: int,
        *,
        accumulate: bool = False,
    ) -> None:
        """Compute out [T, N] float32 = (or +=) x [T, K] @ weight [N, K]^T, for any T."""
        entry = self.gemm_entry(rows, weight.shape[0])
        self.launch_gemm(entry, out, x, weight, rows, accumulate=accumulate)

    def launch_gemm(
        self,
        entry: str,
        out: DeviceArray,
        x: DeviceArray,
        weight: DeviceArray,
        rows: int,
        *,
        accumulate: bool = False,
    ) -> None:
        """Compute the product by one entry point of gemm.cu."""
        n, k = weight.shape
        tile_t, tile_n, threads, shared = GEMM_TILES[entry][:4]
        if self._device.compute_capability < 80:
            shared = min(shared, _TURING_SHARED_BYTES)
        kernel = self._library.kernel("gemm", entry, shared)
        arguments = (out, x, weight, _i32(rows), _i32(n), _i32(k), _i32(accumulate))
        grid = (_blocks(rows, tile_t), _blocks(n, tile_n))
        kernel(grid, (threads,), arguments, shared_mem=shared)

    def gemm_entry(self, rows: int, n: int) -> str:
        """Choose the entry point that should take the least time (tests/bench/bench_gemm.py).

        Above 32 rows: whole rounds over all multiprocessors, times the tile's outputs, times what
        one output costs in that tile.
        """
        if rows <= 32:
            return "gemm_bf16_32x16"

        def cost(entry: str) -> float:
            tile_t, tile_n, _, _, per_output = GEMM_TILES[entry]
            tiles = _blocks(rows, tile_t) * _blocks(n, tile_n)
            return _blocks(tiles, self._device.multiprocessors) * tile_t * tile_n * per_output

        entries = ["gemm_bf16", "gemm_bf16_128x128"]
        if self._large_tiles:
            entries.append("gemm_bf16_128x256")
        return min(entries, key=cost)

    def qk_norm_rope(
        self,
        q: DeviceArray,
        pools: tuple[DeviceArray, DeviceArray],
        qkv: DeviceArray,
        norms: tuple[DeviceArray, DeviceArray],
        rope_table: DeviceArray,
        placement: tuple[DeviceArray, DeviceArray, DeviceArray],
        rows: int,
    ) -> None:
        """Norm and rotate q and k of qkv [T, (NH + 2 NKV) HD]; append k, v to the paged pools.

        `placement` is positions [T], slots [T], block_table [slots, max_pages], all int32.
        """
        positions, slots, block_table = placement
        kernel = self._library.kernel("qk_norm_rope", "qk_norm_rope_bf16")
        arguments = (
            *(q, *pools, qkv, *norms, rope_table, positions, slots, block_table),
            *(_i32(rows), _i32(block_table.shape[1])),
        )
        kernel((rows, _blocks(self._heads, 4)), (128,), arguments)

    def attention_prefill(
        self,
        out: DeviceArray,
        q: DeviceArray,
        pools: tuple[DeviceArray, DeviceArray],
        block_table_row: DeviceArray,
        rows: int,
        first_position: int,
    ) -> None:
        """Compute out [T, NH, HD] bf16: causal attention of a slot's new tokens over its cache."""
        head_dim = self._config.head_dim
        heads = self._config.num_attention_heads
        name, tile = "attention_prefill_bf16", 64
        fills = heads * _blocks(rows, 128) >= self._device.multiprocessors
        if head_dim <= 128 and fills and self._large_tiles:
            name, tile = "attention_prefill_bf16_128", 128
        shared = 2 * tile * (2 * head_dim + 16)
        if self._device.compute_capability < 80:
            shared = min(shared, 256 * head_dim)
        kernel = self._library.kernel("attention_prefill", name, shared)
        arguments = (out, q, *pools, block_table_row, _i32(rows), _i32(first_position))
        kernel((heads, _blocks(rows, tile)), (128,), arguments, shared_mem=shared)

    def decode_attention(
        self,
        out: DeviceArray,
        pools: tuple[DeviceArray, DeviceArray],
        qkv: DeviceArray,
        norms: tuple[DeviceArray, DeviceArray],
        rope_table: DeviceArray,
        placement: tuple[DeviceArray, DeviceArray, DeviceArray],
        scratch: tuple[DeviceArray, DeviceArray, DeviceArray, DeviceArray],
        rows: int,
    ) -> None:
        """Compute out [B, NH, HD] bf16 from qkv [B, (NH + 2 NKV) HD]; append k, v to the pools.

        `placement` as in `qk_norm_rope`; `scratch` is what the blocks leave for the last of them.
        """
        defines = (f"-DATTENTION_SPLITS={DECODE_SPLITS}",)
        kernel = self._library.kernel("decode_attention", "decode_attention_bf16", defines=defines)
        arguments = (
            *(out, *scratch, *pools, qkv, *norms, rope_table, *placement),
            _i32(placement[2].shape[1]),
        )
        grid = (DECODE_SPLITS, self._config.num_key_value_heads, rows)
        self._launch(kernel, grid, (256,), arguments)

    def self_attention(
        self,
        attention: SelfAttention,
        out: DeviceArray,
        pools: tuple[DeviceArray, DeviceArray],
        hidden: DeviceArray,
        weights: tuple[DeviceArray, DeviceArray],
        norms: tuple[DeviceArray, DeviceArray],
        rope_table: DeviceArray,
        placement: tuple[DeviceArray, DeviceArray, DeviceArray],
    ) -> None:
        """Compute out [1, NH, HD] bf16 from hidden [1, E]; append k, v to the pools.

        `weights` is the input norm's [E] and qkv_proj; `placement` as in `qk_norm_rope`.
        """
        shared = attention.shared_bytes
        name = "self_attention_cluster"
        kernel = self._library.kernel(name, f"{name}_bf16", shared, attention.defines)
        arguments = (
            *(out, *pools, hidden, *weights, *norms, rope_table, *placement),
            _i32(placement[2].shape[1]),
        )
        grid = (attention.blocks, self._config.num_key_value_heads)
        self._launch(kernel, grid, (THREADS,), arguments, shared_mem=shared)

    def swiglu(self, out: DeviceArray, gate_up: DeviceArray, rows: int) -> None:
        """Compute out [T, F] bf16 = silu(gate) * up of gate_up [T, 2F] float32."""
        kernel = self._library.kernel("swiglu", "swiglu_bf16")
        grid = (_blocks(self._config.intermediate_size, 1024), rows)
        kernel(grid, (128,), (out, gate_up, _i32(rows)))


def rope_table(config: ModelConfig, positions: int) -> Any:  # noqa: ANN401
    """Cosines and sines, float32 [positions, HD/2, 2], by way of float64: exact at any position.

    Angle of pair i at position p: p * theta^(-2 i / HD) (Su et al. 2021, half-split pairing).
    """
    half = config.head_dim // 2
    frequency = config.rope_theta ** (-np.arange(half, dtype=np.float64) / half)
    angle = np.arange(positions, dtype=np.float64)[:, None] * frequency
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1).astype(np.float32)
