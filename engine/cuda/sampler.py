"""The device's sampler seen from Python: state of each slot up, drawn tokens back.

The rules are those of `engine/cpu/sampler.py`, the kernels are in `kernels/sample_*.cu`; the two
NumPy dtypes here are the structs of `kernels/sample_state.cuh`. Between two reads the device is on
its own: it draws, records, advances and stops without the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.api import Detail, SamplingParams
from engine.backend import SampledToken
from engine.cpu.sampler import GREEDY_BELOW
from engine.cuda.dependent_launch import DependentLaunch
from engine.cuda.device import CudaDevice
from engine.cuda.kernel_library import KernelLibrary
from engine.cuda.memory_block import DeviceArray, MemoryBlock
from engine.cuda.token_readback import TokenReadback
from engine.errors import NumericalError, UnsupportedModel
from engine.models.memory_plan import RECORDS, SAMPLER_BINS, SAMPLER_CHUNK, sampler_candidates

MAX_STOP_IDS = 8
ALTERNATIVES = 10
TOP_K_MAX = 64
"""Up to so many kept ids one short kernel draws; as in sample_state.cuh."""

SLOT_STATE = np.dtype(
    [
        ("temperature", "<f4"),
        ("top_k", "<i4"),
        ("top_p", "<f4"),
        ("min_p", "<f4"),
        ("presence", "<f4"),
        ("frequency", "<f4"),
        ("repetition", "<f4"),
        ("detail", "<i4"),
        ("seed", "<u8"),
        ("index", "<i4"),
        ("length", "<i4"),
        ("capacity", "<i4"),
        ("stopped", "<i4"),
        ("stop_count", "<i4"),
        ("stop_ids", "<i4", (MAX_STOP_IDS,)),
        ("pending", "<i4"),
    ]
)
TOKEN_RECORD = np.dtype(
    [
        ("token_id", "<i4"),
        ("logprob", "<f4"),
        ("rank", "<i4"),
        ("stopped", "<i4"),
        ("alternative_ids", "<i4", (ALTERNATIVES,)),
        ("alternative_logprobs", "<f4", (ALTERNATIVES,)),
    ]
)
_STOPPED_BY_NAN = 3
_IN_PROMPT = np.uint32(0x80000000)
_DETAILS = {Detail.NONE: 0, Detail.LOGPROB: 1, Detail.ALTERNATIVES: 2}


class DeviceSampler:
    """Sampler state of all slots; `rows` of a launch are given by `row_slots`."""

    def __init__(
        self,
        vocab_size: int,
        max_sequences: int,
        block: MemoryBlock,
        library: KernelLibrary,
        device: CudaDevice,
    ) -> None:
        def array(name: str, dtype: object, *shape: int) -> DeviceArray:
            return block.array(f"workspace.{name}", shape, np.dtype(dtype))  # type: ignore[call-overload]

        self._vocab_size = vocab_size
        self._chunks = -(-vocab_size // SAMPLER_CHUNK)
        self._scores = library.kernel("sample_scores", "sample_scores")
        self._histogram = library.kernel("sample_scores", "sample_histogram")
        self._draw = library.kernel("sample_draw", "sample_draw")
        self._top_k = library.kernel("sample_top_k", "sample_top_k")
        self._launch = DependentLaunch(device)
        # CuPy takes structs only as bytes.
        self._states = array("slot_states", np.uint8, max_sequences, SLOT_STATE.itemsize)
        self._records = array("records", np.uint8, max_sequences, RECORDS, TOKEN_RECORD.itemsize)
        self._occurrences = array("occurrences", np.uint32, max_sequences, vocab_size)
        self._scratch = {
            "scores": array("scores", np.float32, max_sequences, vocab_size),
            "candidates": array(
                "candidates", np.int32, max_sequences, sampler_candidates(vocab_size)
            ),
            "chunks": array("chunks", np.uint8, max_sequences, self._chunks * 128),
            "bin_masses": array("bin_masses", np.uint64, max_sequences, SAMPLER_BINS),
            "bin_counts": array("bin_counts", np.uint32, max_sequences, SAMPLER_BINS),
        }
        self._mirror: NDArray[np.void] = np.zeros(max_sequences, SLOT_STATE)
        self._read_from = [0] * max_sequences
        # Two: one is read while the other is on its way.
        self._readbacks = [
            TokenReadback(self._states, self._records, (SLOT_STATE, TOKEN_RECORD)) for _ in range(2)
        ]

    def set(
        self,
        slot: int,
        sampling: SamplingParams,
        seed: int,
        prompt_token_ids: Sequence[int],
        generated_token_ids: Sequence[int],
        detail: Detail,
    ) -> None:
        """Set all sampler state of a slot; calling it twice is the same as once."""
        state = self._mirror[slot]
        state["temperature"] = sampling.temperature
        state["top_k"] = sampling.top_k
        state["top_p"] = sampling.top_p
        state["min_p"] = sampling.min_p
        state["presence"] = sampling.presence_penalty
        state["frequency"] = sampling.frequency_penalty
        state["repetition"] = sampling.repetition_penalty
        state["detail"] = _DETAILS[detail]
        state["seed"] = seed
        state["index"] = len(generated_token_ids)
        generated = np.asarray(generated_token_ids, np.int64)
        occurrences = np.bincount(generated, minlength=self._vocab_size).astype(np.uint32)
        occurrences[np.asarray(prompt_token_ids, np.int64)] |= _IN_PROMPT
        self._occurrences[slot].set(occurrences)

    def stop_all(self) -> None:
        """Make every slot idle on the device, until it is armed again."""
        idle = self._mirror.copy()
        idle["stopped"] = 1
        self._states.set(np.frombuffer(idle.tobytes(), np.uint8).reshape(self._states.shape))

    def arm(self, slot: int, length: int, capacity: int, stop_ids: Sequence[int]) -> None:
        """Make a slot live again before a run: tokens in its cache, its room, where it stops.

        Raises:
            UnsupportedModel: the model names more stop tokens than the device keeps.
        """
        if len(stop_ids) > MAX_STOP_IDS:
            raise UnsupportedModel("number of stop tokens", len(stop_ids), f"up to {MAX_STOP_IDS}")
        state = self._mirror[slot]
        state["length"] = length
        state["capacity"] = capacity
        state["stopped"] = 0
        state["stop_count"] = len(stop_ids)
        state["stop_ids"][: len(stop_ids)] = stop_ids
        self._read_from[slot] = int(state["index"])
        self._states[slot].set(np.frombuffer(state.tobytes(), np.uint8))

    def keeps_few(self, slots: Sequence[int]) -> bool:
        """Whether `sample` may be told `few`: each slot is greedy or keeps few ids, no detail."""
        states = self._mirror[list(slots)]
        greedy = states["temperature"] < GREEDY_BELOW
        top_k = (states["top_k"] > 0) & (states["top_k"] <= TOP_K_MAX)
        return bool(((greedy | top_k) & (states["detail"] == 0)).all())

    def sample(
        self,
        logits: DeviceArray,
        row_token_ids: DeviceArray,
        row_positions: DeviceArray,
        row_slots: DeviceArray,
        rows: int,
        *,
        few: bool,
    ) -> None:
        """Launch the draw of one token a row; `logits` [B, V] float32, the rest [B] int32."""
        s = self._scratch
        grid = (self._chunks, rows)
        bins = (s["bin_masses"], s["bin_counts"])
        scores = (s["scores"], s["chunks"], *bins, logits)
        self._launch(
            self._scores, grid, (256,), (*scores, self._states, self._occurrences, row_slots)
        )
        row_state = (row_token_ids, row_positions, self._occurrences)
        if few:
            self._launch(
                self._top_k,
                (rows,),
                (1024,),
                (
                    *(self._states, self._records, *row_state),
                    *(s["scores"], s["chunks"], logits, row_slots, np.int32(RECORDS)),
                ),
            )
            return
        self._histogram(
            grid, (256,), (*bins, s["scores"], s["chunks"], logits, self._states, row_slots)
        )
        self._draw(
            (rows,),
            (1024,),
            (
                *(self._states, self._records, *row_state, s["candidates"]),
                *(s["scores"], s["chunks"], *bins, logits, row_slots, np.int32(RECORDS)),
            ),
        )

    def read_back(self, stream: Any) -> TokenReadback:  # noqa: ANN401  (cupy.cuda.Stream)
        """Enqueue the way of what was drawn to the host; the next but one call uses it again."""
        self._readbacks.reverse()
        self._readbacks[0].enqueue(stream)
        return self._readbacks[0]

    def collect(self, slot: int, readback: TokenReadback) -> list[SampledToken]:
        """What the device drew for the slot since `arm` or the last call; waited for before.

        Raises:
            NumericalError: logits were NaN or infinite; nothing was drawn from them.
        """
        state = readback.states[slot]
        first, last = self._read_from[slot], int(state["index"])
        self._mirror[slot] = state
        self._read_from[slot] = last
        if int(state["stopped"]) == _STOPPED_BY_NAN:
            raise NumericalError(f"the logits of generated token {last}")
        return readback.tokens(slot, first, last)
