"""What tests of hostile model files share: expect one typed error, print its time, flip bits."""

from __future__ import annotations

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import BadModelFile, EngineError, ModelFileMissing, UnsupportedModel
from engine.models.model_files import ModelFiles, open_model

MUTATIONS = 200


def refused(path: Path, case: str) -> EngineError:
    """Open the model, which must fail with a typed error of one line; print case and time."""
    start = time.perf_counter()
    with pytest.raises((BadModelFile, ModelFileMissing, UnsupportedModel)) as caught:
        open_model(path)
    elapsed_ms = (time.perf_counter() - start) * 1e3
    message = str(caught.value)
    print(f"{elapsed_ms:8.2f} ms  {case}: {message.replace(str(path), path.name)[:110]}")
    assert "\n" not in message
    assert len(message) < 1200
    return caught.value


def same_model(one: ModelFiles, other: ModelFiles) -> bool:
    """Whether both have the same tensors and sizes (constants may differ: no check can know)."""
    sizes = replace(
        one.config,
        rope_theta=other.config.rope_theta,
        rms_norm_eps=other.config.rms_norm_eps,
        max_position_embeddings=other.config.max_position_embeddings,
    )
    return sizes == other.config and {n: (t.dtype, t.shape) for n, t in one.tensors.items()} == {
        n: (t.dtype, t.shape) for n, t in other.tensors.items()
    }


def check_mutations(
    model: Path, path: Path, content: bytes, header_end: int, good: ModelFiles
) -> int:
    """Flip 1 to 3 bits before `header_end`, MUTATIONS times; return how many were accepted."""
    source = random.Random(7)
    accepted = 0
    worst_ms = 0.0
    for _ in range(MUTATIONS):
        mutated = bytearray(content)
        for _ in range(source.randint(1, 3)):
            mutated[source.randrange(header_end)] ^= 1 << source.randrange(8)
        path.write_bytes(mutated)
        start = time.perf_counter()
        try:
            opened = open_model(model)
        except EngineError:
            pass
        else:
            accepted += 1
            assert same_model(opened, good)
        worst_ms = max(worst_ms, (time.perf_counter() - start) * 1e3)
    print(f"{worst_ms:8.2f} ms  worst of {MUTATIONS} bit flips in {path.name}, {accepted} harmless")
    return accepted
