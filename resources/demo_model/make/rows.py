"""Training rows, written by worker processes as fast as the GPU takes them.

A row holds several whole conversations. Arrays of a chunk: tokens int16 [N, L], positions int16
[N, L], marks uint8 [N, L]: twice the number of the conversation within the row (0: padding), plus 1
where the token is to be learned.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from resources.demo_model.make.conversations import training_conversation
from resources.demo_model.make.encoding import Encoder, Example

ROW_TOKENS = 384
"""Longer conversations, one in some thousands, are left out."""

_CHUNK_ROWS = 512
_AHEAD_CHUNKS = 6
"""Chunks that a worker may have waiting before it pauses."""

Chunk = tuple[NDArray[np.int16], NDArray[np.int16], NDArray[np.uint8]]


def pack_rows(examples: Iterator[Example], rows: int) -> Chunk:
    """Fill so many rows; each conversation goes to the first open row with room for it."""
    tokens = np.zeros((rows, ROW_TOKENS), np.int16)
    positions = np.zeros((rows, ROW_TOKENS), np.int16)
    marks = np.zeros((rows, ROW_TOKENS), np.uint8)
    used, counts = [0] * rows, [0] * rows
    first = 0
    for example in examples:
        length = len(example.positions)
        if length > ROW_TOKENS:
            continue
        # A row is closed once it has failed to take something while eight later ones were open.
        last = min(first + 8, rows)
        row = next((r for r in range(first, last) if used[r] + length <= ROW_TOKENS), None)
        if row is None:
            first += 1
            if first == rows:
                break
            row = min(first + 7, rows - 1)
            if used[row] + length > ROW_TOKENS:
                continue
        begin, counts[row] = used[row], counts[row] + 1
        used[row] = end = begin + length
        tokens[row, begin:end] = example.prompt + example.reply
        positions[row, begin:end] = example.positions
        marks[row, begin:end] = 2 * counts[row]
        marks[row, begin + len(example.prompt) : end] += 1
    return tokens, positions, marks


@dataclass(frozen=True, slots=True)
class Mixture:
    """What the rows are made of: how many think, and tasks that come more often than usual."""

    thinking_share: float
    emphasis: dict[str, float]


def _endless(encoder: Encoder, rng: random.Random, mixture: Mixture) -> Iterator[Example]:
    while True:
        conversations = [training_conversation(rng, mixture.emphasis) for _ in range(512)]
        yield from encoder.examples(conversations, rng, mixture.thinking_share)


def _write_chunks(
    folder: Path, model: Path, worker: int, workers: int, seed: int, mixture: Mixture
) -> None:
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    encoder = Encoder(model)
    rng = random.Random(f"{seed} {worker}")
    examples = _endless(encoder, rng, mixture)
    waiting: list[Path] = []
    for index in range(worker, 1 << 40, workers):
        tokens, positions, marks = pack_rows(examples, _CHUNK_ROWS)
        path = folder / f"{index}.npz"
        with (folder / f"{index}.part").open("wb") as file:
            np.savez(file, tokens=tokens, positions=positions, marks=marks)
        (folder / f"{index}.part").replace(path)
        waiting.append(path)
        while len(waiting) >= _AHEAD_CHUNKS:
            waiting = [written for written in waiting if written.exists()]
            if len(waiting) >= _AHEAD_CHUNKS:
                time.sleep(0.02)


class RowStream:
    """Chunks in a fixed order, from so many processes; the same for the same seed and workers."""

    def __init__(
        self, folder: Path, model: Path, workers: int, seed: int, mixture: Mixture
    ) -> None:
        self._folder = folder
        context = multiprocessing.get_context("spawn")
        self._processes = [
            context.Process(
                target=_write_chunks,
                args=(folder, model, worker, workers, seed, mixture),
                daemon=True,
            )
            for worker in range(workers)
        ]
        for process in self._processes:
            process.start()
        self._next = 0

    def take(self) -> Chunk | None:
        """The next chunk, None while it is not ready.

        Raises:
            RuntimeError: a worker has ended.
        """
        path = self._folder / f"{self._next}.npz"
        if not path.exists():
            if not all(process.is_alive() for process in self._processes):
                raise RuntimeError("a worker that writes training rows has ended")
            return None
        with np.load(path) as arrays:
            chunk = arrays["tokens"], arrays["positions"], arrays["marks"]
        path.unlink()
        self._next += 1
        return chunk

    def close(self) -> None:
        """End the workers."""
        for process in self._processes:
            process.terminate()
