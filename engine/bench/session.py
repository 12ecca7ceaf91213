"""One run of the benchmark: which figures, in which order, on which device."""

from __future__ import annotations

import datetime
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.bench import machine
from engine.bench.accuracy import CAPACITY_TOKENS, PASSAGE, Accuracy, compare, load
from engine.bench.replies import SAMPLING
from engine.bench.result import BenchError, Row
from engine.bench.speed import DECODE_TOKENS, Costs, Limits, Speeds, switch_interval
from engine.bench.start import timed_starts
from engine.cpu.cpu_backend import CpuBackend, cpu_weight_dtype
from engine.errors import NotEnoughMemory
from engine.generation import TextEngine
from engine.models.model_files import ModelFiles, open_model
from engine.open_engine import cuda_is_usable, open_engine
from engine.text.tokenizer import Tokenizer

DECODE_POSITIONS = (4096, 32768)
PREFILL_TOKENS = (512, 2048, 8192, 32768)

_CPU_READ_SHAPE = (65536, 2048)
_CPU_DECODE_TOKENS = 12


@dataclass(frozen=True, slots=True)
class Result:
    """What is written to the file."""

    facts: dict[str, object]
    accuracy: Accuracy
    rows: list[Row]
    left_out: dict[str, str]
    device: str

    def as_json(self, command: str, commit: str) -> dict[str, object]:
        """The file's content; without accuracy there is no speed."""
        return {
            "command": command,
            "commit": commit,
            **self.facts,
            "accuracy": self.accuracy.as_json(),
            "rows": [row.as_json() for row in self.rows] if self.accuracy.holds else [],
            "left_out": self.left_out,
        }

    def write(self, place: Path, command: str, commit: str | None) -> Path:
        """Write to a file, or into a folder under a name made of date, device and commit."""
        name = machine.commit(commit)
        date = str(self.facts["date"])[:10]
        if place.is_dir() or not place.suffix:
            place.mkdir(parents=True, exist_ok=True)
            place /= machine.file_name(date, self.device, name)
        text = json.dumps(self.as_json(command, name), indent=1, ensure_ascii=False)
        place.write_text(text + "\n", encoding="utf-8")
        return place


@dataclass(slots=True)
class Session:
    """Measures a model; `only` names rows, all by default; `scratch` holds kernel caches."""

    model: Path
    device: str | None
    runs: int
    only: frozenset[str]
    scratch: Path
    say: Callable[[str], None]
    left_out: dict[str, str] = field(default_factory=dict)

    def measure(self) -> Result:
        """Measure everything, telling each row as it comes.

        Raises:
            EngineError: the model or the device.
            BenchError: nothing can be timed.
        """
        began_s = time.perf_counter()
        on_gpu = self.device != "cpu" and cuda_is_usable()
        if self.device == "cuda" and not on_gpu:
            message = "no usable NVIDIA GPU was found, or CuPy is not installed"
            raise BenchError(message)
        files = open_model(self.model)
        facts = self._facts(files, on_gpu)
        limits = _cuda_limits(files) if on_gpu else _cpu_limits()
        facts["limits"] = {
            "read_gb_per_s": round((limits.read_bytes_per_s or 0) / 1e9, 1),
            "products_tera_per_s": round((limits.products_per_s or 0) / 1e12, 1) or None,
        }
        self.say(f"{facts['device']}: {facts['limits']}")
        accuracy = _accuracy(files, _tokenizer(files).encode(PASSAGE), on_gpu)
        self.say(f"accuracy {'holds' if accuracy.holds else 'FAILS'}: {accuracy.as_json()}")
        rows: list[Row] = []
        if accuracy.holds:
            for row in self._rows(files, on_gpu, limits):
                rows.append(row)
                self.say(row.as_text())
        if on_gpu:
            facts["clocks_after"] = _cuda_clocks()
        facts["measured_in_s"] = round(time.perf_counter() - began_s, 1)
        return Result(facts, accuracy, rows, self.left_out, str(facts["device"]))

    def _facts(self, files: ModelFiles, on_gpu: bool) -> dict[str, object]:
        facts: dict[str, object] = {
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "host": machine.host(),
            "model": {
                "name": files.name,
                "layers": files.config.num_hidden_layers,
                "weight_bytes_per_token": _costs(files, on_gpu).weight_bytes,
                "tokenizer_ids": _tokenizer(files).vocab_size,
            },
            "sampling": {
                "temperature": SAMPLING.temperature,
                "top_k": SAMPLING.top_k,
                "top_p": SAMPLING.top_p,
            },
        }
        return {**facts, **(_cuda_facts() if on_gpu else {"device": "CPU (NumPy)"})}

    def _wants(self, *names: str) -> bool:
        return not self.only or bool(self.only & set(names))

    def _rows(self, files: ModelFiles, on_gpu: bool, limits: Limits) -> Iterator[Row]:
        device = "cuda" if on_gpu else "cpu"
        kernel_cache = self.scratch / "kernels"
        engine = self._loaded_engine(device, kernel_cache)
        try:
            tokens = DECODE_TOKENS if on_gpu else _CPU_DECODE_TOKENS
            speeds = Speeds(engine, _costs(files, on_gpu), limits, self.runs, tokens)
            capacity = engine.info().capacity_tokens
            with switch_interval():
                yield from self._speed_rows(speeds, capacity, on_gpu)
        finally:
            engine.close()
        if self._wants("load_s"):
            caches = [kernel_cache] * self.runs
            yield timed_starts("load_s", self.model, device, capacity, caches)
        if on_gpu and self._wants("first_start_s"):
            empty = [self.scratch / f"empty-{number}" for number in range(self.runs // 2 + 1)]
            yield timed_starts("first_start_s", self.model, device, capacity, empty)

    def _speed_rows(self, speeds: Speeds, capacity: int, on_gpu: bool) -> Iterator[Row]:
        if self._wants("decode_512", "host_ms_per_token"):
            decode, host = speeds.decode_short()
            yield decode
            if on_gpu:
                yield host
        for position in DECODE_POSITIONS:
            if self._fits(f"decode_{position}", position, speeds.decode_tokens, capacity, on_gpu):
                yield speeds.decode_at(position)
        for tokens in PREFILL_TOKENS:
            if self._fits(f"prefill_{tokens}", tokens, 1, capacity, on_gpu):
                yield speeds.prefill(tokens)
        if self._wants("ttft_512_ms"):
            yield speeds.first_token()
        if on_gpu and self._wants("busy_thread_share"):
            yield speeds.beside_a_busy_thread()

    def _fits(self, name: str, tokens: int, more: int, capacity: int, on_gpu: bool) -> bool:
        """Whether a row is wanted and can be measured; what cannot is noted."""
        if not self._wants(name):
            return False
        if tokens + more > capacity:
            self.left_out[name] = f"the context has room for {capacity} tokens"
        elif not on_gpu and tokens > PREFILL_TOKENS[0]:
            self.left_out[name] = "would take the CPU minutes"
        return name not in self.left_out

    def _loaded_engine(self, device: str, kernel_cache: Path) -> TextEngine:
        """With room for the longest prompt, or for as long a one as the memory allows."""
        longest = DECODE_POSITIONS[-1] + 2 * DECODE_TOKENS if device == "cuda" else 1024
        for capacity in (longest, longest // 2, longest // 4, longest // 8):
            engine = open_engine(self.model, device, capacity, kernel_cache_dir=kernel_cache)
            assert isinstance(engine, TextEngine)
            try:
                load(engine)
            except NotEnoughMemory:
                continue
            return engine
        message = "the device has not enough memory for the model"
        raise BenchError(message)


def _costs(files: ModelFiles, on_gpu: bool) -> Costs:
    return Costs.of(files.config, 2 if on_gpu or cpu_weight_dtype(files) == "bfloat16" else 4)


def _tokenizer(files: ModelFiles) -> Tokenizer:
    if files.gguf is not None:
        return Tokenizer.from_gguf(files.gguf)
    return Tokenizer.from_folder(files.path)


def _accuracy(files: ModelFiles, passage: list[int], on_gpu: bool) -> Accuracy:
    reference = CpuBackend(files, CAPACITY_TOKENS)
    load(reference)
    if not on_gpu:
        timed = CpuBackend(files, CAPACITY_TOKENS)
        load(timed)
        return compare(timed, reference, passage)
    from engine.cuda.cuda_backend import CudaBackend

    device = CudaBackend(files, CAPACITY_TOKENS)
    load(device)
    try:
        return compare(device, reference, passage)
    finally:
        device.close()


def _cpu_limits() -> Limits:
    """What BLAS reads of a float32 matrix times a vector."""
    weight, x = np.ones(_CPU_READ_SHAPE, np.float32), np.ones(_CPU_READ_SHAPE[1], np.float32)
    seconds = []
    for _ in range(9):
        started_s = time.perf_counter()
        weight @ x
        seconds.append(time.perf_counter() - started_s)
    return Limits(weight.nbytes / sorted(seconds)[4], None)


def _cuda_limits(files: ModelFiles) -> Limits:
    from engine.cuda.device import find_device
    from engine.cuda.device_limits import products_per_s, read_bytes_per_s

    device, config = find_device(), files.config
    read = read_bytes_per_s(config, device, Costs.of(config).weight_bytes)
    return Limits(read, products_per_s(device))


def _cuda_clocks() -> dict[str, float]:
    from engine.cuda.device import find_device
    from engine.cuda.device_limits import pci_bus_id

    return machine.gpu_clocks(pci_bus_id(find_device()))


def _cuda_facts() -> dict[str, object]:
    from engine.cuda.device import find_device
    from engine.cuda.device_limits import driver_version, pci_bus_id

    device = find_device()
    return {
        "device": device.name,
        "compute_capability": device.compute_capability / 10,
        "multiprocessors": device.multiprocessors,
        "driver": f"{machine.gpu_driver(pci_bus_id(device))} ({driver_version()})",
        "clocks_before": _cuda_clocks(),
    }
