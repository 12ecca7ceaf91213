"""The pieces of the NumPy model against float64 restatements and their own invariants."""

import numpy as np
import pytest

from engine.cpu import model
from engine.cpu.kv_cache import KvCache
from engine.cpu.matrices import Bf16Matrix, Float32Matrix
from engine.models.host_tensor import bf16_to_float32, to_bf16

random = np.random.default_rng(11)


def f32(*shape):
    return random.standard_normal(shape, np.float32)


def test_rms_norm_equals_float64():
    x, weight = f32(5, 64) * 30, f32(64)
    exact = x.astype(np.float64)
    exact = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(model.rms_norm(x, weight, 1e-6), exact, rtol=1e-5, atol=1e-6)


def test_rms_norm_of_tiny_values_is_governed_by_eps():
    x = np.full((1, 4), 1e-6, np.float32)
    found = model.rms_norm(x, np.ones(4, np.float32), 1e-6)
    np.testing.assert_allclose(found, 1e-6 / np.sqrt(1e-12 + 1e-6), rtol=1e-5)


@pytest.mark.parametrize("position", [0, 1, 32767, 40959])
def test_the_rope_table_is_exact_at_far_positions(position):
    cos, sin = model.rope_table(40960, 128, 1e6)
    for pair in (0, 1, 31, 63):
        angle = position * 1e6 ** (-2 * pair / 128)
        assert cos[position, pair] == pytest.approx(np.cos(angle), abs=1e-7)
        assert sin[position, pair] == pytest.approx(np.sin(angle), abs=1e-7)


def test_rotation_pairs_the_halves_not_the_neighbours():
    x = np.zeros((1, 1, 8), np.float32)
    x[0, 0, 1] = 1
    quarter = np.float32(np.pi / 2)
    cos, sin = np.full((1, 4), np.cos(quarter)), np.full((1, 4), np.sin(quarter))
    turned = model.rotate(x, cos.astype(np.float32), sin.astype(np.float32))
    np.testing.assert_allclose(turned[0, 0], np.eye(8)[5], atol=1e-7)


def test_rotated_products_depend_on_the_distance_alone():
    cos, sin = model.rope_table(200, 16, 1e4)
    q, k = f32(1, 1, 16), f32(1, 1, 16)

    def product(at_q, at_k):
        rotated_q = model.rotate(q, cos[[at_q]], sin[[at_q]])
        return float((rotated_q * model.rotate(k, cos[[at_k]], sin[[at_k]])).sum())

    assert product(30, 10) == pytest.approx(product(150, 130), abs=1e-4)
    assert product(30, 10) != pytest.approx(product(30, 11), abs=1e-3)


def exact_attention(q, keys, values):
    """One query row and head at a time, in float64."""
    new, heads, head_dim = q.shape
    kv_heads, positions, _ = keys.shape
    out = np.zeros(q.shape)
    for t in range(new):
        visible = positions - new + t + 1
        for h in range(heads):
            kv = h // (heads // kv_heads)
            scores = keys[kv, :visible].astype(np.float64) @ q[t, h] / np.sqrt(head_dim)
            probs = np.exp(scores - scores.max())
            out[t, h] = probs / probs.sum() @ values[kv, :visible]
    return out


@pytest.mark.parametrize(("new", "positions"), [(1, 1), (1, 37), (5, 5), (7, 37)])
def test_attention_equals_float64(new, positions):
    q, keys, values = f32(new, 6, 16) * 3, f32(2, positions, 16), f32(2, positions, 16)
    found = model.attention(q, keys, values)
    np.testing.assert_allclose(found, exact_attention(q, keys, values), atol=2e-6)


def test_attention_in_row_blocks_changes_nothing(monkeypatch):
    q, keys, values = f32(9, 6, 16), f32(2, 30, 16), f32(2, 30, 16)
    whole = model.attention(q, keys, values)
    monkeypatch.setattr(model, "CPU_SCORES_VALUES", 6 * 30 * 4)
    np.testing.assert_allclose(model.attention(q, keys, values), whole, atol=1e-6)


def test_silu_is_silent_for_large_negative_numbers():
    x = np.array([-200, -1, 0, 1, 200], np.float32)
    np.testing.assert_allclose(model.silu(x), [0, -0.26894142, 0, 0.73105858, 200], atol=1e-6)


def test_a_cache_refuses_what_does_not_fit():
    cache = KvCache(1, 2, 4, 8)
    cache.append(0, f32(3, 2, 8), f32(3, 2, 8))
    cache.advance(3)
    with pytest.raises(IndexError, match="5 positions"):
        cache.append(0, f32(2, 2, 8), f32(2, 2, 8))
    assert cache.length == 3


def test_truncating_never_lengthens():
    cache = KvCache(1, 1, 4, 2)
    cache.advance(2)
    cache.truncate(3)
    assert cache.length == 2


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 3, 4, 5, 40])
def test_bf16_products_equal_float32_products(rows, monkeypatch):
    pytest.importorskip("numba", reason="the extra [cpu] is not installed")
    monkeypatch.setattr("engine.cpu.matrices.CPU_MATRIX_BLOCK_VALUES", 1000)
    bits = to_bf16(f32(257, 130))
    x = f32(rows, 130)
    exact = x.astype(np.float64) @ bf16_to_float32(bits).astype(np.float64).T
    for matrix in (Bf16Matrix(bits), Float32Matrix(bf16_to_float32(bits))):
        np.testing.assert_allclose(matrix.product(x), exact, atol=5e-5)


@pytest.mark.slow
def test_bf16_products_let_nan_and_infinity_through():
    pytest.importorskip("numba", reason="the extra [cpu] is not installed")
    weight = np.zeros((3, 64), np.float32)
    weight[1, 5], weight[2, 6] = np.nan, np.inf
    found = Bf16Matrix(to_bf16(weight)).product(np.ones((1, 64), np.float32))[0]
    assert found[0] == 0
    assert np.isnan(found[1])
    assert np.isinf(found[2])


def test_rows_of_both_kinds_are_the_embedding():
    bits = to_bf16(f32(10, 6))
    indices = np.array([3, 0, 3])
    expected = bf16_to_float32(bits)[[3, 0, 3]]
    np.testing.assert_array_equal(Float32Matrix(bf16_to_float32(bits)).rows(indices), expected)
