"""The sampler kernels behind the calls of `engine.cpu.sampler.Sampler`, on the emulation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.api import Detail, SamplingParams
from tests.kernels.emulation import Sizes, load_kernels

_FLOATS = ("temperature", "top_p", "min_p", "presence", "frequency", "repetition")
_FIELDS = ("temperature", "top_k", "top_p", "min_p", *_FLOATS[3:], "detail")
SLOT_STATE = np.dtype(
    [
        *[(name, "<f4" if name in _FLOATS else "<i4") for name in _FIELDS],
        ("seed", "<u8"),
        *[(name, "<i4") for name in ("index", "length", "capacity", "stopped", "stop_count")],
        ("stop_ids", "<i4", (8,)),
        ("pending", "<i4"),
    ]
)
TOKEN_RECORD = np.dtype(
    [
        ("token_id", "<i4"),
        ("logprob", "<f4"),
        ("rank", "<i4"),
        ("stopped", "<i4"),
        ("alternative_ids", "<i4", (10,)),
        ("alternative_logprobs", "<f4", (10,)),
    ]
)
LIVE, BY_TOKEN, BY_CAPACITY, BY_NAN = range(4)
_IN_PROMPT = np.uint32(1 << 31)


class DeviceSampler:
    """State of `slots` sequences; scratch starts as 0xFF bytes, so nothing may rely on it."""

    def __init__(self, vocab: int, slots: int = 1, record_capacity: int = 8) -> None:
        sizes = Sizes(V=vocab)
        self._scores_kernels = load_kernels("sample_scores.cu", sizes)
        self._draw_kernels = load_kernels("sample_draw.cu", sizes)
        self._top_k_kernels = load_kernels("sample_top_k.cu", sizes)
        self.vocab, self.record_capacity = vocab, record_capacity
        self.states = np.zeros(slots, SLOT_STATE)
        self.records = np.zeros((slots, record_capacity), TOKEN_RECORD)
        self.occurrences = np.zeros((slots, vocab), np.uint32)
        for slot in range(slots):
            self.set(slot, SamplingParams(), 0)

    def set(
        self,
        slot: int,
        sampling: SamplingParams,
        seed: int,
        prompt: Sequence[int] = (),
        generated: Sequence[int] = (),
        detail: Detail = Detail.NONE,
        stop_ids: Sequence[int] = (),
        capacity: int = 1000,
    ) -> None:
        """Set the whole state of a slot."""
        state = self.states[slot]
        for field in ("temperature", "top_k", "top_p", "min_p"):
            state[field] = getattr(sampling, field)
        for field in ("presence", "frequency", "repetition"):
            state[field] = getattr(sampling, f"{field}_penalty")
        state["detail"] = [Detail.NONE, Detail.LOGPROB, Detail.ALTERNATIVES].index(detail)
        state["seed"], state["index"], state["capacity"] = seed, len(generated), capacity
        state["stopped"], state["stop_count"] = LIVE, len(stop_ids)
        state["stop_ids"][: len(stop_ids)] = stop_ids
        counts = np.bincount(np.asarray(generated, np.int64), minlength=self.vocab)
        self.occurrences[slot] = counts
        self.occurrences[slot][np.asarray(prompt, np.int64)] |= _IN_PROMPT

    def step(
        self,
        logits: NDArray[np.float32],
        slots: Sequence[int],
        positions: Sequence[int],
        **options: object,
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Run the kernels on `logits` [B, V]; returns token_ids and positions, [B] each.

        Where every row keeps few ids, the short kernel draws as well, from the same state, and must
        leave the same.
        """
        rows, vocab = logits.shape
        chunks = -(-vocab // 1024)
        scratch = {
            "scores": np.full((rows, vocab), np.nan, np.float32),
            "chunks": np.full((rows, chunks, 128), 0xFF, np.uint8),
            "masses": np.full((rows, 2048), 2**64 - 1, np.uint64),
            "counts": np.full((rows, 2048), 2**32 - 1, np.uint32),
            "candidates": np.full((rows, 32, -(-vocab // 4096) * 128), -1, np.int32),
        }
        scores, chunk, masses, counts, candidates = scratch.values()
        token_ids = np.full(rows, -7, np.int32)
        place = np.array(positions, np.int32)
        row_slots = np.array(slots, np.int32)
        grid = (chunks, rows)
        states, records = self.states.view(np.uint8), self.records.view(np.uint8)
        self._scores_kernels.launch(
            "sample_scores",
            grid,
            (256,),
            [scores, chunk, masses, counts, logits, states, self.occurrences, row_slots],
            **options,
        )
        short = None
        if self._keeps_few(slots):
            written = (states, records, token_ids, place, self.occurrences)
            short = self._step_top_k(written, (scores, chunk, logits, row_slots), rows, options)
        self._scores_kernels.launch(
            "sample_histogram",
            grid,
            (256,),
            [masses, counts, scores, chunk, logits, states, row_slots],
            **options,
        )
        args = [states, records, token_ids, place, self.occurrences, candidates, scores, chunk]
        args += [masses, counts, logits, row_slots, np.int32(self.record_capacity)]
        self._draw_kernels.launch("sample_draw", (rows,), (1024,), args, **options)
        if short is not None:
            for name, found, expected in zip(
                ("states", "records", "token_ids", "positions", "occurrences"),
                short,
                (states, records, token_ids, place, self.occurrences),
                strict=True,
            ):
                np.testing.assert_array_equal(found, expected, f"sample_top_k: {name}")
        return token_ids, place

    def _keeps_few(self, slots: Sequence[int]) -> bool:
        states = self.states[list(slots)]
        few = (states["top_k"] > 0) & (states["top_k"] <= 64)
        return bool(((few | (states["temperature"] < 1e-6)) & (states["detail"] == 0)).all())

    def _step_top_k(
        self,
        written: tuple[np.ndarray, ...],
        read: tuple[np.ndarray, ...],
        rows: int,
        options: dict[str, object],
    ) -> tuple[np.ndarray, ...]:
        """What sample_top_k.cu leaves of copies of the arrays that it writes."""
        copies = tuple(array.copy() for array in written)
        args = [*copies, *read, np.int32(self.record_capacity)]
        self._top_k_kernels.launch("sample_top_k", (rows,), (1024,), args, **options)
        return copies

    def draw(self, logits: Sequence[float] | NDArray[np.float32], **options: object) -> int:
        """Draw one token of slot 0."""
        self.states[0]["stopped"] = LIVE
        row = np.array(logits, np.float32)[None]
        token_ids, _ = self.step(row, [0], [0], **options)
        return int(token_ids[0])
