"""decode_product_parts.cu against float64: the residual stream is put together on the way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import EmulationError, Sizes, from_bf16, load_kernels, to_bf16
from tests.kernels.emulation.build import source_with

ADD, SWIGLU = 1, 2
SOURCE = source_with("decode_product_parts.cu", "decode_product.cuh")
SIZES = Sizes(NH=6, NKV=3)
ORDERS = (0, 1, 2, 3)


@dataclass(frozen=True)
class Product:
    """gate_up with SWIGLU, down with ADD; K inputs, N outputs."""

    k: int
    n: int
    kind: int
    warps: int = 2
    rows: int = 4
    staged: int = 4
    turns: int = 1

    @property
    def norm(self) -> int:
        return int(self.kind == SWIGLU)

    def launch(self, args, *, arch=900, source=None, blocks=None, **options) -> None:
        names = ("k", "n", "norm", "kind", "warps", "rows", "staged", "turns")
        defines = {f"PRODUCT_{name.upper()}": getattr(self, name) for name in names}
        kernels = load_kernels(
            "decode_product_parts.cu", SIZES, arch=arch, source=source, defines=defines
        )
        vectors = (self.k // 8 + 31) // 32
        outputs = self.warps * (self.rows // 2 if self.norm else self.rows)
        staged = self.turns * self.rows * min(self.staged, vectors) * 512 * self.warps
        kernels.launch(
            "decode_product_parts_bf16",
            (blocks or -(-self.n // outputs),),
            (32 * self.warps,),
            args,
            shared_bytes=(staged if arch >= 800 else 0) + self.norm * 4 * self.k,
            **options,
        )


def check(product: Product, **options) -> None:
    rng = np.random.default_rng([product.k, product.n])
    stream = product.k if product.norm else product.n
    parts = rng.standard_normal((SIZES.NKV, stream)).astype(np.float32)
    hidden = rng.standard_normal(stream).astype(np.float32)
    joined = hidden.astype(np.float64) + parts.sum(axis=0, dtype=np.float64)
    if product.norm:
        norm = to_bf16(rng.uniform(0.5, 2, product.k))
        weight = to_bf16(rng.standard_normal((2 * product.n, product.k)))
        out = Guarded((product.n,), np.uint16)
        product.launch([out.array, hidden, norm, weight, parts], **options)
        x = oracle.rms_norm(joined, from_bf16(norm), SIZES.RMS_NORM_EPS)
        sums = from_bf16(weight).astype(np.float64) @ x
        size = np.abs(from_bf16(weight)) @ np.abs(x)
        gate, up = np.split(sums, 2)
        gate_error, up_error = np.split((8 + np.sqrt(product.k)) * oracle.FP32_EPS * size, 2)
        expected = oracle.swiglu(gate, up)
        tolerance = 1.1 * gate_error * np.abs(up) + np.abs(oracle.swiglu(gate, 1.0)) * up_error
        tolerance += (oracle.BF16_EPS + 8 * oracle.FP32_EPS) * np.abs(expected)
        found = from_bf16(out.array)
    else:
        x = to_bf16(rng.standard_normal(product.k))
        weight = to_bf16(rng.standard_normal((product.n, product.k)))
        out = Guarded((product.n,), np.float32)
        out.array[...] = hidden
        unread = np.full(1, 0xFFFF, np.uint16)
        product.launch([out.array, x, unread, weight, parts], **options)
        expected = joined + from_bf16(weight).astype(np.float64) @ from_bf16(x)
        size = np.abs(from_bf16(weight)) @ np.abs(from_bf16(x)) + np.abs(parts).sum(axis=0)
        tolerance = (4 + np.sqrt(product.k)) * oracle.FP32_EPS * (size + np.abs(hidden))
        found = out.array
    out.assert_guards_intact()
    assert_close(found, expected, tolerance)


GATE_UP, DOWN = Product(576, 19, SWIGLU), Product(264, 19, ADD)


@pytest.mark.parametrize("product", [GATE_UP, DOWN], ids=["gate_up", "down"])
def test_matches_float64(product):
    check(product)


@pytest.mark.emulation
@pytest.mark.parametrize(
    "product",
    [
        Product(1024, 48, SWIGLU, warps=12),
        Product(1024, 40, SWIGLU, warps=12),
        Product(2048, 9, SWIGLU, rows=2, turns=2),
        Product(4096, 5, SWIGLU),
        Product(8, 3, SWIGLU),
        Product(3072, 9, ADD, warps=4, rows=1, staged=12),
        Product(1536, 33, ADD, turns=2),
    ],
    ids=str,
)
@pytest.mark.parametrize("arch", [900, 1000])
def test_sizes_and_launch_shapes(product, arch):
    check(product, arch=arch, orders=(0, 2))
    check(product, arch=arch, orders=(0,), blocks=1)


@pytest.mark.emulation
@pytest.mark.parametrize("product", [GATE_UP, DOWN], ids=["gate_up", "down"])
def test_result_does_not_depend_on_the_order_of_threads(product):
    check(product, orders=(*ORDERS, 4, 5))


@pytest.mark.emulation
@pytest.mark.parametrize("product", [GATE_UP, DOWN], ids=["gate_up", "down"])
def test_reads_and_writes_stay_inside_the_arrays(product):
    check(product, sanitize=True)


STREAM = "float4 sum = *reinterpret_cast<const float4*>(x + k);"
FAULTS = {
    "part of another head": ("parts + p * K + k", "parts + k", GATE_UP),
    "stream itself": (STREAM, "float4 sum = {};", GATE_UP),
    "not joined": ("        x = join_parts<PARTS>(joined, x, parts);", "", GATE_UP),
    "barrier": ("    __syncthreads();\n", "", GATE_UP),
    "part of another output": ("parts[p * N + n]", "parts[n]", DOWN),
    "parts left out": ("value += parts[p * N + n];", "", DOWN),
}


@pytest.mark.emulation
@pytest.mark.parametrize(("old", "new", "product"), FAULTS.values(), ids=FAULTS)
def test_planted_fault_is_seen(old, new, product):
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times"
    with pytest.raises((AssertionError, EmulationError)):
        check(product, source=SOURCE.replace(old, new), orders=ORDERS)
