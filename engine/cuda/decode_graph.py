"""One decode step as a CUDA graph: forward pass and sampling, replayed for every token.

All that changes from step to step (tokens, positions, sampler state) lies in device memory, so one
graph per number of rows serves every step, and the host can enqueue a whole run without waiting.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.cuda.decode_step import DecodeStep
from engine.cuda.graph_launch import launch_graph
from engine.cuda.memory_block import DeviceArray, MemoryBlock
from engine.cuda.sampler import DeviceSampler

STEPS_PER_GRAPH = 8
"""Steps of the larger of two graphs: fewer launches, and no gap between its steps."""


class DecodeGraph:
    """The decode step of one model; `use_graph` False launches its kernels one by one."""

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
        self.use_graph = use_graph
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
        while a graph is captured.
        """
        if (rows, few) in self._graphs:
            return
        self.set_rows([0] * rows, [0] * rows, [-1] * rows)
        self._sampler.stop_all()
        self._step(rows, few)
        stream.synchronize()
        one = self._capture(rows, stream, few, 1)
        self._graphs[rows, few] = one, self._capture(rows, stream, few, STEPS_PER_GRAPH)

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
