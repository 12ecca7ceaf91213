"""What a model needs on this computer, as a sentence, before it is fetched or loaded."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from app.language import translate
from app.system_check import SystemReport, gigabytes
from engine.api import MemoryPlan
from engine.cpu.cpu_backend import cpu_weight_dtype
from engine.cpu.matrices import numba_installed
from engine.models.memory_plan import WeightDtype, plan_memory
from engine.models.model_catalog import CatalogModel
from engine.models.model_config import ModelConfig
from engine.models.model_files import open_model


@dataclass(frozen=True, slots=True)
class PlannedModel:
    """A model, the sentence about its memory, and whether it fits anywhere on this computer."""

    label: str
    memory_text: str
    fits: bool


def plan_catalog_model(
    model: CatalogModel, resources: Path, capacity_tokens: int, report: SystemReport
) -> PlannedModel:
    """Plan a model that need not be here yet, from the copy of its config that the app carries.

    Raises:
        EngineError: that copy is damaged.
    """
    config = ModelConfig.from_json(resources / "catalog" / model.model_id / "config.json")
    # The weights of the catalog are stored as bfloat16, which only numba multiplies as it is.
    cpu_weights: WeightDtype = "bfloat16" if numba_installed() else "float32"
    return _planned(model.label, config, capacity_tokens, report, cpu_weights)


def plan_local_model(path: Path, capacity_tokens: int, report: SystemReport) -> PlannedModel:
    """Open a folder or GGUF of the user, check it, and plan it; the files are only referenced.

    Raises:
        EngineError: it is no model that can be used, with the reason.
    """
    files = open_model(path)
    return _planned(files.name, files.config, capacity_tokens, report, cpu_weight_dtype(files))


def _planned(
    label: str,
    config: ModelConfig,
    capacity_tokens: int,
    report: SystemReport,
    cpu_weights: WeightDtype,
) -> PlannedModel:
    capacity_tokens = min(capacity_tokens, config.max_position_embeddings)
    on_cpu = plan_memory(config, capacity_tokens, "cpu", cpu_weights=cpu_weights)
    fits_cpu = on_cpu.total_bytes <= report.free_ram_bytes
    free_gpu_bytes = report.gpu.free_bytes
    if not report.gpu_usable or free_gpu_bytes is None:
        where = translate("Models", "main memory")
        text = _sentence(on_cpu, capacity_tokens, where, report.free_ram_bytes)
        advice = translate("Models", "That is too little: close other programs and check again.")
        return PlannedModel(label, text if fits_cpu else f"{text} {advice}", fits_cpu)
    on_gpu = plan_memory(config, capacity_tokens, "cuda")
    text = _sentence(on_gpu, capacity_tokens, translate("Models", "GPU memory"), free_gpu_bytes)
    if on_gpu.total_bytes <= free_gpu_bytes:
        return PlannedModel(label, text, fits=True)
    advice = (
        translate(
            "Models",
            "That is too little: close programs that use the GPU or choose the processor in the "
            "settings.",
        )
        if fits_cpu
        else translate(
            "Models", "That is too little: close programs that use the GPU and check again."
        )
    )
    return PlannedModel(label, f"{text} {advice}", fits_cpu)


def _sentence(plan: MemoryPlan, capacity_tokens: int, where: str, free_bytes: int) -> str:
    return translate(
        "Models",
        "Needs {total} of {where} for {capacity_tokens:,} tokens of context (weights "
        "{weights}, cache {kv_cache}, work space {workspace}); {free} are free.",
    ).format(
        total=gigabytes(plan.total_bytes),
        where=where,
        capacity_tokens=capacity_tokens,
        weights=gigabytes(plan.weights_bytes),
        kv_cache=gigabytes(plan.kv_cache_bytes),
        workspace=gigabytes(plan.workspace_bytes),
        free=gigabytes(free_bytes),
    )
