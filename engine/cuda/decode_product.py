"""The fused matrix-vector products of a decode step and their launch shapes (decode_product.cu)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from engine.cuda.device import CudaDevice
from engine.models.model_config import ModelConfig

WARP = 32
_VALUES_PER_VECTOR = 8
_STAGED_VECTORS = 24
"""16-byte vectors of weights that a thread stages in a turn, at most."""
_STAGED_BESIDE_CLUSTERS = 32
"""The same where clusters run, whose GPUs have more shared memory."""
_CP_ASYNC_CAPABILITY = 80


class Kind(IntEnum):
    """What becomes of the sums; PRODUCT_KIND of the kernel."""

    STORE = 0
    ADD = 1
    SWIGLU = 2


@dataclass(frozen=True, slots=True)
class LaunchShape:
    """How the work is cut: warps per block; per warp and turn rows of weight; of each row the
    16-byte vectors per lane that are staged in shared memory; turns under way at a time.
    """

    warps: int
    rows: int
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
            f"-DPRODUCT_ROWS={s.rows}",
            f"-DPRODUCT_STAGED={s.staged}",
            f"-DPRODUCT_TURNS={s.turns}",
        )

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.shape.warps * WARP

    def shared_bytes(self, device: CudaDevice) -> int:
        """Dynamic shared memory of a block."""
        if device.compute_capability < _CP_ASYNC_CAPABILITY:
            return 0
        s = self.shape
        staged = min(s.staged, _vectors(self.inputs))
        return s.turns * s.rows * staged * 16 * self.threads

    def blocks(self, device: CudaDevice) -> int:
        """Blocks of a launch: enough to do all rows at once, or, of a product that takes several
        turns, as many as the device holds.
        """
        outputs = self.shape.rows // 2 if self.kind is Kind.SWIGLU else self.shape.rows
        needed = -(-self.outputs // (outputs * self.shape.warps))
        if self.shape.turns == 1:
            return needed
        shared = max(self.shared_bytes(device), 16 * 1024)
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
        """In order."""
        return (self.qkv, self.o, self.gate_up, self.down, self.lm_head)


def decode_products(
    config: ModelConfig, shapes: dict[str, LaunchShape], *, beside_clusters: bool = False
) -> DecodeProducts:
    """The products of a model; `shapes` overrides the launch shape by name.

    `beside_clusters` says that a layer's self-attention is one launch of clusters.
    """
    hidden, intermediate = config.hidden_size, config.intermediate_size
    q_values = config.num_attention_heads * config.head_dim
    kv_values = config.num_key_value_heads * config.head_dim

    def product(
        name: str, inputs: int, outputs: int, kind: Kind, *, normalizes: bool
    ) -> DecodeProduct:
        shape = shapes.get(name) or _usual_shape(name, inputs, beside_clusters)
        return DecodeProduct(inputs, outputs, kind, normalizes, shape)

    return DecodeProducts(
        qkv=product("qkv", hidden, q_values + 2 * kv_values, Kind.STORE, normalizes=True),
        o=product("o", q_values, hidden, Kind.ADD, normalizes=False),
        gate_up=product("gate_up", hidden, intermediate, Kind.SWIGLU, normalizes=True),
        down=product("down", intermediate, hidden, Kind.ADD, normalizes=False),
        lm_head=product("lm_head", hidden, config.vocab_size, Kind.STORE, normalizes=True),
    )


def _usual_shape(name: str, inputs: int, beside_clusters: bool) -> LaunchShape:
    """Four rows a warp where there are many rows, one where there are few (H200, 2026-11-30).

    Clusters take half the multiprocessors whole: beside them small blocks of o find room early, and
    few large ones of gate_up are launched in time.
    """
    vectors = _vectors(inputs)
    if beside_clusters and name == "gate_up" and 8 * vectors <= _STAGED_BESIDE_CLUSTERS:
        return LaunchShape(warps=6, rows=8, staged=vectors)
    if beside_clusters and name == "o":
        return LaunchShape(warps=2, rows=1, staged=min(vectors, _STAGED_VECTORS))
    rows = 1 if name in ("o", "down") else 4 if 4 * vectors <= _STAGED_VECTORS else 2
    staged = min(vectors, _STAGED_VECTORS // rows)
    return LaunchShape(warps=4, rows=rows, staged=staged, turns=2 if name == "lm_head" else 1)


def _vectors(inputs: int) -> int:
    """16-byte vectors of a row per lane."""
    return -(-inputs // (_VALUES_PER_VECTOR * WARP))
