"""The sentence about memory: the right device and numbers, and a refusal where nothing fits."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from app import model_plans
from app.model_plans import PlannedModel, plan_catalog_model, plan_local_model
from app.paths import resource_dir
from app.system_check import GpuFacts, SystemReport
from engine.errors import ModelFileMissing
from engine.models.model_catalog import CATALOG

GB = 10**9


def report(*, gpu_bytes: int | None, ram_bytes: int, usable: bool = True) -> SystemReport:
    gpu = GpuFacts("550.1", "NVIDIA GPU", gpu_bytes, 12 * GB, (8, 6)) if gpu_bytes else GpuFacts()
    return SystemReport((), gpu, usable and gpu_bytes is not None, ram_bytes, 10**12)


def plan(**free: int | None) -> PlannedModel:
    return plan_catalog_model(CATALOG[0], resource_dir(), 8192, report(**free))  # type: ignore[arg-type]


def test_gpu_with_room_is_named_with_all_parts() -> None:
    planned = plan(gpu_bytes=10 * GB, ram_bytes=1)
    assert planned.fits
    # 596,049,920 weights of two bytes; 28 layers x 8192 positions x 8 heads x 128 x 2 x 2 bytes.
    assert "of GPU memory for 8,192 tokens of context (weights 1.19 GB, cache 940 MB" in (
        planned.memory_text
    )
    assert planned.memory_text.endswith("10.0 GB are free.")


def test_full_gpu_leaves_the_processor_and_says_so() -> None:
    planned = plan(gpu_bytes=GB, ram_bytes=8 * GB)
    assert planned.fits
    assert "1.00 GB are free" in planned.memory_text
    assert "or choose the processor" in planned.memory_text


def test_nothing_fits_is_refused_with_the_numbers() -> None:
    planned = plan(gpu_bytes=GB, ram_bytes=GB)
    assert not planned.fits
    assert "too little" in planned.memory_text
    planned = plan(gpu_bytes=None, ram_bytes=GB)
    assert not planned.fits
    assert "of main memory" in planned.memory_text
    assert "1.00 GB are free. That is too little" in planned.memory_text


@pytest.mark.parametrize(("installed", "weights"), [(True, "1.19 GB"), (False, "2.38 GB")])
def test_processor_needs_twice_the_weights_without_numba(
    installed: bool, weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_plans, "numba_installed", lambda: installed)
    assert f"weights {weights}" in plan(gpu_bytes=None, ram_bytes=8 * GB).memory_text


def test_own_model_is_opened_and_named() -> None:
    folder = resource_dir() / "demo_model"
    planned = plan_local_model(folder, 8192, report(gpu_bytes=None, ram_bytes=GB))
    assert planned.label == "demo_model"
    assert planned.fits


def test_missing_own_model_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissing, match="nothing here"):
        plan_local_model(tmp_path / "nothing here", 8192, report(gpu_bytes=None, ram_bytes=GB))


def test_config_that_comes_with_the_app_is_the_pinned_one() -> None:
    for model in CATALOG:
        data = (resource_dir() / "catalog" / model.model_id / "config.json").read_bytes()
        (pinned,) = [file for file in model.files if file.name == "config.json"]
        assert hashlib.sha256(data).hexdigest() == pinned.sha256
