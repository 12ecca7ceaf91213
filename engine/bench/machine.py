"""The machine that was measured, in facts: device, driver, clocks, commit. Nothing is set."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SMI_FIELDS = {
    "sm_mhz": "clocks.sm",
    "memory_mhz": "clocks.mem",
    "max_sm_mhz": "clocks.max.sm",
    "max_memory_mhz": "clocks.max.mem",
    "power_w": "power.draw",
    "temperature_c": "temperature.gpu",
}
_SMI_TIMEOUT_S = 10.0
_CHECKOUT = Path(__file__).resolve().parents[2]


def commit(asked: str | None = None) -> str:
    """Short id of the commit that runs, with "+" where files differ from it.

    `asked` names it where the checkout's history is not at hand.
    """
    if asked:
        return asked
    name = _output(["git", "-C", str(_CHECKOUT), "rev-parse", "--short=9", "HEAD"])
    if not name:
        return "unknown"
    changed = _output(
        ["git", "-C", str(_CHECKOUT), "status", "--porcelain", "--untracked-files=no"]
    )
    return f"{name}+" if changed else name


def host() -> dict[str, object]:
    """Facts about the processor side."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }


def gpu_driver(pci_bus_id: str) -> str:
    """The driver's version, "" where it cannot be read."""
    nvml = _Nvml.open(pci_bus_id)
    if nvml is not None:
        return nvml.driver
    return _smi(pci_bus_id, ["driver_version"])[0] or ""


def gpu_clocks(pci_bus_id: str) -> dict[str, float]:
    """Clocks in MHz, power in W and temperature now; empty where nothing tells them."""
    nvml = _Nvml.open(pci_bus_id)
    if nvml is not None:
        return nvml.clocks()
    values = _smi(pci_bus_id, list(_SMI_FIELDS.values()))
    found = zip(_SMI_FIELDS, values, strict=True)
    return {name: float(value) for name, value in found if _is_number(value)}


def file_name(date: str, device: str, commit_id: str) -> str:
    """Name of a result file: date, device and commit."""
    slug = re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
    return f"{date}_{slug}_{commit_id.replace('+', '-changed')}.json"


class _Nvml:
    """NVIDIA's management library, where its Python package is installed."""

    def __init__(self, library: Any, handle: Any) -> None:  # noqa: ANN401  (a module, a handle)
        self._library = library
        self._handle = handle

    @classmethod
    def open(cls, pci_bus_id: str) -> _Nvml | None:
        try:
            import pynvml
        except ImportError:
            return None
        try:
            pynvml.nvmlInit()
            return cls(pynvml, pynvml.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode()))
        except pynvml.NVMLError:
            return None

    @property
    def driver(self) -> str:
        version = self._library.nvmlSystemGetDriverVersion()
        return version.decode() if isinstance(version, bytes) else str(version)

    def clocks(self) -> dict[str, float]:
        nvml, handle = self._library, self._handle
        readers: dict[str, Callable[[], float]] = {
            "sm_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
            "memory_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
            "max_sm_mhz": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM),
            "max_memory_mhz": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_MEM),
            "power_w": lambda: nvml.nvmlDeviceGetPowerUsage(handle) / 1000,
            "temperature_c": lambda: nvml.nvmlDeviceGetTemperature(handle, 0),
        }
        found: dict[str, float] = {}
        for name, read in readers.items():
            try:
                found[name] = float(read())
            except nvml.NVMLError:
                continue  # this GPU does not tell it
        return found


def _smi(pci_bus_id: str, fields: list[str]) -> list[str]:
    """What nvidia-smi says of these fields; empty texts where it is missing or refuses."""
    command = ["nvidia-smi", f"--id={pci_bus_id}", f"--query-gpu={','.join(fields)}"]
    line = _output([*command, "--format=csv,noheader,nounits"])
    values = [value.strip() for value in line.split(",")]
    return values if len(values) == len(fields) else [""] * len(fields)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?\d+(\.\d+)?", text) is not None


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SMI_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
