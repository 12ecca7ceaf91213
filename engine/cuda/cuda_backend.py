"""`Backend` on an NVIDIA GPU: glue between device, memory, weights, forward pass and sampler."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cupy
import numpy as np

from engine.api import Detail, GenerationControl, LoadProgress, MemoryPlan, SamplingParams
from engine.backend import DumpSink, SampledToken
from engine.cuda.decode_graph import DecodeGraph
from engine.cuda.decode_step import DecodeStep
from engine.cuda.device import CUDA_ERRORS, OUT_OF_MEMORY, device_errors, find_device
from engine.cuda.forward import Forward
from engine.cuda.hopper_prefill import (
    HopperPrefill,
    hopper_kernel_sources,
    supports_hopper_prefill,
)
from engine.cuda.kernel_library import KernelLibrary
from engine.cuda.kernel_list import kernel_sources
from engine.cuda.memory_block import MemoryBlock
from engine.cuda.ops import Ops, require_kernel_sizes, rope_table
from engine.cuda.prefill_product import choose_prefill_product
from engine.cuda.sampler import DeviceSampler
from engine.cuda.self_attention import cluster_attention
from engine.cuda.token_readback import TokenReadback
from engine.cuda.weight_upload import upload_weights
from engine.errors import LoadCancelled
from engine.models.memory_plan import (
    HOPPER_CHUNK_TOKENS,
    PREFILL_CHUNK_TOKENS,
    RECORDS,
    plan_memory,
    plan_regions,
)
from engine.models.model_files import ModelFiles

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Run:
    """Decode steps that are enqueued: of which slots, and where their tokens arrive."""

    slots: tuple[int, ...]
    readback: TokenReadback


class CudaBackend:
    """One model on one GPU; every slot has `capacity_tokens // max_sequences` positions."""

    def __init__(
        self,
        files: ModelFiles,
        capacity_tokens: int,
        max_sequences: int = 1,
        kernel_cache_dir: Path | None = None,
        *,
        use_graph: bool = True,
        use_cublas: bool = True,
        use_hopper: bool = True,
        use_clusters: bool = True,
    ) -> None:
        """Find the GPU and plan; nothing is allocated before `load`.

        `use_clusters`: the self-attention of one sequence in clusters of blocks, where the GPU has
        them; otherwise, and of several sequences, in two kernels.

        Raises:
            NoCudaDevice, DriverTooOld: there is no GPU that the kernels run on.
            UnsupportedModel: the kernels lack a size of this model.
        """
        require_kernel_sizes(files.config)
        self._files = files
        self._device = find_device()
        self._capacity_tokens = capacity_tokens
        self._max_sequences = max_sequences
        self._kernel_cache_dir = kernel_cache_dir
        self._use_graph = use_graph
        self._use_cublas = use_cublas
        self._uses_hopper = use_hopper and supports_hopper_prefill(files.config, self._device)
        self._attention = cluster_attention(files.config, self._device) if use_clusters else None
        self._plan = plan_memory(files.config, capacity_tokens, "cuda", max_sequences)
        self._block: MemoryBlock | None = None
        self._device_wait_s = 0.0
        self._forget_slots()

    def _forget_slots(self) -> None:
        self._lengths = [0] * self._max_sequences
        self._pending: list[int | None] = [None] * self._max_sequences
        self._begun: _Run | None = None

    @property
    def device_name(self) -> str:
        """Name of the GPU."""
        return self._device.name

    @property
    def on_gpu(self) -> bool:
        """True."""
        return True

    @property
    def graph_refused(self) -> bool:
        """Whether a capture failed since `load`: the decode step is launched kernel by kernel."""
        return hasattr(self, "_decode") and self._decode.refused

    @property
    def capacity_tokens(self) -> int:
        """Positions that the cache holds, over all slots."""
        return self._capacity_tokens

    @property
    def max_sequences(self) -> int:
        """Number of slots."""
        return self._max_sequences

    @property
    def prefill_chunk_tokens(self) -> int:
        """Most tokens that one `prefill` call takes."""
        return HOPPER_CHUNK_TOKENS if self._uses_hopper else PREFILL_CHUNK_TOKENS

    def memory(self) -> MemoryPlan:
        """Bytes of the plan; the one allocation has exactly as many."""
        return self._plan

    @property
    def device_wait_s(self) -> float:
        """Seconds that `prefill` and `decode` have waited for the GPU."""
        return self._device_wait_s

    def load(self, control: GenerationControl) -> Iterator[LoadProgress]:
        """Allocate, upload the weights, compile the kernels and capture the decode step.

        Raises:
            NotEnoughMemory: the plan does not fit; nothing is held then.
            LoadCancelled: `control` was cancelled.
            KernelCompileError: a kernel did not compile on this GPU.
            DeviceLost: the GPU failed.
        """
        config = self._files.config
        try:
            with self._on_device():
                regions = plan_regions(config, self._capacity_tokens, self._max_sequences)
                self._block = MemoryBlock(self._device, regions)
                self._stream = cupy.cuda.Stream(non_blocking=True)
            library = KernelLibrary(config, self._kernel_cache_dir)
            several = self._max_sequences > 1
            sources = kernel_sources(config, self._attention, several=several)
            if self._uses_hopper:
                sources += hopper_kernel_sources()
            uploads = upload_weights(self._files, self._block, self._stream, control)
            with library.compiling(sources, self._device.index) as compilation:
                yield from self._each(uploads)
                for progress in self._each(compilation):
                    if control.cancelled:
                        raise LoadCancelled
                    yield progress
            with self._on_device(), self._stream:
                self._build(self._block, library)
        except BaseException:
            self.close()
            raise

    def _each(self, steps: Iterator[LoadProgress]) -> Iterator[LoadProgress]:
        while True:
            # Around each step, not around the yield: the consumer's errors are its own.
            with self._on_device():
                progress = next(steps, None)
            if progress is None:
                return
            yield progress

    def _build(self, block: MemoryBlock, library: KernelLibrary) -> None:
        config = self._files.config
        ops = Ops(config, self._device, library, attention=self._attention)
        self._forward = Forward(config, block, ops, self._capacity_tokens, self._max_sequences)
        table = self._forward.rope_table
        table.set(rope_table(config, table.shape[0]))
        pages = self._forward.block_table
        pages.set(np.arange(pages.size, dtype=np.int32).reshape(pages.shape))
        self._sampler = DeviceSampler(
            config.vocab_size, self._max_sequences, block, library, self._device
        )
        step = DecodeStep(config, ops, block, self._forward, self._max_sequences)
        self._decode = DecodeGraph(
            *(step, self._forward.logits, self._sampler, block, self._max_sequences),
            use_graph=self._use_graph,
        )
        self._prepare_decode(ops)
        self._hopper_prefill = None
        if self._uses_hopper:
            shared = (self._device, library, ops, self._forward, block)
            self._hopper_prefill = HopperPrefill(config, *shared)
        elif self._use_cublas:
            chosen = choose_prefill_product(self._forward, ops.gemm, self._stream)
            _log.info("prefill products: %s", chosen)

    def _prepare_decode(self, ops: Ops) -> None:
        """Launch and capture a decode step; without clusters where the driver refuses them."""
        try:
            self._decode.prepare(1, self._stream, few=True)
        except CUDA_ERRORS as error:
            if ops.cluster_attention is None or getattr(error, "status", None) == OUT_OF_MEMORY:
                raise
            # A sticky error is raised again here; after any other the device works on.
            self._stream.synchronize()
            _log.warning("the GPU runs no clusters of blocks (%s): answers come slower", error)
            self._attention = ops.cluster_attention = None
            self._decode.prepare(1, self._stream, few=True)

    def length(self, slot: int) -> int:
        """Tokens in the slot's cache."""
        return self._lengths[slot]

    def truncate(self, slot: int, length: int) -> None:
        """Forget all cached tokens from `length` on, and the pending token."""
        self._begun = None
        self._lengths[slot] = min(length, self._lengths[slot])
        self._pending[slot] = None

    def set_sampler(
        self,
        slot: int,
        sampling: SamplingParams,
        seed: int,
        prompt_token_ids: Sequence[int],
        generated_token_ids: Sequence[int],
        detail: Detail,
    ) -> None:
        """Set all sampler state of a slot."""
        self._begun = None
        with self._on_device(), self._stream:
            self._sampler.set(slot, sampling, seed, prompt_token_ids, generated_token_ids, detail)

    def prefill(
        self, slot: int, token_ids: Sequence[int], sample: bool, dump: DumpSink | None = None
    ) -> SampledToken | None:
        """Append tokens to the slot's cache; with `sample` draw the next.

        Raises:
            NumericalError: a logit is NaN or infinite.
            DeviceLost: the GPU failed.
            IndexError: the tokens do not fit; the generation loop never asks for that.
        """
        first = self._lengths[slot]
        rows = len(token_ids)
        capacity = self._forward.slot_capacity
        if first + rows > capacity:
            raise IndexError(f"{first + rows} positions do not fit in a slot of {capacity}")
        self._begun = None
        self._pending[slot] = None
        with self._on_device(), self._stream:
            forward = self._forward
            forward.token_ids[:rows].set(np.asarray(token_ids, np.int32))
            if self._hopper_prefill is None:
                forward.prefill(slot, rows, first, dump)
            else:
                self._hopper_prefill.prefill(slot, rows, first, dump, logits=sample)
            self._lengths[slot] = first + rows
            if not sample:
                # Cancel between chunks is only as quick as the device is caught up.
                self._wait()
                return None
            self._sampler.arm(slot, first + rows, capacity, ())
            self._decode.set_rows([slot], [0], [first + rows - 1])
            self._sampler.sample(
                forward.logits[slot : slot + 1],
                self._decode.row_token_ids,
                self._decode.row_positions,
                self._decode.row_slots,
                1,
                few=self._sampler.keeps_few([slot]),
            )
            readback = self._sampler.read_back(self._stream)
            self._wait(readback)
            token = self._sampler.collect(slot, readback)[0]
        self._pending[slot] = token.token_id
        return token

    def decode(
        self,
        slots: Sequence[int],
        steps: int,
        stop_token_ids: frozenset[int],
        steps_ahead: int = 0,
    ) -> dict[int, list[SampledToken]]:
        """Run up to `steps` decode steps for each slot, enqueued at once, read back at the end.

        With `steps_ahead` the next run is enqueued behind this one before it is waited for.

        Raises:
            NumericalError: a logit is NaN or infinite.
            DeviceLost: the GPU failed.
        """
        sampled: dict[int, list[SampledToken]] = {slot: [] for slot in slots}
        run, self._begun = self._begun, None
        with self._on_device(), self._stream:
            if run is None or run.slots != tuple(slots):
                run = self._begin(slots, steps, stop_token_ids)
            if run is None:
                return sampled
            if steps_ahead:
                self._begun = self._enqueue(run.slots, steps_ahead)
            self._wait(run.readback)
            for slot in run.slots:
                sampled[slot] = tokens = self._sampler.collect(slot, run.readback)
                self._lengths[slot] += len(tokens)
                self._pending[slot] = tokens[-1].token_id if tokens else self._pending[slot]
        return sampled

    def _begin(
        self, slots: Sequence[int], steps: int, stop_token_ids: frozenset[int]
    ) -> _Run | None:
        """Enqueue the first run since the host changed something; None where no slot can go on."""
        capacity = self._forward.slot_capacity
        pending = {
            slot: token
            for slot in slots
            if (token := self._pending[slot]) is not None and self._lengths[slot] < capacity
        }
        if not pending or steps < 1:
            return None
        live = list(pending)
        steps = min(steps, max(capacity - self._lengths[slot] for slot in live))
        self._decode.prepare(len(live), self._stream, few=self._sampler.keeps_few(live))
        for slot in live:
            self._sampler.arm(slot, self._lengths[slot], capacity, sorted(stop_token_ids))
        positions = [self._lengths[slot] for slot in live]
        self._decode.set_rows(live, list(pending.values()), positions)
        return self._enqueue(tuple(live), steps)

    def _enqueue(self, slots: tuple[int, ...], steps: int) -> _Run:
        """Enqueue a run from where the device stands then, and its way back to the host."""
        few = self._sampler.keeps_few(slots)
        self._decode.run(len(slots), min(steps, RECORDS), self._stream, few=few)
        return _Run(slots, self._sampler.read_back(self._stream))

    def _wait(self, readback: TokenReadback | None = None) -> None:
        since_s = time.perf_counter()
        if readback is None:
            self._stream.synchronize()
        else:
            readback.wait()
        self._device_wait_s += time.perf_counter() - since_s

    def close(self) -> None:
        """Free the allocation; `load` may follow again, with empty slots."""
        self._forget_slots()
        if self._block is not None:
            self._block.close()
            self._block = None
        # Everything that holds views of the block must go too: they point nowhere now.
        for name in ("_forward", "_hopper_prefill", "_sampler", "_decode", "_stream"):
            if hasattr(self, name):
                delattr(self, name)

    @contextmanager
    def _on_device(self) -> Iterator[Any]:
        with (
            device_errors(self._device, self._plan.total_bytes),
            cupy.cuda.Device(self._device.index),
        ):
            yield
