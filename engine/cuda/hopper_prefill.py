"""Prefill with Hopper's own instructions (compute capability 9.0): seven launches a layer.

The products add nothing themselves to the residual stream: they leave their sums, in parts of k
where that fills the device, and the next norm adds them. What else follows a product (SwiGLU; norm
of the heads, rotation, pages of the cache) is done in its kernel.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

import cupy
import numpy as np

from engine.backend import DumpSink
from engine.cuda.device import CudaDevice
from engine.cuda.forward import Forward, LayerWeights
from engine.cuda.kernel_library import KernelLibrary
from engine.cuda.kernel_source import KernelSource
from engine.cuda.memory_block import DeviceArray, MemoryBlock
from engine.cuda.ops import Ops
from engine.cuda.prepared_launch import PreparedLaunch, SharedArgument
from engine.models.memory_plan import HOPPER_CHUNK_TOKENS
from engine.models.model_config import ModelConfig

ARCHITECTURE = "90a"

_HEAD_DIM = 128
_K_STEP = 64
_MAX_PARTS = 16
_ATTENTION_ROWS, _ATTENTION_THREADS, _ATTENTION_SHARED_BYTES = 128, 384, 230528


@dataclass(frozen=True, slots=True)
class Tile:
    """One block's share of a product: see the header of gemm_hopper.cu.

    `start` and `round` are microseconds on an H200 for K = 1024: of a launch, and of each block
    that one multiprocessor has to do (docs/kernels.md).
    """

    name: str
    rows: int
    columns: int
    threads: int
    shared_bytes: int
    start: float
    round: float

    def microseconds(self, rows: int, columns: int, multiprocessors: int) -> float:
        """Estimate of the time of a whole product."""
        tiles = -(-rows // self.rows) * (columns // self.columns)
        return self.start + self.round * -(-tiles // multiprocessors)


SMALL = Tile("64x128", 64, 128, 128, 99328, 3.5, 4.4)
LARGE = Tile("128x256", 128, 256, 256, 197632, 1.0, 14.5)


def supports_hopper_prefill(config: ModelConfig, device: CudaDevice) -> bool:
    """Whether the kernels' headers allow this model on this GPU."""
    return (
        device.compute_capability == 90
        and config.head_dim == _HEAD_DIM
        and config.hidden_size % SMALL.columns == 0
        and config.intermediate_size % _K_STEP == 0
    )


def hopper_kernel_sources() -> list[KernelSource]:
    """What is to be compiled beside the portable kernels."""
    return [
        KernelSource("gemm_hopper", architecture=ARCHITECTURE),
        KernelSource("attention_prefill_hopper", architecture=ARCHITECTURE),
    ]


@dataclass(frozen=True, slots=True)
class _Layer:
    """The launches of one layer in order; of two products the better tile is taken."""

    input_norm: PreparedLaunch
    qkv: dict[Tile, PreparedLaunch]
    attention: PreparedLaunch
    o: PreparedLaunch
    post_attention_norm: PreparedLaunch
    gate_up: dict[Tile, PreparedLaunch]
    down: PreparedLaunch


class HopperPrefill:
    """Prefill of one model as launches prepared once; the weights and the cache are `forward`'s."""

    def __init__(
        self,
        config: ModelConfig,
        device: CudaDevice,
        library: KernelLibrary,
        ops: Ops,
        forward: Forward,
        block: MemoryBlock,
    ) -> None:
        """Compile and prepare.

        Raises:
            KernelCompileError: NVRTC refused a kernel.
        """
        self._config = config
        self._device = device
        self._library = library
        self._ops = ops
        self._forward = forward
        self._qkv_columns = forward.layers[0].qkv_proj.shape[0]

        def array(name: str, dtype: type[np.generic], columns: int) -> DeviceArray:
            return block.array(f"workspace.{name}", (HOPPER_CHUNK_TOKENS, columns), dtype)

        heads = config.num_attention_heads * config.head_dim
        self._hidden = array("hidden", np.float32, config.hidden_size)
        self._norm = array("norm", np.uint16, config.hidden_size)
        self._q = array("q", np.uint16, heads)
        self._attention = array("attention", np.uint16, heads)
        self._swiglu = array("swiglu", np.uint16, config.intermediate_size)
        self._sums = array("product_parts", np.float32, config.hidden_size)
        # What differs from call to call; `block_table_row` is the slot's.
        self._rows, self._first_position, self._parts = (ctypes.c_int() for _ in range(3))
        self._first_row = ctypes.c_int()
        self._block_table_row = ctypes.c_void_p()
        self._prepare()

    def _prepare(self) -> None:
        layers = list(zip(self._forward.layers, self._forward.pools, strict=True))
        nothing, first_row = ctypes.c_int(0), ctypes.c_int(0)
        self._layers = []
        for index, (layer, pools) in enumerate(layers):
            parts = self._parts if index else nothing
            self._layers.append(
                _Layer(
                    input_norm=self._norm_launch(layer.input_layernorm, parts, first_row),
                    qkv={tile: self._qkv_launch(tile, layer, pools) for tile in self._qkv_tiles()},
                    attention=self._attention_launch(pools),
                    o=self._product_launch(self._attention, layer.o_proj),
                    post_attention_norm=self._norm_launch(
                        layer.post_attention_layernorm, self._parts, first_row
                    ),
                    gate_up={
                        tile: self._gate_up_launch(tile, layer) for tile in self._gate_up_tiles()
                    },
                    down=self._product_launch(self._swiglu, layer.down_proj),
                )
            )
        self._last_norm = self._norm_launch(self._forward.norm, self._parts, self._first_row)

    def _qkv_tiles(self) -> list[Tile]:
        return [tile for tile in (SMALL, LARGE) if self._qkv_columns % tile.columns == 0]

    def _gate_up_tiles(self) -> list[Tile]:
        columns = 2 * self._config.intermediate_size
        return [tile for tile in (SMALL, LARGE) if columns % tile.columns == 0]

    def _norm_launch(
        self,
        weight: DeviceArray,
        parts: SharedArgument,
        first_row: SharedArgument,
    ) -> PreparedLaunch:
        kernel = self._library.kernel("rms_norm", "rms_norm_add_bf16")
        arguments = (self._norm, self._hidden, self._sums, weight, self._rows, parts, first_row)
        return PreparedLaunch(kernel, 128, 0, arguments, self._device)

    def _gemm_kernel(
        self, kind: str, tile: Tile, arguments: list[DeviceArray | SharedArgument]
    ) -> PreparedLaunch:
        kernel = self._library.kernel(
            "gemm_hopper",
            f"{kind}_hopper_{tile.name}",
            tile.shared_bytes,
            architecture=ARCHITECTURE,
        )
        return PreparedLaunch(kernel, tile.threads, tile.shared_bytes, arguments, self._device)

    def _qkv_launch(
        self, tile: Tile, layer: LayerWeights, pools: tuple[DeviceArray, DeviceArray]
    ) -> PreparedLaunch:
        arguments = [
            *(self._q, *pools, self._norm, layer.qkv_proj, *layer.head_norms),
            *(self._forward.rope_table, self._block_table_row, self._rows, self._first_position),
        ]
        return self._gemm_kernel("qkv", tile, arguments)

    def _attention_launch(self, pools: tuple[DeviceArray, DeviceArray]) -> PreparedLaunch:
        kernel = self._library.kernel(
            "attention_prefill_hopper",
            "attention_prefill_hopper",
            _ATTENTION_SHARED_BYTES,
            architecture=ARCHITECTURE,
        )
        arguments = (
            *(self._attention, self._q, *pools),
            *(self._block_table_row, self._rows, self._first_position),
        )
        return PreparedLaunch(
            *(kernel, _ATTENTION_THREADS, _ATTENTION_SHARED_BYTES, arguments, self._device)
        )

    def _product_launch(self, x: DeviceArray, weight: DeviceArray) -> PreparedLaunch:
        n, k = weight.shape
        arguments = [self._sums, x, weight, self._rows, ctypes.c_int(n), ctypes.c_int(k)]
        return self._gemm_kernel("gemm", SMALL, arguments)

    def _gate_up_launch(self, tile: Tile, layer: LayerWeights) -> PreparedLaunch:
        arguments = [self._swiglu, self._norm, layer.gate_up_proj, self._rows]
        return self._gemm_kernel("gate_up", tile, arguments)

    def prefill(
        self, slot: int, rows: int, first_position: int, dump: DumpSink | None, *, logits: bool
    ) -> None:
        """Compute `rows` tokens of `forward.token_ids`; with `logits` the last one's too.

        They go to `forward.logits[slot]`. Without them, what only they need is left out: of the
        last layer keys and values are enough. `rows` is at most HOPPER_CHUNK_TOKENS.
        """
        self._rows.value = rows
        self._first_position.value = first_position
        self._parts.value = parts = self._part_count(rows)
        self._block_table_row.value = self._forward.block_table[slot].data.ptr
        stream = int(cupy.cuda.get_current_stream().ptr)
        embed = self._config.hidden_size
        product_grid = (-(-rows // SMALL.rows), embed // SMALL.columns, parts)
        attention_grid = (self._config.num_attention_heads, -(-rows // _ATTENTION_ROWS), 1)
        qkv_tile, qkv_grid = self._best(rows, self._qkv_columns, self._qkv_tiles())
        columns = 2 * self._config.intermediate_size
        gate_up_tile, gate_up_grid = self._best(rows, columns, self._gate_up_tiles())
        self._ops.embedding(self._hidden, self._forward.embed_tokens, self._forward.token_ids, rows)
        last = len(self._layers) - 1
        for index, layer in enumerate(self._layers):
            layer.input_norm((rows, 1, 1), stream)
            if dump is not None:
                dump(f"hidden.{index:02d}", self._hidden[:rows].get())
            layer.qkv[qkv_tile](qkv_grid, stream)
            if index == last and not logits and dump is None:
                return
            layer.attention(attention_grid, stream)
            layer.o(product_grid, stream)
            layer.post_attention_norm((rows, 1, 1), stream)
            layer.gate_up[gate_up_tile](gate_up_grid, stream)
            layer.down(product_grid, stream)
        self._first_row.value = rows - 1 if dump is None else 0
        self._last_norm((rows - self._first_row.value, 1, 1), stream)
        self._forward.last_logits(slot, rows)
        if dump is not None:
            dump(f"hidden.{last + 1:02d}", self._hidden[:rows].get())
            self._forward.dump_logits(rows, slot, dump)

    def _best(
        self, rows: int, columns: int, tiles: list[Tile]
    ) -> tuple[Tile, tuple[int, int, int]]:
        """The tile of least estimated time, and its grid."""

        def cost(tile: Tile) -> float:
            return tile.microseconds(rows, columns, self._device.multiprocessors)

        tile = min(tiles, key=cost)
        return tile, (-(-rows // tile.rows), columns // tile.columns, 1)

    def _part_count(self, rows: int) -> int:
        """Parts of k in which the products onto the residual give every multiprocessor a block."""
        config = self._config
        tiles = -(-rows // SMALL.rows) * (config.hidden_size // SMALL.columns)
        heads = config.num_attention_heads * config.head_dim
        k_steps = min(heads, config.intermediate_size) // _K_STEP
        room = HOPPER_CHUNK_TOKENS // rows
        return max(1, min(self._device.multiprocessors // tiles, _MAX_PARTS, k_steps, room))
