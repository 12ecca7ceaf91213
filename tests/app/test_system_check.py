"""What the check finds on computers with and without a GPU, room and rights."""

from __future__ import annotations

import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest

from app import system_check
from app.system_check import (
    GpuFacts,
    SystemReport,
    check_system,
    gigabytes,
    parse_smi,
    probe_gpu,
)
from app.wizard_view import CheckItem, CheckState

RTX = GpuFacts("550.54.14", "NVIDIA GeForce RTX 3060", 10_900_000_000, 12_000_000_000, (8, 6))


def check(folder: Path, gpu: GpuFacts = RTX, needed_bytes: int = 1) -> SystemReport:
    return check_system(folder, needed_bytes, probe=lambda: gpu, free_ram=lambda: 8_000_000_000)


def item(report: SystemReport, key: str) -> CheckItem:
    return next(item for item in report.items if item.key == key)


def test_computer_with_gpu_has_nothing_to_mind(tmp_path: Path) -> None:
    report = check(tmp_path / "models")
    assert {item.state for item in report.items} == {CheckState.OK}
    assert report.gpu_usable
    assert report.can_continue
    assert item(report, "gpu").found == "NVIDIA GeForce RTX 3060"
    assert item(report, "gpu_memory").found == "10.9 GB of 12.0 GB free"
    assert item(report, "ram").found == "8.00 GB free"
    assert item(report, "folder").found == str(tmp_path / "models")


def test_no_gpu_is_a_caution_and_not_a_failure(tmp_path: Path) -> None:
    report = check(tmp_path, GpuFacts())
    assert item(report, "driver").state is CheckState.WARN
    assert item(report, "gpu").state is CheckState.WARN
    assert "more slowly" in item(report, "gpu").advice
    assert not report.gpu_usable
    assert report.can_continue
    assert "gpu_memory" not in [item.key for item in report.items]


@pytest.mark.parametrize(
    ("version", "usable"),
    [("525.60.13", True), ("525.59", False), ("470.223.02", False), ("570", True)],
)
def test_old_driver_is_named(version: str, usable: bool, tmp_path: Path) -> None:
    report = check(tmp_path, GpuFacts(version, "NVIDIA GPU", 1, 2, (8, 0)))
    assert report.gpu_usable is usable
    assert item(report, "driver").found == version
    if not usable:
        assert "525.60 or newer" in item(report, "driver").advice


def test_gpu_from_before_turing_is_not_usable(tmp_path: Path) -> None:
    report = check(tmp_path, GpuFacts("550.1", "NVIDIA GeForce GTX 1080", 1, 2, (6, 1)))
    assert not report.gpu_usable
    assert item(report, "gpu").state is CheckState.WARN


def test_too_little_room_says_both_numbers(tmp_path: Path) -> None:
    needed_bytes = 10**16
    report = check(tmp_path, needed_bytes=needed_bytes)
    disk = item(report, "disk")
    assert disk.state is CheckState.WARN
    assert gigabytes(report.free_disk_bytes) in disk.found
    assert gigabytes(needed_bytes) in disk.advice


def test_folder_that_cannot_be_written_to_is_the_one_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    report = check(tmp_path / "file")
    assert item(report, "folder").state is CheckState.FAIL
    assert "--profile" in item(report, "folder").advice
    assert not report.can_continue


def test_check_leaves_nothing_behind(tmp_path: Path) -> None:
    check(tmp_path / "models")
    assert list((tmp_path / "models").iterdir()) == []


def test_smi_line_is_read() -> None:
    facts = parse_smi(
        "550.54.14, NVIDIA GeForce RTX 3060, 10395, 12288, 8.6\n550, Other, 1, 2, 7.5\n"
    )
    assert facts == GpuFacts(
        "550.54.14", "NVIDIA GeForce RTX 3060", 10395 << 20, 12288 << 20, (8, 6)
    )


@pytest.mark.parametrize("answer", ["", "\n", "No devices were found", "1, 2, 3", "a, b, c, d, e"])
def test_other_answers_of_smi_are_no_gpu(answer: str) -> None:
    assert parse_smi(answer) is None


@pytest.fixture
def no_driver(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    monkeypatch.setattr(system_check, "_PROC_VERSION", tmp_path / "version")
    return tmp_path / "version"


def test_computer_without_driver_has_no_facts(no_driver: Path) -> None:
    assert probe_gpu() == GpuFacts()


def test_driver_version_is_found_in_proc(no_driver: Path) -> None:
    no_driver.write_text(
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\n"
    )
    assert probe_gpu() == GpuFacts("550.54.14")


@pytest.mark.parametrize(
    "failure", [subprocess.TimeoutExpired("nvidia-smi", 1), OSError("no"), None]
)
def test_tool_that_fails_is_no_gpu(
    failure: Exception | None, no_driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(command: list[str], **_options: object) -> object:
        if failure is not None:
            raise failure
        raise subprocess.CalledProcessError(9, command)

    monkeypatch.setattr(shutil, "which", lambda _name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(subprocess, "run", run)
    assert probe_gpu() == GpuFacts()


class NvmlError(Exception):
    pass


def nvml(**changes: object) -> types.SimpleNamespace:
    """A stand-in for pynvml with one GPU."""
    calls = {
        "NVMLError": NvmlError,
        "nvmlInit": lambda: None,
        "nvmlSystemGetDriverVersion": lambda: "580.1",
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda _index: "handle",
        "nvmlDeviceGetMemoryInfo": lambda _handle: types.SimpleNamespace(free=3, total=4),
        "nvmlDeviceGetCudaComputeCapability": lambda _handle: (9, 0),
        "nvmlDeviceGetName": lambda _handle: "NVIDIA H200",
        "nvmlDeviceGetComputeRunningProcesses": lambda _handle: [],
    }
    return types.SimpleNamespace(**{**calls, **changes})


def test_nvml_is_asked_first(no_driver: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml())
    assert probe_gpu() == GpuFacts("580.1", "NVIDIA H200", 3, 4, (9, 0))


def test_driver_without_a_gpu_is_told_apart(
    no_driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml(nvmlDeviceGetCount=lambda: 0))
    assert probe_gpu() == GpuFacts("580.1")


@pytest.mark.parametrize("broken", ["nvmlInit", "nvmlDeviceGetMemoryInfo"])
def test_nvml_that_fails_is_passed_over(
    broken: str, no_driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: object) -> None:
        raise NvmlError

    monkeypatch.setitem(sys.modules, "pynvml", nvml(**{broken: fail}))
    assert probe_gpu() == GpuFacts()


@pytest.mark.parametrize(
    ("nbytes", "text"),
    [
        (0, "0 KB"),
        (726, "1 KB"),
        (10_697, "11 KB"),
        (11_422_654, "11.4 MB"),
        (648_000_000, "648 MB"),
        (1_503_300_328, "1.50 GB"),
        (82_600_000_000, "82.6 GB"),
        (1_234_000_000_000, "1,234 GB"),
    ],
)
def test_sizes_as_people_read_them(nbytes: int, text: str) -> None:
    assert gigabytes(nbytes) == text
