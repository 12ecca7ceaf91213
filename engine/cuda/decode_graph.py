"""One decode step as a CUDA graph: forward pass and sampling, replayed for every token.

All that changes from step to step (tokens, positions, sampler state) lies in device memory, so one
graph per number of rows serves every step, and the host can enqueue a whole run without waiting.

Where a driver refuses to capture, the same kernels are launched one by one, with the same results.
"""

from __future__ import annotations

import logging
from typing import Any

import cupy
import numpy as np

from engine.cuda.decode_step import DecodeStep
from engine.cuda.device import CUDA_ERRORS
from engine.cuda.graph_launch import launch_graph
from engine.cuda.memory_block import DeviceArray, MemoryBlock
from engine.cuda.sampler import DeviceSampler

STEPS_PER_GRAPH = 8
"""Steps of the larger of two graphs: fewer launches, and no gap between its steps."""

_REFUSALS = (cupy.cuda.memory.OutOfMemoryError, *CUDA_ERRORS)

_log = logging.getLogger(__name__)


class DecodeGraph:
    """The decode step of one model; `use_graph` False launches its kernels one by one.

    `refused` says that a capture failed; `use_graph` is False from then on.
    """

    def __init__(
        self,
        step: DecodeStep,
        logits: DeviceArray,
        sampler: DeviceSampler,
        block: MemoryBlock,
        max_sequences: int,
        *,
        use_graph: bool = True,
    ) -> None:
        def rows(name: str) -> DeviceArray:
            return block.array(f"workspace.{name}", (max_sequences,), np.int32)

        self.step = step
        self._logits = logits
        self._sampler = sampler
        self._graphs: dict[tuple[int, bool], tuple[Any, Any]] = {}
        self._prepared: set[tuple[int, bool]] = set()
        self.use_graph = use_graph
        self.refused = False
        self.row_token_ids = rows("row_token_ids")
        self.row_positions = rows("row_positions")
        self.row_slots = rows("row_slots")

    def set_rows(self, slots: list[int], token_ids: list[int], positions: list[int]) -> None:
        """Say which slot each row stands for, its next input token and that token's position."""
        for array, values in (
            (self.row_slots, slots),
            (self.row_token_ids, token_ids),
            (self.row_positions, positions),
        ):
            array[: len(values)].set(np.asarray(values, np.int32))

    def run(self, rows: int, steps: int, stream: Any, *, few: bool) -> None:  # noqa: ANN401
        """Enqueue `steps` decode steps of `rows` rows on a cupy.cuda.Stream; does not wait.

        `few` says that every slot keeps few ids (`DeviceSampler.keeps_few`).
        """
        if self.use_graph:
            one, several = self._graphs[rows, few]
            launch_graph(several, stream, steps // STEPS_PER_GRAPH)
            launch_graph(one, stream, steps % STEPS_PER_GRAPH)
            return
        for _ in range(steps):
            self._step(rows, few)

    def prepare(self, rows: int, stream: Any, *, few: bool) -> None:  # noqa: ANN401
        """Make the graphs for so many rows, once; overwrites `set_rows`, changes no slot.

        The first, eager step of idle rows compiles and loads all kernels, which must not happen
        while a graph is captured; without a graph it is all that is done.
        """
        if (rows, few) in self._prepared:
            return
        self.set_rows([0] * rows, [0] * rows, [-1] * rows)
        self._sampler.stop_all()
        self._step(rows, few)
        stream.synchronize()
        if self.use_graph:
            self._capture_both(rows, stream, few)
        self._prepared.add((rows, few))

    def _capture_both(self, rows: int, stream: Any, few: bool) -> None:  # noqa: ANN401
        try:
            one = self._capture(rows, stream, few, 1)
            self._graphs[rows, few] = one, self._capture(rows, stream, few, STEPS_PER_GRAPH)
        except _REFUSALS as error:
            # A sticky error is raised again here; after any other the device works on.
            stream.synchronize()
            self.use_graph, self.refused = False, True
            self._graphs.clear()
            _log.warning(
                "the GPU cannot replay its work as a graph here (%s); answers come a little slower",
                str(error) or type(error).__name__,
            )

    def _capture(self, rows: int, stream: Any, few: bool, steps: int) -> Any:  # noqa: ANN401
        stream.begin_capture()
        try:
            for _ in range(steps):
                self._step(rows, few)
        finally:
            graph = stream.end_capture()
        graph.upload(stream)
        return graph

    def _step(self, rows: int, few: bool) -> None:
        self.step.run(self.row_token_ids, self.row_positions, self.row_slots, rows)
        self._sampler.sample(
            self._logits,
            self.row_token_ids,
            self.row_positions,
            self.row_slots,
            rows,
            few=few,
        )
