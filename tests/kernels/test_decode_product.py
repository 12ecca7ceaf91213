"""decode_product.cu against float64: norm, product, and what becomes of the sums."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import pytest

from tests.kernels import oracle
from tests.kernels.checking import Guarded, assert_close
from tests.kernels.emulation import (
    EmulationError,
    SanitizerError,
    Sizes,
    from_bf16,
    load_kernels,
    to_bf16,
)
from tests.kernels.emulation.build import KERNELS

STORE, ADD, SWIGLU = 0, 1, 2
SOURCE = (KERNELS / "decode_product.cu").read_text()
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
    tiles: int = 2
    staged: int = 4
    turns: int = 1

    @property
    def outputs(self) -> int:
        """Outputs of one block in one turn."""
        return 8 * (self.tiles // 2 if self.kind == SWIGLU else self.tiles)

    def shared_bytes(self, batch: int, arch: int) -> int:
        """As the header of the file says, to the byte: the sanitizer sees an access past it."""
        steps = ceil(ceil(self.k / 32) / self.warps)
        staged = 0 if arch < 800 else min(self.staged, steps)
        row = self.warps * steps * 32 + 32
        x = batch * row * 2 * (2 if self.norm else 1)
        return self.turns * self.tiles * staged * 512 * self.warps + x

    def launch(
        self, out, inputs, *, blocks=None, batch=None, arch=900, source=None, **options
    ) -> None:
        names = ("k", "n", "norm", "kind", "warps", "tiles", "staged", "turns")
        defines = {f"PRODUCT_{name.upper()}": getattr(self, name) for name in names}
        kernels = load_kernels("decode_product.cu", arch=arch, source=source, defines=defines)
        rows = len(inputs.x)
        batch = batch or min(rows, 8)
        grid = (blocks or ceil(self.n / self.outputs),)
        args = [out, inputs.x, inputs.norm, inputs.weight, np.int32(rows), np.int32(batch)]
        options["shared_bytes"] = self.shared_bytes(batch, arch)
        kernels.launch("decode_product_bf16", grid, (32 * self.warps,), args, **options)


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
    # The norm: its own sum, a root, a division, two products; 64 eps = 2^-17 for x as two bf16.
    factor = 2 + np.sqrt(product.k) + (6 + 64) * product.norm
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


# One vector of eight; outputs that no tile divides; two turns of one block.
@pytest.mark.parametrize(
    ("product", "b", "blocks"),
    [(Product(8, 1, 0, ADD), 1, None), (Product(576, 17, 1, SWIGLU), 2, 2)],
    ids=["add", "norm-swiglu"],
)
def test_matches_float64(product, b, blocks):
    check(product, b, blocks=blocks)


@pytest.mark.emulation
@pytest.mark.parametrize("b", range(1, 9))
@pytest.mark.parametrize(("norm", "kind"), KINDS, ids=KIND_IDS)
def test_matches_float64_for_every_batch(norm, kind, b):
    check(Product(576, 35, norm, kind, turns=2), b, blocks=1, orders=(0, 2))


@pytest.mark.emulation
@pytest.mark.parametrize(("b", "batch"), [(9, 8), (5, 2), (7, 1), (3, 8)])
@pytest.mark.parametrize(("norm", "kind"), KINDS[:3], ids=KIND_IDS[:3])
def test_more_rows_than_are_multiplied_at_a_time(norm, kind, b, batch):
    check(Product(264, 35, norm, kind), b, batch=batch, blocks=2)


# One vector; a step of a warp less one vector, a step, one vector more; steps that the warps do not
# share evenly; so many that they are not unrolled whole.
@pytest.mark.emulation
@pytest.mark.parametrize("norm", [0, 1])
@pytest.mark.parametrize(
    ("k", "warps"),
    [(8, 2), (24, 1), (32, 1), (40, 1), (64, 2), (264, 4), (1032, 8), (3080, 1)],
)
def test_every_length_of_a_row(k, warps, norm):
    check(Product(k, 9, norm, STORE, warps=warps), 2, orders=(0, 2))


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("n", "tiles", "kind"),
    [
        *[(1, 1, STORE), (8, 1, ADD), (9, 2, STORE), (23, 3, ADD), (65, 4, STORE)],
        *[(1, 2, SWIGLU), (9, 2, SWIGLU), (65, 4, SWIGLU)],
    ],
)
def test_numbers_of_outputs_that_the_launch_shape_does_not_divide(n, tiles, kind):
    check(Product(72, n, 1, kind, tiles=tiles), 1)


SHAPES = {
    "nothing staged": (dict(staged=0), None),
    "more staged than there is": (dict(tiles=4, staged=99), None),
    "part staged, every tile a turn": (dict(staged=2), 1),
    "two under way": (dict(staged=1, turns=2), 2),
    "three under way": (dict(tiles=4, staged=3, turns=3), 1),
    "more under way than there are": (dict(tiles=4, staged=3, turns=4), 3),
    "more blocks than work": (dict(staged=2), 40),
}


@pytest.mark.emulation
@pytest.mark.parametrize(("cut", "blocks"), SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize(
    ("k", "norm", "kind", "arch"),
    [(576, 1, SWIGLU, 900), (1032, 0, STORE, 900), (264, 1, STORE, 750)],
)
def test_a_row_depends_neither_on_the_launch_shape_nor_on_the_batch(
    k, norm, kind, cut, blocks, arch
):
    product = Product(k, 42, norm, kind)
    inputs = inputs_of(product, 3)
    inputs.x[1, 5] = np.nan if norm else 0x7FC0  # spoils its own row only
    shaped = replace(product, **cut)
    together = result(shaped, inputs, blocks=blocks, arch=arch)
    in_parts = result(shaped, inputs, blocks=blocks, batch=2, arch=arch)
    np.testing.assert_array_equal(in_parts, together)
    for b in range(3):
        alone = result(product, inputs.row(b), arch=arch)
        np.testing.assert_array_equal(together[b], alone[0])
        of_eight = result(shaped, inputs.row(b), blocks=blocks, batch=8, arch=arch)
        np.testing.assert_array_equal(of_eight, alone)
        assert np.isnan(from_bf16(alone) if kind == SWIGLU else alone).all() == (b == 1)


@pytest.mark.emulation
@pytest.mark.parametrize("b", [1, 3])
@pytest.mark.parametrize(("norm", "kind"), KINDS[:3], ids=KIND_IDS[:3])
def test_an_architecture_without_tensor_cores_for_bf16(norm, kind, b):
    check(Product(1032, 35, norm, kind, turns=2), b, blocks=2, arch=750, orders=ORDERS)


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
@pytest.mark.parametrize("k", [576, 1032])
def test_result_does_not_depend_on_thread_order(k, turns):
    check(Product(k, 30, 1, SWIGLU, turns=turns), 2, blocks=2, orders=ORDERS)


@pytest.mark.emulation
@pytest.mark.parametrize("arch", [750, 900])
@pytest.mark.parametrize(
    "product",
    [
        Product(8, 1),
        Product(576, 19, 1, SWIGLU, turns=2),
        Product(264, 75, 0, ADD, tiles=3, turns=3),
        Product(2056, 3, 1, STORE, warps=4, staged=2),
    ],
    ids=lambda product: f"K{product.k}",
)
def test_clean_under_the_sanitizer(product, arch):
    check(product, 3, batch=2, blocks=1, arch=arch, sanitize=True)


def plant(old: str, new: str) -> str:
    assert SOURCE.count(old) == 1, f"{old!r} stands {SOURCE.count(old)} times"
    return SOURCE.replace(old, new)


NORMED = Product(576, 5, 1)
SWIGLU_TURNS = Product(576, 35, 1, SWIGLU, turns=2)
LONG_ROWS = Product(1032, 99, 0, STORE, staged=2, turns=2)
# What is replaced, by what, the product that shows it, and the scale of its input.
FAULTS = {
    "eps": (" + RMS_NORM_EPS", "", NORMED, 1e-3),
    "mean": ("(1.0f / K)", "(1.0f / (K + 1))", NORMED, 1.0),
    "norm weight": ("values[i] *= factors[i];", "", NORMED, 1.0),
    "low part": ("low = pack_8_bf16(values);", "low = make_uint4(0, 0, 0, 0);", NORMED, 1.0),
    "high part twice": ("values[i] -= factors[i];", "", NORMED, 1.0),
    "squares of one warp": ("+= partials.squares[warp]", "+= partials.squares[0]", NORMED, 1.0),
    "squares of one row": ("/ WARP][b] = squares", "/ WARP][0] = squares", NORMED, 1.0),
    "scale of up": ("(up * scale)", "up", SWIGLU_TURNS, 3.0),
    "input of the batch before": ("first_turn || B > batch", "first_b == 0", SWIGLU_TURNS, 1.0),
    "up": ("< OUTPUT_TILES ? 0 : N", "< OUTPUT_TILES ? 0 : 0", SWIGLU_TURNS, 1.0),
    "gate": ("value / (1.0f + expf(-value))", "value", SWIGLU_TURNS, 1.0),
    "residual": ("*out + value", "value", Product(264, 5, 0, ADD), 1.0),
    "wait": ("cp_async_wait<TURNS - 1>", "cp_async_wait<TURNS>", SWIGLU_TURNS, 1.0),
    "next turn": ("weight, group + TURNS * blocks)", "weight, group + blocks)", LONG_ROWS, 1.0),
    "slot": ("turn = turn + 1 < TURNS ? turn + 1 : 0", "turn = 0", LONG_ROWS, 1.0),
    "staged part": ("if (i < STAGED)", "if (i <= STAGED)", LONG_ROWS, 1.0),
    "past the last output": ("if (n < N)", "", Product(264, 5), 1.0),
    "half of the sums": ("(s[2][e] + s[3][e])", "(s[2][e] + s[2][e])", LONG_ROWS, 1.0),
}


@pytest.mark.emulation
@pytest.mark.parametrize(("old", "new", "product", "scale"), FAULTS.values(), ids=FAULTS)
def test_planted_fault_is_seen(old, new, product, scale):
    case = {"batch": 2, "blocks": 1, "scale": scale, "orders": (0,)}
    check(product, 3, **case)
    with pytest.raises(AssertionError):
        check(product, 3, source=plant(old, new), **case)


# So many that both warps write some; and the first warp multiplies x that the second has loaded.
MANY_OUTPUTS = Product(576, 70, 1, tiles=4, turns=2)
BARRIERS = [match.span() for match in re.finditer(r"__syncthreads\(\);", SOURCE)]


@pytest.mark.emulation
@pytest.mark.parametrize(("start", "end"), BARRIERS)
def test_missing_barrier_is_seen(start, end):
    source = SOURCE[:start] + SOURCE[end:]
    with pytest.raises((AssertionError, EmulationError)):
        check(MANY_OUTPUTS, 4, batch=2, blocks=1, orders=ORDERS, source=source)


@pytest.mark.emulation
@pytest.mark.parametrize(
    ("old", "new"),
    [("row < ALL ? row : ALL - 1", "row"), ("valid = place_of(i) < K", "valid = true")],
    ids=["past the last row", "past the end of a row"],
)
def test_weights_read_past_their_end_are_seen(old, new):
    with pytest.raises(SanitizerError):
        check(Product(40, 5), 1, sanitize=True, source=plant(old, new))
