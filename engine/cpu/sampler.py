"""How the next token is drawn: the rules that `kernels/sample_*.cu` follow step by step.

Input: the raw logits of one position, float32 [V]; the sampler state of the slot: a flag per token
id "stands in the prompt or in the reply", a count per id "times generated in this reply" (thinking
included, prompt excluded), `index` = number of tokens generated so far, and the parameters as
float32. Every step is float32, rounded to nearest after each operation (no fused multiply-add, no
fast-math), unless another type is named.

1. Check. Any logit that is NaN or infinite: NumericalError, nothing is drawn.
2. Penalties, on a copy called `scores`, for each id:
   a. repetition, if the flag is set: `s = s * r if s < 0 else s / r` (as in Hugging Face);
   b. if count > 0: `s = s - frequency * float32(count)`, then `s = s - presence`.
3. Greedy. If temperature < 1e-6: the id with the largest score, the lowest id among equals. End.
4. Rank the ids by (score descending, id ascending).
5. Temperature. `d = (s - s_max) / temperature`, `w = exp(d)`; so the best token has w = 1.
   (The maximum goes off before the division, so that a tiny temperature cannot overflow.)
   `mass = uint64(round_half_even(w * 2^40))`. Masses are integers so that sums do not depend on
   the order of addition: a parallel scan gives the same bits as a loop. The sum of all stays below
   2^58. A mass of 0 cannot be drawn.
6. Top-k, if top_k > 0: keep the ids of rank < top_k. (Where the k-th score occurs twice Hugging
   Face keeps both; here exactly k stay, the lowest ids.)
7. Top-p, if top_p < 1: with `total` = sum of the masses kept so far, keep an id if the sum of the
   masses of kept ids of smaller rank is less than `float64(top_p) * float64(total)`, compared as
   float64. So the id that crosses top_p stays, and rank 0 always stays.
8. Min-p, if min_p > 0: keep an id if `w >= min_p` (w is the probability over the largest one).
9. Draw. `bits` = the upper 24 bits of word 0 of Philox4x32-10 with key = (seed low 32 bits, seed
   high 32 bits) and counter = (index low, index high, 0, 0). With `total` = sum of the kept masses,
   `target = uint64(float64(bits) * 2^-24 * float64(total))`, truncated. In the order of token ids,
   the first kept id at which the running sum of kept masses is greater than `target` is drawn.
10. Record. count[id] += 1, its flag is set, index += 1.

Detail (logprob, rank, alternatives) is of the raw logits, before step 2: logprob = logit - log of
the sum of exp in nat; rank = number of ids with a larger logit, or an equal one and a lower id;
alternatives = the ALTERNATIVES best ids in rank order, among them the drawn one if it is so good.

Two devices differ in step 5 by the last bits of `exp` alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.api import Detail, SamplingParams
from engine.backend import SampledToken
from engine.errors import NumericalError

ALTERNATIVES = 10
"""How many alternatives are reported with `Detail.ALTERNATIVES`."""

GREEDY_BELOW = np.float32(1e-6)
"""Temperatures below this are greedy."""

MASS_SCALE = np.float32(2.0**40)

_WORD = 0xFFFFFFFF


def philox4x32_10(key: int, counter: int) -> tuple[int, int, int, int]:
    """Four random 32-bit words of Philox4x32 with 10 rounds.

    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; the same numbers
    as cuRAND's and Random123's philox4x32. `key` has 64 bits, `counter` 128.
    """
    k0, k1 = key & _WORD, (key >> 32) & _WORD
    c0, c1, c2, c3 = ((counter >> shift) & _WORD for shift in (0, 32, 64, 96))
    for _ in range(10):
        product0 = 0xD2511F53 * c0
        product1 = 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (
            (product1 >> 32) ^ c1 ^ k0,
            product1 & _WORD,
            (product0 >> 32) ^ c3 ^ k1,
            product0 & _WORD,
        )
        k0, k1 = (k0 + 0x9E3779B9) & _WORD, (k1 + 0xBB67AE85) & _WORD
    return c0, c1, c2, c3


def random_bits24(seed: int, index: int) -> int:
    """24 random bits for the token number `index` of a reply (step 9)."""
    return philox4x32_10(seed, index)[0] >> 8


@dataclass(slots=True)
class _Parameters:
    """The parameters of `SamplingParams`, rounded to float32 as the device holds them."""

    temperature: np.float32
    top_k: int
    top_p: np.float32
    min_p: np.float32
    presence: np.float32
    frequency: np.float32
    repetition: np.float32


class Sampler:
    """The sampler state of one slot and the drawing itself."""

    def __init__(self, vocab_size: int) -> None:
        self._seen: NDArray[np.bool_] = np.zeros(vocab_size, np.bool_)
        self._counts: NDArray[np.int32] = np.zeros(vocab_size, np.int32)
        self.set(SamplingParams(), 0, (), (), Detail.NONE)

    def set(
        self,
        sampling: SamplingParams,
        seed: int,
        prompt_token_ids: Sequence[int],
        generated_token_ids: Sequence[int],
        detail: Detail,
    ) -> None:
        """Set the whole state; calling it twice is the same as once."""
        self._parameters = _Parameters(
            temperature=np.float32(sampling.temperature),
            top_k=sampling.top_k,
            top_p=np.float32(sampling.top_p),
            min_p=np.float32(sampling.min_p),
            presence=np.float32(sampling.presence_penalty),
            frequency=np.float32(sampling.frequency_penalty),
            repetition=np.float32(sampling.repetition_penalty),
        )
        self._seed = seed
        self._detail = detail
        self._index = len(generated_token_ids)
        generated = np.asarray(generated_token_ids, np.int64)
        self._counts[:] = np.bincount(generated, minlength=self._counts.size)
        self._seen[:] = self._counts > 0
        self._seen[np.asarray(prompt_token_ids, np.int64)] = True

    def draw(self, logits: NDArray[np.float32]) -> SampledToken:
        """Draw the next token from `logits` [V] float32 and record it.

        Raises:
            NumericalError: a logit is NaN or infinite; nothing is recorded.
        """
        if not np.isfinite(logits).all():
            raise NumericalError(f"the logits of generated token {self._index}")
        scores = self._penalized(logits)
        if self._parameters.temperature < GREEDY_BELOW:
            token_id = int(np.argmax(scores))  # the first of equals, so the lowest id
        else:
            ids, masses = self.kept_masses(scores)
            token_id = _pick(ids, masses, random_bits24(self._seed, self._index))
        self._counts[token_id] += 1
        self._seen[token_id] = True
        self._index += 1
        return describe_token(logits, token_id, self._detail)

    def _penalized(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Step 2; returns `logits` itself where no penalty is set."""
        p = self._parameters
        if p.repetition == 1 and p.presence == 0 and p.frequency == 0:
            return logits
        scores = logits.copy()
        seen = np.flatnonzero(self._seen)
        old = scores[seen]
        scores[seen] = np.where(old < 0, old * p.repetition, old / p.repetition)
        generated = np.flatnonzero(self._counts)
        scores[generated] -= p.frequency * self._counts[generated].astype(np.float32)
        scores[generated] -= p.presence
        return scores

    def kept_masses(
        self, scores: NDArray[np.float32]
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Steps 4 to 8: the ids that may be drawn, ascending, and their masses."""
        p = self._parameters
        if 0 < p.top_k < scores.size:
            # Step 6 first, but for ties: what is not among the best needs no mass.
            kth = np.partition(scores, scores.size - p.top_k)[scores.size - p.top_k]
            ids = np.flatnonzero(scores >= kth)
        else:
            ids = np.arange(scores.size)
        weights = np.exp((scores[ids] - scores.max()) / p.temperature)
        masses = np.rint(weights * MASS_SCALE).astype(np.uint64)
        # Ids without mass can neither be drawn nor change a sum: they need no rank.
        kept = np.flatnonzero(masses)
        if 0 < p.top_k < kept.size or p.top_p < 1:
            # Stable, and ids ascend: so equal scores keep the lower id first.
            kept = kept[np.argsort(-scores[ids[kept]], kind="stable")]
            if p.top_k > 0:
                kept = kept[: p.top_k]
        if p.top_p < 1:
            sums = np.cumsum(masses[kept])
            before = (sums - masses[kept]).astype(np.float64)
            kept = kept[before < np.float64(p.top_p) * np.float64(sums[-1])]
        if p.min_p > 0:
            kept = kept[weights[kept] >= p.min_p]
        kept.sort()
        return ids[kept], masses[kept]


def _pick(ids: NDArray[np.int64], masses: NDArray[np.uint64], bits: int) -> int:
    """Step 9: the inverse of the cumulative distribution, in the order of ids."""
    sums = np.cumsum(masses)
    target = np.uint64(float(bits) * 2.0**-24 * float(sums[-1]))
    return int(ids[np.searchsorted(sums, target, side="right")])


def describe_token(logits: NDArray[np.float32], token_id: int, detail: Detail) -> SampledToken:
    """The token with as much data of the raw `logits` [V] as `detail` asks for."""
    if detail is Detail.NONE:
        return SampledToken(token_id)
    highest = float(logits.max())
    log_sum = highest + float(np.log(np.exp(logits.astype(np.float64) - highest).sum()))
    own = logits[token_id]
    rank = int((logits > own).sum()) + int((logits[:token_id] == own).sum())
    alternatives: tuple[tuple[int, float], ...] = ()
    if detail is Detail.ALTERNATIVES:
        count = min(ALTERNATIVES, logits.size)
        kth = np.partition(logits, logits.size - count)[logits.size - count]
        best = np.flatnonzero(logits >= kth)
        best = best[np.argsort(-logits[best], kind="stable")][:count]
        alternatives = tuple((int(i), float(logits[i]) - log_sum) for i in best)
    return SampledToken(token_id, float(own) - log_sum, rank, alternatives)
