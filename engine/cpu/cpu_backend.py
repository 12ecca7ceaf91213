"""`Backend` on the CPU: NumPy, and numba for bfloat16 weights where it is installed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from engine.api import Detail, GenerationControl, LoadProgress, MemoryPlan, SamplingParams
from engine.backend import DumpSink, SampledToken
from engine.cpu.kv_cache import KvCache
from engine.cpu.matrices import Bf16Matrix, Float32Matrix, Matrix, numba_installed
from engine.cpu.model import LayerWeights, ModelWeights, NumpyModel, Segment
from engine.cpu.parallel import keep_blas_to_one_thread
from engine.cpu.sampler import Sampler
from engine.errors import MAIN_MEMORY, LoadCancelled, NotEnoughMemory
from engine.models.host_tensor import to_float32
from engine.models.memory_plan import (
    WeightDtype,
    cpu_prefill_chunk_tokens,
    free_ram_bytes,
    plan_memory,
    require_fits,
)
from engine.models.model_files import ModelFiles
from engine.models.weights import WeightBlock, weight_blocks

_SLICE_BYTES = 16 << 20
"""Read at a time while loading, so that progress and cancel come often."""

_BF16_PARAMETERS = 200_000_000
"""Smaller models are float32 even with numba: compiling would take longer than it saves."""


def cpu_weight_dtype(files: ModelFiles) -> WeightDtype:
    """How the CPU backend will hold the weights: bfloat16 only where that changes no number."""
    if _parameters(files) < _BF16_PARAMETERS:
        return "float32"
    stored = all(
        # The product reads bfloat16 weights in pairs, so rows need an even length.
        files.tensor(part.name).dtype == "BF16" and part.shape[-1] % 2 == 0
        for block in weight_blocks(files.config)
        for part in block.parts
    )
    return "bfloat16" if stored and numba_installed() else "float32"


def _parameters(files: ModelFiles) -> int:
    return sum(block.size for block in weight_blocks(files.config))


class CpuBackend:
    """One model in main memory; every slot has `capacity_tokens // max_sequences` positions."""

    def __init__(self, files: ModelFiles, capacity_tokens: int, max_sequences: int = 1) -> None:
        """Plan; nothing is read before `load`."""
        self._files = files
        self._dtype = cpu_weight_dtype(files)
        self._capacity_tokens = capacity_tokens
        self._slot_capacity = capacity_tokens // max_sequences
        self._max_sequences = max_sequences
        self._plan = plan_memory(
            files.config, capacity_tokens, "cpu", max_sequences, cpu_weights=self._dtype
        )
        self._chunk = cpu_prefill_chunk_tokens(files.config)
        self._model: NumpyModel | None = None
        self._caches: list[KvCache] = []
        self._samplers: list[Sampler] = []
        self._pending: list[int | None] = []

    @property
    def device_name(self) -> str:
        """Name for people."""
        return "CPU (NumPy, numba)" if self._dtype == "bfloat16" else "CPU (NumPy)"

    @property
    def on_gpu(self) -> bool:
        """False."""
        return False

    @property
    def graph_refused(self) -> bool:
        """False."""
        return False

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
        """Most tokens that one `prefill` call takes; depends on the model's size alone."""
        return self._chunk

    def memory(self) -> MemoryPlan:
        """Bytes of the plan."""
        return self._plan

    @property
    def device_wait_s(self) -> float:
        """0: the host itself computes."""
        return 0.0

    def load(self, control: GenerationControl) -> Iterator[LoadProgress]:
        """Read the weights.

        Raises:
            NotEnoughMemory: the plan does not fit in the free main memory.
            LoadCancelled: `control` was cancelled.
        """
        require_fits(self._plan, free_ram_bytes(), MAIN_MEMORY)
        keep_blas_to_one_thread()
        try:
            yield from self._load(control)
        except MemoryError:  # a limit of the process, which no free memory tells
            self.close()
            needed = self._plan.total_bytes
            raise NotEnoughMemory(needed, free_ram_bytes(), MAIN_MEMORY) from None

    def _load(self, control: GenerationControl) -> Iterator[LoadProgress]:
        config = self._files.config
        blocks = weight_blocks(config)
        total = _parameters(self._files) * (2 if self._dtype == "bfloat16" else 4)
        arrays: dict[str, NDArray[np.generic]] = {}
        done = 0
        for block in blocks:
            array = np.empty(block.shape, self._numpy_dtype(block))
            arrays[block.name] = array
            for nbytes in self._read_block(block, array):
                done += nbytes
                if control.cancelled:
                    raise LoadCancelled
                yield LoadProgress("weights", min(done, total), total)
        slots = range(self._max_sequences)
        if self._dtype == "bfloat16":
            # Compiles now, not while the first answer is waited for.
            Bf16Matrix(np.zeros((1, 2), np.uint16)).product(np.zeros((1, 2), np.float32))
        self._model = NumpyModel(config, self._assemble(arrays), self._slot_capacity)
        self._caches = [
            KvCache(
                config.num_hidden_layers,
                config.num_key_value_heads,
                self._slot_capacity,
                config.head_dim,
            )
            for _ in slots
        ]
        self._samplers = [Sampler(config.vocab_size) for _ in slots]
        self._pending = [None for _ in slots]

    def length(self, slot: int) -> int:
        """Tokens in the slot's cache."""
        return self._caches[slot].length

    def truncate(self, slot: int, length: int) -> None:
        """Forget all cached tokens from `length` on, and the pending token."""
        self._caches[slot].truncate(length)
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
        self._samplers[slot].set(sampling, seed, prompt_token_ids, generated_token_ids, detail)

    def prefill(
        self, slot: int, token_ids: Sequence[int], sample: bool, dump: DumpSink | None = None
    ) -> SampledToken | None:
        """Append tokens to the slot's cache; with `sample` draw the next.

        Raises:
            NumericalError: a logit is NaN or infinite.
        """
        model = self._loaded()
        self._pending[slot] = None
        # NaN and infinity are found in the logits; NumPy's warnings about them help nobody.
        with np.errstate(all="ignore"):
            normed = model.forward([Segment(self._caches[slot], token_ids)], dump)
            if dump:
                dump("logits", model.logits(normed))
            if not sample:
                return None
            logits = model.logits(normed[-1:])[0]
        token = self._samplers[slot].draw(logits)
        self._pending[slot] = token.token_id
        return token

    def decode(
        self,
        slots: Sequence[int],
        steps: int,
        stop_token_ids: frozenset[int],
        steps_ahead: int = 0,
    ) -> dict[int, list[SampledToken]]:
        """Run up to `steps` decode steps for each slot; nothing is begun ahead.

        Raises:
            NumericalError: a logit is NaN or infinite.
        """
        model = self._loaded()
        sampled: dict[int, list[SampledToken]] = {slot: [] for slot in slots}
        live = list(slots)
        for _ in range(steps):
            segments: dict[int, Segment] = {}
            for slot in live:
                cache, pending = self._caches[slot], self._pending[slot]
                if pending is not None and cache.length < cache.capacity:
                    segments[slot] = Segment(cache, [pending])
            live = list(segments)
            if not live:
                break
            with np.errstate(all="ignore"):
                rows = model.logits(model.forward(list(segments.values())))
            for slot, logits in zip(live, rows, strict=True):
                token = self._samplers[slot].draw(logits)
                self._pending[slot] = token.token_id
                sampled[slot].append(token)
            live = [slot for slot in live if self._pending[slot] not in stop_token_ids]
        return sampled

    def close(self) -> None:
        """Free everything."""
        self._model = None
        self._caches, self._samplers, self._pending = [], [], []

    def _loaded(self) -> NumpyModel:
        if self._model is None:
            raise RuntimeError("the backend was used before load or after close")
        return self._model

    def _numpy_dtype(self, block: WeightBlock) -> type[np.uint16] | type[np.float32]:
        is_matrix = len(block.shape) == 2
        return np.uint16 if is_matrix and self._dtype == "bfloat16" else np.float32

    def _read_block(self, block: WeightBlock, array: NDArray[np.generic]) -> Iterator[int]:
        """Fill `array` with the block's parts, yielding the bytes of each slice."""
        row = 0
        for part in block.parts:
            tensor = self._files.tensor(part.name)
            step = max(1, _SLICE_BYTES // max(1, array[0].nbytes))
            for begin in range(0, part.shape[0], step):
                end = min(begin + step, part.shape[0])
                if array.dtype == np.uint16:
                    array[row + begin : row + end] = tensor.read_rows(begin, end)
                else:
                    array[row + begin : row + end] = to_float32(tensor, begin, end)
                yield array[row + begin : row + end].nbytes
            row += part.shape[0]

    def _assemble(self, arrays: dict[str, NDArray[np.generic]]) -> ModelWeights:
        """Give each array its place in the model."""

        def vector(name: str) -> NDArray[np.float32]:
            return arrays[f"{name}.weight"].view(np.float32)

        def matrix(name: str) -> Matrix:
            array = arrays[f"{name}.weight"]
            if array.dtype == np.uint16:
                return Bf16Matrix(array.view(np.uint16))
            return Float32Matrix(array.view(np.float32))

        config = self._files.config
        layers = []
        for index in range(config.num_hidden_layers):
            prefix = f"model.layers.{index}"
            layers.append(
                LayerWeights(
                    input_layernorm=vector(f"{prefix}.input_layernorm"),
                    qkv_proj=matrix(f"{prefix}.self_attn.qkv_proj"),
                    q_norm=vector(f"{prefix}.self_attn.q_norm") if config.qk_norm else None,
                    k_norm=vector(f"{prefix}.self_attn.k_norm") if config.qk_norm else None,
                    o_proj=matrix(f"{prefix}.self_attn.o_proj"),
                    post_attention_layernorm=vector(f"{prefix}.post_attention_layernorm"),
                    gate_up_proj=matrix(f"{prefix}.mlp.gate_up_proj"),
                    down_proj=matrix(f"{prefix}.mlp.down_proj"),
                )
            )
        embed_tokens = matrix("model.embed_tokens")
        tied = config.tie_word_embeddings
        lm_head = embed_tokens if tied else matrix("lm_head")
        return ModelWeights(embed_tokens, layers, vector("model.norm"), lm_head)
