"""What is said of a model's memory before it is loaded."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.gpu_memory import GpuMemory
from app.memory_estimate import estimate_memory
from app.paths import resource_dir
from app.settings import with_value
from engine.open_engine import describe_memory
from engine.scripted_engine import scripted_info
from tests.app.fakes import Desk

FOLDER = resource_dir() / "demo_model"
CAPACITY = 4096


@pytest.fixture
def gpu(monkeypatch):
    """A GPU that holds the model once, and half of it again."""
    needed = describe_memory(FOLDER, CAPACITY, "cuda").total_bytes
    memory = GpuMemory("RTX", used_bytes=needed, total_bytes=needed * 3 // 2)
    monkeypatch.setattr("app.memory_estimate.read_gpu_memory", lambda: memory)
    return memory


@pytest.mark.parametrize(
    ("on_gpu", "fits"), [(None, False), (True, True), (False, False)], ids=["none", "gpu", "cpu"]
)
def test_what_the_loaded_model_holds_on_the_gpu_is_free_for_the_next(gpu, on_gpu, fits):
    info = scripted_info()
    memory = describe_memory(FOLDER, CAPACITY, "cuda")
    loaded = None if on_gpu is None else replace(info, on_gpu=on_gpu, memory=memory)
    assert estimate_memory(FOLDER, "auto", CAPACITY, loaded).fits is fits


def test_no_more_context_is_planned_than_the_model_has():
    text = estimate_memory(FOLDER, "cpu", 8_192).text
    assert text == estimate_memory(FOLDER, "cpu", 2_048).text
    assert "2,048 tokens" in text


def test_a_longer_context_is_planned_with_what_the_loaded_model_gives_back(tmp_path):
    desk = Desk(tmp_path).with_model("m1")
    desk.settings.on_settings_changed(with_value(desk.settings.settings, "context_tokens", 16_384))
    assert desk.estimates[-1][2] == 16_384
    assert desk.estimated_with == desk.models.info
    assert desk.estimated_with is not None
