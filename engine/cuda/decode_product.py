"""The fused matrix-vector products of a decode step and their launch shapes (decode_product.cu)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from engine.cuda.device import CudaDevice
from engine.models.model_config import ModelConfig

MAX_BATCH = 8
"""Rows of x that the kernel multiplies at a time."""

_TILE = 8
_STAGED_BYTES = 64 * 1024
"""Weights that a block stages, at most."""

_CP_ASYNC_CAPABILITY = 80
_ROW_PADDING = 32
_STATIC_BYTES = 12 * 1024
"""More than the kernel's static shared memory, the sums of its warps, takes in any shape."""


class Kind(IntEnum):
    """What becomes of the sums; PRODUCT_KIND of the kernel."""

    STORE = 0
    ADD = 1
    SWIGLU = 2


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """How the work is cut: warps of a block, which share K; tiles of 8 rows of weight per block and
    turn; steps of 32 values of K per warp whose weights are staged; turns under way at a time.
    """

    warps: int
    tiles: int
    staged: int
    turns: int = 1


@dataclass(frozen=True, slots=True)
class DecodeProduct:
    """One product: inputs K, outputs N (SWIGLU: of 2 N rows of weight), and its launch shape."""

    inputs: int
    outputs: int
    kind: Kind
    normalizes: bool
    shape: LaunchShape

    @property
    def defines(self) -> tuple[str, ...]:
        """Compiler options."""
        s = self.shape
        return (
            f"-DPRODUCT_K={self.inputs}",
            f"-DPRODUCT_N={self.outputs}",
            f"-DPRODUCT_NORM={int(self.normalizes)}",
            f"-DPRODUCT_KIND={int(self.kind)}",
            f"-DPRODUCT_WARPS={s.warps}",
            f"-DPRODUCT_TILES={s.tiles}",
            f"-DPRODUCT_STAGED={s.staged}",
            f"-DPRODUCT_TURNS={s.turns}",
        )

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.shape.warps

    def batch(self, device: CudaDevice, rows: int) -> int:
        """Rows of x that are multiplied at a time: what shared memory holds beside the weights."""
        room = device.shared_bytes_per_block - _STATIC_BYTES - self._weight_bytes(device)
        return max(1, min(rows, MAX_BATCH, room // self._row_bytes()))

    def shared_bytes(self, device: CudaDevice, batch: int) -> int:
        """Dynamic shared memory of a block."""
        return self._weight_bytes(device) + batch * self._row_bytes()

    def _weight_bytes(self, device: CudaDevice) -> int:
        if device.compute_capability < _CP_ASYNC_CAPABILITY:
            return 0
        s = self.shape
        return s.turns * s.tiles * min(s.staged, self._steps()) * 16 * self.threads

    def _row_bytes(self) -> int:
        parts = 2 if self.normalizes else 1
        return parts * 2 * (self.shape.warps * self._steps() * 32 + _ROW_PADDING)

    def _steps(self) -> int:
        return -(-_steps(self.inputs) // self.shape.warps)

    def blocks(self, device: CudaDevice) -> int:
        """Blocks of a launch: enough to do all rows at once, or, of a product that takes several
        turns, as many as the device holds.
        """
        tiles = self.shape.tiles // 2 if self.kind is Kind.SWIGLU else self.shape.tiles
        needed = -(-self.outputs // (_TILE * tiles))
        if self.shape.turns == 1:
            return needed
        shared = max(self.shared_bytes(device, 1), 16 * 1024)
        resident = device.multiprocessors * max(1, device.shared_bytes_per_block // shared)
        return min(needed, resident)


@dataclass(frozen=True, slots=True)
class DecodeProducts:
    """All products of a step."""

    qkv: DecodeProduct
    o: DecodeProduct
    gate_up: DecodeProduct
    down: DecodeProduct
    lm_head: DecodeProduct

    def all(self) -> tuple[DecodeProduct, ...]:
        """In the order of a step."""
        return (self.qkv, self.o, self.gate_up, self.down, self.lm_head)


def decode_products(config: ModelConfig, shapes: dict[str, LaunchShape]) -> DecodeProducts:
    """The products of a model; `shapes` overrides the launch shape by name."""
    hidden, intermediate = config.hidden_size, config.intermediate_size
    q_values = config.num_attention_heads * config.head_dim
    kv_values = config.num_key_value_heads * config.head_dim

    def product(
        name: str, inputs: int, outputs: int, kind: Kind, *, normalizes: bool
    ) -> DecodeProduct:
        shape = shapes.get(name) or _usual_shape(name, inputs)
        return DecodeProduct(inputs, outputs, kind, normalizes, shape)

    return DecodeProducts(
        qkv=product("qkv", hidden, q_values + 2 * kv_values, Kind.STORE, normalizes=True),
        o=product("o", q_values, hidden, Kind.ADD, normalizes=False),
        gate_up=product("gate_up", hidden, intermediate, Kind.SWIGLU, normalizes=True),
        down=product("down", intermediate, hidden, Kind.ADD, normalizes=False),
        lm_head=product("lm_head", hidden, config.vocab_size, Kind.STORE, normalizes=True),
    )


def _usual_shape(name: str, inputs: int) -> LaunchShape:
    """Two tiles where there are many rows, one where there are few; all of a turn staged if it
    fits.
    """
    many = name in ("qkv", "gate_up", "lm_head")
    tiles = 2 if many else 1
    warps = 4 if many else 8
    steps = -(-_steps(inputs) // warps)
    turns = 2 if name == "lm_head" else 1
    staged = min(steps, _STAGED_BYTES // (turns * tiles * 512 * warps))
    return LaunchShape(warps, tiles, staged, turns)


def _steps(inputs: int) -> int:
    """Steps of 32 values of K."""
    return -(-inputs // 32)
