"""Runs the CUDA backend over given tokens, by each of its paths, and collects what it computed."""

from __future__ import annotations

import numpy as np
import torch

from engine.api import Detail, GenerationControl, SamplingParams
from engine.cuda.cuda_backend import CudaBackend
from engine.models.model_files import ModelFiles
from tests.gpu.accuracy import Outputs


def loaded_backend(files: ModelFiles, capacity_tokens: int = 1024, **options: bool) -> CudaBackend:
    backend = CudaBackend(files, capacity_tokens, 1, **options)
    for _ in backend.load(GenerationControl()):
        pass
    return backend


class _Collector:
    """A DumpSink that keeps hidden states after each layer and the logits, on the GPU."""

    def __init__(self, num_layers: int) -> None:
        self.hidden: list[list[torch.Tensor]] = [[] for _ in range(num_layers)]
        self.logits: list[torch.Tensor] = []

    def __call__(self, name: str, value: np.ndarray) -> None:
        if name == "logits":
            self.logits.append(torch.from_numpy(value).cuda())
        elif name != "hidden.norm" and (index := int(name.removeprefix("hidden."))) > 0:
            self.hidden[index - 1].append(torch.from_numpy(value).cuda())

    def outputs(self) -> Outputs:
        return Outputs([torch.cat(pieces) for pieces in self.hidden], torch.cat(self.logits))


def prefill_outputs(backend: CudaBackend, sequences: torch.Tensor, num_layers: int) -> Outputs:
    """Each sequence in one prefill call."""
    collector = _Collector(num_layers)
    for row in sequences.tolist():
        backend.truncate(0, 0)
        backend.prefill(0, row, False, collector)
    return collector.outputs()


def decode_outputs(backend: CudaBackend, sequences: torch.Tensor, num_layers: int) -> Outputs:
    """Each token by the kernels of a decode step, launched one by one."""
    collector = _Collector(num_layers)
    graph = backend._decode
    rows = (graph.row_token_ids, graph.row_positions, graph.row_slots)
    with backend._on_device(), backend._stream:
        for row in sequences.tolist():
            for position, token_id in enumerate(row):
                graph.set_rows([0], [token_id], [position])
                graph.step.run(*rows, 1, collector)
    return collector.outputs()


def decode_logits(backend: CudaBackend, row: list[int], *, by_graph: bool) -> list[np.ndarray]:
    """Logits after each token of `row`, by replays of the graph or by single launches."""
    graph, forward = backend._decode, backend._forward
    logits = []
    with backend._on_device(), backend._stream:
        graph.use_graph = True
        graph.prepare(1, backend._stream, few=True)
        graph.use_graph = by_graph
        backend._sampler.set(0, SamplingParams(temperature=0.0), 0, (), (), Detail.NONE)
        for position, token_id in enumerate(row):
            backend._sampler.arm(0, position, forward.slot_capacity, ())
            graph.set_rows([0], [token_id], [position])
            graph.run(1, 1, backend._stream, few=True)
            backend._stream.synchronize()
            logits.append(forward.logits[0].get())
        graph.use_graph = True
    return logits
