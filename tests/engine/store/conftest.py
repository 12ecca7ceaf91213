from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.api import GenerationControl, ModelStoreEvent
from engine.models.file_fetch import FetchPolicy
from engine.models.model_catalog import CatalogFile, CatalogModel
from engine.models.model_store import ModelStore
from tests.engine.store.fake_hub import FakeHub

MIB = 1024 * 1024
QUICK = FetchPolicy(
    first_pause_s=0.01,
    longest_pause_s=0.05,
    longest_retry_after_s=0.3,
)
# For stalls alone: a busy machine is silent for this long now and then.
IMPATIENT = replace(QUICK, stall_s=0.4, notice_s=0.1, min_rate_window_s=0.6)


@pytest.fixture(scope="session")
def contents() -> dict[str, bytes]:
    rng = random.Random(7)
    return {"config.json": rng.randbytes(700), "model.safetensors": rng.randbytes(3 * MIB + 13)}


def model_of(contents: dict[str, bytes]) -> CatalogModel:
    files = tuple(
        CatalogFile(name, len(data), hashlib.sha256(data).hexdigest())
        for name, data in contents.items()
    )
    return CatalogModel("tiny", "Tiny", "owner/tiny", "a" * 40, "MIT", files)


@pytest.fixture
def model(contents: dict[str, bytes]) -> CatalogModel:
    return model_of(contents)


@pytest.fixture
def hub(contents: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    with FakeHub(dict(contents)) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models", QUICK)


Fetch = Callable[[], list[ModelStoreEvent]]


@pytest.fixture
def fetch(store: ModelStore, model: CatalogModel, hub: FakeHub) -> Fetch:
    """Runs the store once to its end and returns the events."""

    def run() -> list[ModelStoreEvent]:
        return list(store.ensure_model(model, GenerationControl()))

    return run


@pytest.fixture
def impatient_fetch(tmp_path: Path, model: CatalogModel, hub: FakeHub) -> Fetch:
    """As `fetch`, into the same folder, but a stall is given up soon."""
    store = ModelStore(tmp_path / "models", IMPATIENT)

    def run() -> list[ModelStoreEvent]:
        return list(store.ensure_model(model, GenerationControl()))

    return run
