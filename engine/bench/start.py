"""A start in a process of its own: `python -m engine.bench.start MODEL DEVICE CAPACITY CACHE`.

Prints one JSON object: seconds from asking for the engine until it can answer, and how they were
spent. What importing Python's packages took, CuPy among them, is told apart from it: an app does
that once, and no model changes it.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

from engine.api import GenerationControl, LoadProgress
from engine.bench.result import BenchError, Row
from engine.open_engine import open_engine

_TIMEOUT_S = 300.0


def start(model: Path, device: str, capacity: int, kernel_cache: Path) -> dict[str, float]:
    """Open and load; seconds in all and by part."""
    clock = time.perf_counter
    imported_s = clock()
    if device == "cuda":
        importlib.import_module("engine.cuda.cuda_backend")
    started_s = clock()
    engine = open_engine(model, device, capacity, kernel_cache_dir=kernel_cache)
    opened_s = stage_s = clock()
    parts = {"import_s": started_s - imported_s, "open_s": opened_s - started_s}
    for event in engine.load(GenerationControl()):
        if isinstance(event, LoadProgress):
            # Up to each event its own stage was at work; what comes after the last is the rest.
            now_s = clock()
            name = f"{event.stage}_s"
            parts[name] = parts.get(name, 0.0) + now_s - stage_s
            stage_s = now_s
    ready_s = clock()
    parts["rest_s"] = ready_s - stage_s
    engine.close()
    return {"ready_s": ready_s - started_s, **parts}


def timed_starts(name: str, model: Path, device: str, capacity: int, caches: list[Path]) -> Row:
    """One start for each kernel cache, each in a fresh process; the parts are of the median one.

    Raises:
        BenchError: a start failed.
    """
    starts = [_in_a_process(model, device, capacity, cache) for cache in caches]
    middle = sorted(starts, key=lambda found: found["ready_s"])[len(starts) // 2]
    parts = {part: round(seconds, 4) for part, seconds in middle.items() if part != "ready_s"}
    return Row(name, tuple(found["ready_s"] for found in starts), "s", None, {"parts": parts})


def _in_a_process(model: Path, device: str, capacity: int, cache: Path) -> dict[str, float]:
    arguments = [str(model), device, str(capacity), str(cache)]
    started_s = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "engine.bench.start", *arguments],
        cwd=Path(__file__).resolve().parents[2],
        # In the environment too: what CuPy keeps there by itself goes the same way.
        env={**os.environ, "CUPY_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        message = f"a start failed: {(done.stderr.strip() or 'no word').splitlines()[-1]}"
        raise BenchError(message)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return {**found, "process_s": time.perf_counter() - started_s}


if __name__ == "__main__":
    _model, _device, _capacity, _cache = sys.argv[1:]
    json.dump(start(Path(_model), _device, int(_capacity), Path(_cache)), sys.stdout)
