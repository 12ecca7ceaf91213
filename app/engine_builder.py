"""Builds engines on the engine thread; nothing heavy is imported before a model is asked for."""

from __future__ import annotations

import sys
from pathlib import Path

from app.engine_events import LoadRequest
from app.model_records import ModelRecord
from engine.api import Engine

SCRIPTED_MODEL_ID = "scripted"
_SCRIPTED_TOKENS_PER_S = 60.0

_SCRIPTED_REPLIES = (
    (
        "The user asks why the sky is blue. I should explain Rayleigh scattering: short waves are "
        "scattered more, by the fourth power of the frequency. Violet is scattered even more, but "
        "the sun sends less of it and our eyes are less sensitive to it.\n\nI will keep it short.",
        "The sky is blue because air scatters short waves of light more than long ones.\n\n"
        "- **Sunlight** holds all colours.\n"
        "- **Air** scatters blue about five times as much as red: the effect grows with "
        "$1/\\lambda^4$.\n"
        "- **We** see that scattered light from every direction.\n",
    ),
    (
        "A small program is wanted. Python, a function that adds the numbers from 1 to n. There is "
        "a closed form, but a loop may be clearer. I will show the closed form.",
        "```python\ndef total(n: int) -> int:\n    return n * (n + 1) // 2\n```\n\n"
        "It takes the same time for every `n`.\n",
    ),
)


def build_engine(models_dir: Path, kernel_cache_dir: Path, request: LoadRequest) -> Engine:
    """Open the model; one of the catalog only after every file of it has the pinned sha256.

    Raises:
        EngineError: a file, the device or the memory is not as needed.
    """
    from engine.models.model_catalog import CATALOG
    from engine.models.model_store import ModelStore
    from engine.open_engine import open_engine

    for model in CATALOG:
        if model.model_id == request.model_id:
            ModelStore(models_dir).require_verified(model)
    return open_engine(
        request.path,
        request.device,
        request.capacity_tokens,
        kernel_cache_dir=kernel_cache_dir,
    )


def scripted_model() -> ModelRecord:
    """The entry of the picker for `--scripted`; its path only has to exist."""
    return ModelRecord(SCRIPTED_MODEL_ID, "Scripted replies", Path(sys.executable))


def build_scripted_engine(request: LoadRequest) -> Engine:
    """An engine that replays two written replies, for demonstrations and screenshots."""
    from engine.scripted_engine import ScriptedEngine, reply_of_texts

    replies = [reply_of_texts(thinking, answer) for thinking, answer in _SCRIPTED_REPLIES]
    return ScriptedEngine(replies, _SCRIPTED_TOKENS_PER_S)
