"""What the driver tells of the GPU's memory, and what of it belongs to other programs."""

from __future__ import annotations

import os
import sys
import types

import pytest

from app.gpu_memory import GpuFacts, GpuMemory, ask_nvml, read_gpu_memory
from tests.app.test_system_check import NvmlError, nvml

GB = 10**9


def install(monkeypatch: pytest.MonkeyPatch, **changes: object) -> None:
    memory = types.SimpleNamespace(free=8 * GB, total=12 * GB)
    calls = {"nvmlDeviceGetMemoryInfo": lambda _handle: memory} | changes
    monkeypatch.setitem(sys.modules, "pynvml", nvml(**calls))


def process(pid: int, used: int | None) -> types.SimpleNamespace:
    return types.SimpleNamespace(pid=pid, usedGpuMemory=used)


def test_own_memory_is_that_of_this_process(monkeypatch):
    running = [process(os.getpid() + 1, 3 * GB), process(os.getpid(), GB)]
    install(monkeypatch, nvmlDeviceGetComputeRunningProcesses=lambda _handle: running)
    memory = read_gpu_memory()
    assert memory == GpuMemory("NVIDIA H200", 4 * GB, 12 * GB, GB)
    assert memory.others_bytes(planned_bytes=2 * GB) == 3 * GB


@pytest.mark.parametrize("running", [[], [process(os.getpid(), None)], [process(1, GB)]])
def test_where_processes_are_not_told_our_part_is_what_was_planned(monkeypatch, running):
    install(monkeypatch, nvmlDeviceGetComputeRunningProcesses=lambda _handle: running)
    memory = read_gpu_memory()
    assert memory is not None
    assert memory.own_bytes is None
    assert memory.others_bytes(planned_bytes=3 * GB) == GB
    assert memory.others_bytes(planned_bytes=5 * GB) == 0, "never less than nothing"


def test_a_driver_that_does_not_list_processes_still_tells_the_memory(monkeypatch):
    def refuse(_handle: object) -> None:
        raise NvmlError

    install(monkeypatch, nvmlDeviceGetComputeRunningProcesses=refuse)
    assert read_gpu_memory() == GpuMemory("NVIDIA H200", 4 * GB, 12 * GB)


def test_names_in_bytes_are_read_too(monkeypatch):
    install(
        monkeypatch,
        nvmlDeviceGetName=lambda _handle: b"Tesla \xff",
        nvmlSystemGetDriverVersion=lambda: b"470.1",
    )
    facts = ask_nvml()
    assert facts is not None
    assert (facts.name, facts.driver_version) == ("Tesla \ufffd", "470.1")


def test_no_gpu_has_no_memory(monkeypatch):
    install(monkeypatch, nvmlDeviceGetCount=lambda: 0)
    assert ask_nvml() == GpuFacts("580.1")
    assert read_gpu_memory() is None
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert ask_nvml() is None
    assert read_gpu_memory() is None
