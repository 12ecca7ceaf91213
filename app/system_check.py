"""What this computer offers, in plain words: driver, GPU, its memory, main memory, disk, folder.

Qt-free, and it may take seconds (a driver can be slow to answer): run it off the GUI thread. Only a
folder that cannot be written to is a failure; without a GPU the processor answers, more slowly.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from app.fault_text import os_reason
from app.gpu_memory import GpuFacts, ask_nvml
from app.language import translate
from app.wizard_view import CheckItem, CheckState
from engine.errors import FolderNotWritable
from engine.models.memory_plan import free_ram_bytes
from engine.models.model_install import require_writable

OLDEST_DRIVER = (525, 60)
"""First driver branch that runs programs built with CUDA 12."""
OLDEST_CAPABILITY = (7, 5)
_SMI_TIMEOUT_S = 10.0
_PROC_VERSION = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True, slots=True)
class SystemReport:
    """All checks, and the numbers behind them (0 where unknown)."""

    items: tuple[CheckItem, ...]
    gpu: GpuFacts
    gpu_usable: bool
    free_ram_bytes: int
    free_disk_bytes: int

    @property
    def can_continue(self) -> bool:
        """Whether nothing failed outright."""
        return all(item.state is not CheckState.FAIL for item in self.items)


def check_system(
    models_dir: Path,
    needed_disk_bytes: int,
    probe: Callable[[], GpuFacts] | None = None,
    free_ram: Callable[[], int] = free_ram_bytes,
) -> SystemReport:
    """Look at everything once; `needed_disk_bytes` is what the download still takes."""
    gpu = (probe or probe_gpu)()
    driver, gpu_item = _driver_item(gpu), _gpu_item(gpu)
    gpu_usable = driver.state is CheckState.OK and gpu_item.state is CheckState.OK
    ram_bytes = free_ram()
    folder = _folder_item(models_dir)
    disk_bytes = _free_disk(models_dir)
    items = [driver, gpu_item]
    if gpu.free_bytes is not None and gpu.total_bytes is not None:
        words = translate("Check", "{free} of {total} free")
        found = words.format(free=gigabytes(gpu.free_bytes), total=gigabytes(gpu.total_bytes))
        items.append(CheckItem("gpu_memory", translate("Check", "GPU memory"), found))
    items.append(
        CheckItem(
            "ram",
            translate("Check", "Main memory"),
            translate("Check", "{size} free").format(size=gigabytes(ram_bytes)),
        )
    )
    items += [_disk_item(disk_bytes, needed_disk_bytes), folder]
    return SystemReport(tuple(items), gpu, gpu_usable, ram_bytes, disk_bytes)


def gigabytes(nbytes: int) -> str:
    """A size as people read it: "11.4 MB", "1.50 GB", "112 GB"."""
    if nbytes < 1000**2:
        return f"{max(1, round(nbytes / 1000)) if nbytes else 0} KB"
    if nbytes < 1000**3:
        return f"{nbytes / 1e6:.1f} MB" if nbytes < 1e8 else f"{nbytes / 1e6:,.0f} MB"
    value = nbytes / 1e9
    decimals = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:,.{decimals}f} GB"


def _slowly() -> str:
    return translate("Check", "Answers then come from the processor, more slowly.")


def _driver_item(gpu: GpuFacts) -> CheckItem:
    label = translate("Check", "NVIDIA driver")
    if not gpu.driver_version:
        advice = translate(
            "Check",
            "{slowly} If this computer has an NVIDIA GPU, install its driver and check again.",
        ).format(slowly=_slowly())
        return CheckItem("driver", label, translate("Check", "Not found"), CheckState.WARN, advice)
    numbers = tuple(int(part) for part in re.findall(r"\d+", gpu.driver_version)[:2])
    if numbers < OLDEST_DRIVER:
        oldest = ".".join(str(number) for number in OLDEST_DRIVER)
        advice = translate("Check", "Too old: {oldest} or newer is needed. {slowly}").format(
            oldest=oldest, slowly=_slowly()
        )
        return CheckItem("driver", label, gpu.driver_version, CheckState.WARN, advice)
    return CheckItem("driver", label, gpu.driver_version)


def _gpu_item(gpu: GpuFacts) -> CheckItem:
    if not gpu.name:
        return CheckItem(
            "gpu", "GPU", translate("Check", "No NVIDIA GPU found"), CheckState.WARN, _slowly()
        )
    if gpu.compute_capability is not None and gpu.compute_capability < OLDEST_CAPABILITY:
        advice = translate(
            "Check", "Older than the GPUs that Thinkpane can use (from 2018 on). {slowly}"
        ).format(slowly=_slowly())
        return CheckItem("gpu", "GPU", gpu.name, CheckState.WARN, advice)
    return CheckItem("gpu", "GPU", gpu.name)


def _disk_item(free_bytes: int, needed_bytes: int) -> CheckItem:
    found = translate("Check", "{size} free").format(size=gigabytes(free_bytes))
    if free_bytes < needed_bytes:
        advice = translate(
            "Check", "The download takes {needed}. Free some space and check again."
        ).format(needed=gigabytes(needed_bytes))
        return CheckItem("disk", translate("Check", "Free disk"), found, CheckState.WARN, advice)
    return CheckItem("disk", translate("Check", "Free disk"), found)


def _folder_item(folder: Path) -> CheckItem:
    label = translate("Check", "Folder for models")
    try:
        require_writable(folder)
    except FolderNotWritable as error:
        advice = translate(
            "Check",
            "Cannot be written to: {reason}. Make it writable and check again, or start "
            "Thinkpane with --profile and another folder.",
        ).format(reason=os_reason(error.errno))
        return CheckItem("folder", label, str(folder), CheckState.FAIL, advice)
    return CheckItem("folder", label, str(folder))


def _free_disk(folder: Path) -> int:
    for candidate in (folder, *folder.parents):
        try:
            return shutil.disk_usage(candidate).free
        except OSError:
            continue
    return 0


def probe_gpu() -> GpuFacts:
    """Ask the driver: through its library where its Python wrapper is installed, else its tool."""
    return ask_nvml() or _ask_smi() or _ask_proc() or GpuFacts()


def _ask_smi() -> GpuFacts | None:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    query = "driver_version,name,memory.free,memory.total,compute_cap"
    command = [tool, f"--query-gpu={query}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(
            command, capture_output=True, text=True, timeout=_SMI_TIMEOUT_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    return parse_smi(answer)


def parse_smi(answer: str) -> GpuFacts | None:
    """The first GPU of what nvidia-smi prints; None where it prints something else."""
    parts = (
        [part.strip() for part in answer.strip().splitlines()[0].split(",")]
        if answer.strip()
        else []
    )
    try:
        driver, name, free_mib, total_mib, capability = parts
        major, minor = capability.split(".")
        mib = 1 << 20
        return GpuFacts(
            driver, name, int(free_mib) * mib, int(total_mib) * mib, (int(major), int(minor))
        )
    except ValueError:
        return None


def _ask_proc() -> GpuFacts | None:
    """The driver alone; where NVML and nvidia-smi are missing, nothing tells more."""
    try:
        text = _PROC_VERSION.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b", text)
    return GpuFacts(found[1]) if found else None
