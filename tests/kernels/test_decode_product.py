"""decode_product.cu against float64: norm, product, and what becomes of the sums."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import SanitizerError, Sizes, from_bf16, load_kernels, to_bf16
from tests.kernels.emulation.build import source_with

STORE, ADD, SWIGLU = 0, 1, 2
SOURCE = source_with("decode_product.cu")
EPS = Sizes().RMS_NORM_EPS
KINDS = [(1, STORE), (0, ADD), (1, SWIGLU), (0, STORE), (0, SWIGLU), (1, ADD)]
KIND_IDS = ["qkv", "o", "gate_up", "plain", "swiglu", "norm-add"]
ORDERS = (0, 1, 2, 3)


@dataclass(frozen=True)
class Product:
    """One compiled product: what it computes, and how the work is cut."""

    k: int
    n: int
    norm: int = 0
    kind: int = STORE
    warps: int = 2
    rows: int = 4
    staged: int = 4
    turns: int = 1

    @property
    def outputs(self) -> int:
        """Outputs of one block in one turn."""
        return self.warps * (self.rows // 2 if self.kind == SWIGLU else self.rows)

    def shared_bytes(self, arch: int) -> int:
        vectors = (self.k // 8 + 31) // 32
        return (
            0
            if arch < 800
            else self.turns * self.rows * min(self.staged, vectors) * 512 * self.warps
        )

    def launch(self, out, inputs, *, blocks=None, arch=900, source=None, **options) -> None:
        names = ("k", "n", "norm", "kind", "warps", "rows", "staged", "turns")
        defines = {f"PRODUCT_{name.upper()}": getattr(self, name) for name in names}
        kernels = load_kernels("decode_product.cu", arch=arch, source=source, defines=defines)
        blocks = blocks or -(-self.n // self.outputs)
        args = [out, inputs.x, inputs.norm, inputs.weight, np.int32(len(inputs.x))]
        shared = self.shared_bytes(arch)
        block = (32 * self.warps,)
        kernels.launch(
            "decode_product_bf16", (blocks,), block, args, shared_bytes=shared, **options
        )


@dataclass
class Inputs:
    x: np.ndarray
    norm: np.ndarray  # one element where it must not be read
    weight: np.ndarray

    def row(self, b: int) -> Inputs:
        return replace(self, x=self.x[b : b + 1].copy())


def inputs_of(product: Product, b: int, scale: float = 1.0) -> Inputs:
    rng = np.random.default_rng([b, product.n, product.k])
    rows = product.n * (2 if product.kind == SWIGLU else 1)
    weight = to_bf16(rng.standard_normal((rows, product.k)))
    x = scale * rng.standard_normal((b, product.k))
    if not product.norm:
        return Inputs(to_bf16(x), np.full(1, 0xFFFF, np.uint16), weight)
    return Inputs(x.astype(np.float32), to_bf16(rng.uniform(0.5, 2, product.k)), weight)


def sums_of(product: Product, inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """Float64 sums [B, rows of weight], and the largest error that is allowed for each."""
    weight = from_bf16(inputs.weight).astype(np.float64)
    if product.norm:
        x = oracle.rms_norm(inputs.x.astype(np.float64), from_bf16(inputs.norm), EPS)
    else:
        x = from_bf16(inputs.x).astype(np.float64)
    # The norm: its own sum, a root, a division and two products more.
    factor = 2 + np.sqrt(product.k) + 6 * product.norm
    return oracle.matvec(x, weight), factor * oracle.FP32_EPS * (np.abs(x) @ np.abs(weight).T)


def check(product: Product, b: int, *, scale: float = 1.0, **options) -> None:
    """Launch between guards and compare with float64."""
    inputs = inputs_of(product, b, scale)
    out = Guarded((b, product.n), np.uint16 if product.kind == SWIGLU else np.float32)
    before = np.zeros((b, product.n), np.float32)
    if product.kind == ADD:
        before = np.random.default_rng(6).standard_normal(before.shape).astype(np.float32)
        out.array[...] = before
    product.launch(out.array, inputs, **options)
    out.assert_guards_intact()
    sums, tolerance = sums_of(product, inputs)
    if product.kind == SWIGLU:
        gate, up = np.split(sums, 2, axis=1)
        gate_error, up_error = np.split(tolerance, 2, axis=1)
        expected = oracle.swiglu(gate, up)
        # silu is nowhere steeper than 1.1; the exponential and the division cost a few roundings.
        tolerance = 1.1 * gate_error * np.abs(up) + np.abs(oracle.swiglu(gate, 1.0)) * up_error
        tolerance += (oracle.BF16_EPS + 8 * oracle.FP32_EPS) * np.abs(expected)
        assert_close(from_bf16(out.array), expected, tolerance)
        return
    tolerance = tolerance + oracle.FP32_EPS * np.abs(before)
    assert_close(out.array, before + sums, tolerance)


def result(product: Product, inputs: Inputs, **options) -> np.ndarray:
    """Bits of the output of one launch over zeros."""
    out = np.zeros((len(inputs.x), product.n), np.uint16 if product.kind == SWIGLU else np.float32)
    product.launch(out, inputs, orders=(0,), **options)
    return out


# One vector of eight; rows that no warp count divides; two turns of one block.
@pytest.mark.parametrize(
    ("product", "b", "blocks"),
    [(Product(8, 1, 0, ADD), 1, None), (Product(576, 9, 1, SWIGLU, rows=2, staged=2), 2, 2)],
    ids=["add", "norm-swiglu"],
)
def test_matches_float64(product, b, blocks):
    check(product, b, blocks=blocks)


@pytest.mark.emulation
@pytest.mark.parametrize("b", range(1, 9))
@pytest.mark.parametrize(("norm", "kind"), KINDS, ids=KIND_IDS)
def test_matches_float64_for_every_batch(norm, kind, b):
    check(Product(576, 19, norm, kind, turns=2), b, blocks=1)


# A warp of vectors less one, a warp, one more; four and one; the longest input that is held in
# registers and one vector more, for both kinds of input.
@pytest.mark.emulation
@pytest.mark.parametrize("norm", [0, 1])
@pytest.mark.parametrize("k", [8, 16, 248, 256, 264, 1032, 2048, 2056, 3072, 3080])
def test_every_length_of_a_row(k, norm):
    check(Product(k, 5, norm, STORE), 2, orders=(0, 2))


@pytest.mark.emulation
@pytest.mark.parametrize("rows", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_numbers_of_outputs_that_the_launch_shape_does_not_divide(n, rows):
    check(Product(264, n, 1, STORE, rows=rows), 1)
    if rows % 2 == 0:
        check(Product(264, n, 1, SWIGLU, rows=rows), 1)


SHAPES = {
    "one warp, nothing staged": (dict(warps=1, rows=2, staged=0), None),
    "eight warps": (dict(warps=8, rows=2, staged=1), None),
    "more staged than there is": (dict(warps=4, rows=4, staged=9), None),
    "every row a turn": (dict(warps=1, rows=2, staged=2, turns=1), 1),
    "two under way": (dict(warps=2, rows=2, staged=1, turns=2), 2),
    "three under way": (dict(warps=1, rows=2, staged=3, turns=3), 2),
    "more under way than there are": (dict(warps=2, rows=8, staged=3, turns=4), 3),
    "more blocks than work": (dict(warps=2, rows=4, staged=2), 40),
}


@pytest.mark.emulation
@pytest.mark.parametrize(("cut", "blocks"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("k", [576, 3080], ids=["held", "not held"])
@pytest.mark.parametrize(("norm", "kind"), [(1, SWIGLU), (0, STORE)], ids=["gate_up", "plain"])
def test_a_row_depends_neither_on_the_launch_shape_nor_on_the_batch(norm, kind, k, cut, blocks):
    product = Product(k, 21, norm, kind)
    inputs = inputs_of(product, 3)
    inputs.x[1, 5] = np.nan if norm else 0x7FC0  # spoils its own row only
    shaped = replace(product, **cut)
    together = result(shaped, inputs, blocks=blocks)
    for b in range(3):
        alone = result(product, inputs.row(b))
        np.testing.assert_array_equal(together[b], alone[0])
        np.testing.assert_array_equal(result(shaped, inputs.row(b), blocks=blocks), alone)
        assert np.isnan(from_bf16(alone) if kind == SWIGLU else alone).all() == (b == 1)


# 7.5 stages nothing; 10.0 holds less of the input in registers.
@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 1000])
@pytest.mark.parametrize(("norm", "kind"), KINDS[:3], ids=KIND_IDS[:3])
def test_every_architecture_gives_the_same_bits(norm, kind, arch):
    product = Product(1032, 11, norm, kind, turns=2)
    check(product, 2, arch=arch, orders=ORDERS)
    inputs = inputs_of(product, 2)
    found, expected = (result(product, inputs, arch=a, blocks=1) for a in (arch, 900))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.emulation
@pytest.mark.parametrize("b", [1, 3, 8])
@pytest.mark.parametrize("norm", [0, 1])
def test_the_sum_is_added_to_the_residual_in_one_rounding(norm, b):
    product = Product(576, 11, norm)
    inputs = inputs_of(product, b)
    before = np.random.default_rng(6).standard_normal((b, 11)).astype(np.float32)
    residual = before.copy()
    replace(product, kind=ADD).launch(residual, inputs)
    np.testing.assert_array_equal(residual, before + result(product, inputs))


@pytest.mark.emulation
@pytest.mark.parametrize("scale", [0.0, 1e-6, 1e-3, 1e4])
@pytest.mark.parametrize("kind", [STORE, SWIGLU])
def test_norm_of_rows_of_any_size(kind, scale):
    check(Product(576, 5, 1, kind), 2, scale=scale)


@pytest.mark.emulation
def test_gates_far_from_zero_saturate():
    check(Product(576, 40, 0, SWIGLU), 2, scale=40.0)


@pytest.mark.emulation
@pytest.mark.parametrize("turns", [1, 3])
@pytest.mark.parametrize("k", [576, 2056])
def test_result_does_not_depend_on_thread_order(k, turns):
    check(Product(k, 30, 1, SWIGLU, turns=turns), 2, blocks=2, orders=ORDERS)


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize(
    "product",
    [
        Product(8, 1),
        Product(576, 9, 1, SWIGLU, turns=2),
        Product(264, 15, 0, ADD, rows=8, turns=3),
        Product(2056, 3, 1, STORE, staged=2),
    ],
    ids=lambda product: f"K{product.k}",
)
def test_clean_under_the_sanitizer(product, arch):
    check(product, 2, blocks=1, arch=arch, sanitize=True)


def plant(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times"
    return SOURCE.replace(old, new)


SWIGLU_TURNS = Product(576, 19, 1, SWIGLU, turns=2)
ADD_TURNS = Product(264, 19, 0, ADD, turns=2)
LONG_ROWS = Product(2056, 33, 1, STORE, staged=2, turns=2)
# What is replaced, by what, the product that shows it, and the scale of its input.
FAULTS = {
    "eps": (" + RMS_NORM_EPS", "", Product(576, 5, 1), 1e-3),
    "mean": ("(1.0f / K)", "(1.0f / (K + 1))", Product(576, 5, 1), 1.0),
    "norm weight": ("values.of[i] *= factors[i];", "", SWIGLU_TURNS, 1.0),
    "squares of the row before": (
        "else {\n                squares = 0.0f;",
        "else {",
        LONG_ROWS,
        1.0,
    ),
    "input of the row before": ("(first || B > 1)", "(first && b == 0)", SWIGLU_TURNS, 1.0),
    "up": (": N + group * OUTPUTS", ": group * OUTPUTS", SWIGLU_TURNS, 1.0),
    "gate": ("fast_silu(value) * sums", "value * sums", SWIGLU_TURNS, 1.0),
    "residual": ("before + value", "value", Product(264, 5, 0, ADD), 1.0),
    "residual of another turn": (
        "residual(result, group)",
        "residual(result, 0)",
        ADD_TURNS,
        1.0,
    ),
    "wait": ("cp_async_wait<TURNS - 1>", "cp_async_wait<TURNS>", SWIGLU_TURNS, 1.0),
    "next turn": ("weight, group + TURNS * warps)", "weight, group + warps)", LONG_ROWS, 1.0),
    "slot": ("turn = turn + 1 < TURNS ? turn + 1 : 0", "turn = 0", LONG_ROWS, 1.0),
    "staged part": ("v < STAGED) {", "v <= STAGED) {", LONG_ROWS, 1.0),
    "end of the row": ("% WARP < K / 8;", "% WARP < 64;", Product(264, 5), 1.0),
    "past the last output": ("lane == r && n < N", "lane == r", Product(264, 5), 1.0),
}


@pytest.mark.emulation
@pytest.mark.parametrize(("old", "new", "product", "scale"), FAULTS.values(), ids=FAULTS)
def test_planted_fault_is_seen(old, new, product, scale):
    source = plant(old, new)
    check(product, 2, blocks=1, scale=scale, orders=(0,))
    with pytest.raises(AssertionError):
        check(product, 2, blocks=1, scale=scale, orders=(0,), source=source)


@pytest.mark.emulation
def test_weights_read_past_the_last_row_are_seen():
    source = plant("row < ALL ? row : ALL - 1", "row")
    with pytest.raises(SanitizerError):
        check(Product(264, 5), 1, sanitize=True, source=source)
