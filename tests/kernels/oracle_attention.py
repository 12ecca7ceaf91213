"""Float64 references and paged inputs for the matrix product and attention kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.kernels.emulation import Sizes, from_bf16, to_bf16

PAGE_TOKENS = 64
NAN_BF16 = np.uint16(0x7FC1)
# Half the distance of two bfloat16 values, relative: the error of one rounding.
BF16_ROUNDING = 2.0**-9
FP32_ROUNDING = 2.0**-24


def product(x: NDArray[np.uint16], weight: NDArray[np.uint16]) -> NDArray[np.float64]:
    """`x @ weight.T` of bfloat16 bits `[T, K]` and `[N, K]`, `[T, N]`."""
    return from_bf16(x).astype(np.float64) @ from_bf16(weight).astype(np.float64).T


def product_tolerance(x: NDArray[np.uint16], weight: NDArray[np.uint16]) -> NDArray[np.float64]:
    """Largest possible error of an fp32 sum of the K exact products, in any order, `[T, N]`.

    K - 1 additions each round their result, at most the sum of all magnitudes, once; one more
    addition joins the old value of `out`.
    """
    magnitude = np.abs(from_bf16(x)).astype(np.float64) @ np.abs(from_bf16(weight)).astype(float).T
    return (x.shape[1] + 1) * FP32_ROUNDING * (magnitude + 1.0)


@dataclass(frozen=True)
class PagedCache:
    """Keys and values of some sequences in shuffled pages; every unused row is NaN."""

    k_pool: NDArray[np.uint16]  # [pages, NKV, 64, HD]
    v_pool: NDArray[np.uint16]
    block_table: NDArray[np.int32]  # [slots, max_pages]; unused entries name a page of NaN
    keys: list[NDArray[np.float64]]  # per slot [S, NKV, HD]
    values: list[NDArray[np.float64]]


def paged_cache(sizes: Sizes, lengths: list[int], seed: int) -> PagedCache:
    """A cache with `lengths[slot]` positions in each slot, in pages of random order."""
    random = np.random.default_rng(seed)
    needed = [-(-length // PAGE_TOKENS) for length in lengths]
    max_pages = max(needed) + 1
    pages = sum(needed) + 1
    shape = (pages, sizes.NKV, PAGE_TOKENS, sizes.HD)
    k_pool = np.full(shape, NAN_BF16)
    v_pool = np.full(shape, NAN_BF16)
    order = list(random.permutation(pages))
    unused = order.pop()
    block_table = np.full((len(lengths), max_pages), unused, np.int32)
    keys: list[NDArray[np.float64]] = []
    values: list[NDArray[np.float64]] = []
    for slot, length in enumerate(lengths):
        row_shape = (length, sizes.NKV, sizes.HD)
        k = to_bf16(random.standard_normal(row_shape))
        v = to_bf16(random.standard_normal(row_shape))
        for page in range(needed[slot]):
            block_table[slot, page] = order.pop()
            rows = slice(page * PAGE_TOKENS, min(length, (page + 1) * PAGE_TOKENS))
            count = rows.stop - rows.start
            place = block_table[slot, page]
            k_pool[place, :, :count] = k[rows].transpose(1, 0, 2)
            v_pool[place, :, :count] = v[rows].transpose(1, 0, 2)
        keys.append(from_bf16(k).astype(np.float64))
        values.append(from_bf16(v).astype(np.float64))
    return PagedCache(k_pool, v_pool, block_table, keys, values)


def attention(
    q: NDArray[np.uint16],
    keys: NDArray[np.float64],
    values: NDArray[np.float64],
    positions: NDArray[np.int_],
) -> NDArray[np.float64]:
    """`attention_of_values` of `q` in bfloat16 bits."""
    return attention_of_values(from_bf16(q).astype(np.float64), keys, values, positions)


def attention_of_values(
    q: NDArray[np.float64],
    keys: NDArray[np.float64],
    values: NDArray[np.float64],
    positions: NDArray[np.int_],
) -> NDArray[np.float64]:
    """Causal attention `[T, NH, HD]` of `q` over `keys` and `values` `[S, NKV, HD]`.

    Row t sees the positions up to and including `positions[t]`.
    """
    rows, heads, head_dim = q.shape
    group = heads // keys.shape[1]
    q64 = q / np.sqrt(head_dim)
    out = np.empty((rows, heads, head_dim))
    for head in range(heads):
        scores = q64[:, head] @ keys[:, head // group].T
        scores[np.arange(len(keys))[None, :] > positions[:, None]] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        out[:, head] = weights @ values[:, head // group]
    return out


def attention_tolerance(values: NDArray[np.float64], rounded_weights: bool) -> float:
    """Largest error of one output: its own rounding to bfloat16, and that of the weights.

    Each is at most 2^-9 of the largest |v|; an eighth of that is left for fp32 sums and
    exponentials.
    """
    largest = float(np.abs(values).max())
    return (2.125 if rounded_weights else 1.125) * BF16_ROUNDING * largest
