"""Pages of the wizard with real-looking content, for tests and screenshots."""

from __future__ import annotations

import errno
from pathlib import Path

from app.model_plans import PlannedModel
from app.system_check import GpuFacts, SystemReport, check_system
from app.wizard_answer import QUESTION
from app.wizard_failures import answer_failure, store_failure
from app.wizard_view import AnswerPage, FailurePage, FileRow, FileState
from engine.errors import (
    ChecksumMismatch,
    DownloadFailed,
    DownloadFault,
    FolderNotWritable,
    NotEnoughDisk,
    NotEnoughMemory,
    StoreBusy,
)
from engine.models.model_catalog import CATALOG

MODEL = CATALOG[0]
GPU = GpuFacts("550.54.14", "NVIDIA GeForce RTX 3060", 10_900_000_000, 12_000_000_000, (8, 6))
PLAN_TEXT = (
    "Needs 2.31 GB of GPU memory for 8,192 tokens of context (weights 1.19 GB, cache 940 MB, work "
    "space 180 MB); 10.9 GB are free."
)


def report(folder: Path, gpu: GpuFacts = GPU, needed_bytes: int = 1_600_000_000) -> SystemReport:
    """What the check of a computer with that GPU finds in `folder`."""
    return check_system(folder, needed_bytes, probe=lambda: gpu, free_ram=lambda: 15_200_000_000)


def planned(label: str = "Qwen3-0.6B", *, fits: bool = True) -> PlannedModel:
    """A model that fits, or one that does not."""
    text = PLAN_TEXT if fits else PLAN_TEXT.replace("10.9 GB", "1.10 GB") + " That is too little."
    return PlannedModel(label, text, fits)


FAILURES: dict[str, FailurePage] = {
    "connection": store_failure(
        DownloadFailed("model.safetensors", "connection lost, 8 tries in a row", 648_000_000),
        MODEL,
        659_433_351,
    ),
    "no-connection": store_failure(
        DownloadFailed(
            "config.json",
            "no connection: Name or service not known",
            0,
            DownloadFault.NO_CONNECTION,
        ),
        MODEL,
        0,
    ),
    "login-page": store_failure(
        DownloadFailed(
            "model.safetensors",
            "a web page came from example.org in place of it",
            0,
            DownloadFault.WEB_PAGE,
            "example.org",
        ),
        MODEL,
        659_433_351,
    ),
    "wrong-content": store_failure(
        ChecksumMismatch("model.safetensors", MODEL.files[-1].sha256, "0" * 64), MODEL, 11_433_351
    ),
    "disk-full": store_failure(
        NotEnoughDisk("/home/me/.local/share/thinkpane/models", 855_000_000, 120_000_000),
        MODEL,
        659_433_351,
    ),
    "folder": store_failure(
        FolderNotWritable("/media/usb/thinkpane/models", "Read-only file system", errno.EROFS),
        MODEL,
        0,
    ),
    "busy": store_failure(StoreBusy("/home/me/.local/share/thinkpane/models/qwen3-0.6b"), MODEL, 0),
    "memory": answer_failure(
        NotEnoughMemory(2_310_000_000, 1_100_000_000, "NVIDIA GeForce RTX 3060")
    ),
}

ANSWERS: dict[str, AnswerPage] = {
    "loading": AnswerPage(
        "Loading Qwen3-0.6B", "The first time takes a little longer.", QUESTION, share=0.43
    ),
    "answering": AnswerPage(
        "The first answer", "It comes from this computer alone.", QUESTION, answer="Hello, and wel"
    ),
    "done": AnswerPage(
        "Qwen3-0.6B is ready",
        "It answered on this computer. Nothing that you write leaves it.",
        QUESTION,
        answer="Hello, and welcome: 你好，很高兴和你聊天 😊",
        numbers_text="312.4 tokens/s on NVIDIA GeForce RTX 3060. The first word came after 0.08 s.",
    ),
}

CHINESE_ROW = FileRow("模型权重文件（主文件）", 0.43, "648 兆，共 1,503 兆", FileState.RUNNING)
