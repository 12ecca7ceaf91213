"""Make the virtual environment and the system libraries that a make target needs; fast when done.

Standard library only: it runs before anything is installed, as
`python3 packaging/ensure_environment.py PROFILE`. A stamp holds the hash of each requirement
file, so that a second call costs milliseconds.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

QT_LIBRARIES = {
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-shape.so.0": "libxcb-shape0",
}
FONT_PACKAGES = {
    "/usr/share/fonts/truetype/dejavu": "fonts-dejavu-core",
    "/usr/share/fonts/truetype/wqy": "fonts-wqy-microhei",
    "/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf": "fonts-noto-color-emoji",
}
SCREEN_PROGRAMS = {
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "openbox": "openbox",
    "import": "imagemagick",
}
COMPILER = {"g++": "g++"}


@dataclass(frozen=True)
class Profile:
    """What one make target needs: pip requirement sets, and system packages by what proves them."""

    venv: str
    requirements: tuple[str, ...]
    libraries: bool = True
    programs: tuple[tuple[str, str], ...] = ()
    fonts: bool = False


PROFILES = {
    "run": Profile(".venv", ("app",)),
    "test": Profile(".venv", ("app", "dev", "cpu"), fonts=True),
    "kernels": Profile(".venv", ("app", "dev", "cpu", "kernels"), programs=(("g++", "g++"),)),
    "real": Profile(
        ".venv", ("app", "dev", "cpu"), programs=tuple(SCREEN_PROGRAMS.items()), fonts=True
    ),
    "oracle": Profile(".venv-oracle", ("dev", "cpu", "oracle", "torch")),
}


def main() -> int:
    """Bring the environment of the named profile up to date; 0 when everything is there."""
    if len(sys.argv) != 2 or sys.argv[1] not in PROFILES:
        return _fail(f"use: ensure_environment.py {'|'.join(PROFILES)}")
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return _fail(
            f"Python 3.11 to 3.13 is needed; this is {platform.python_version()}. "
            "Name another with: make PYTHON=python3.12 ..."
        )
    profile = PROFILES[sys.argv[1]]
    missing = _missing_system_packages(profile)
    if missing and not _install_system_packages(missing):
        return 1
    return _ensure_venv(profile)


def _fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _missing_system_packages(profile: Profile) -> list[str]:
    if not sys.platform.startswith("linux"):
        return []
    missing = []
    if not (ROOT / profile.venv / "bin" / "pip").exists():
        try:
            import ensurepip
            import venv  # noqa: F401

            ensurepip.version()
        except ImportError:
            missing.append(f"python{sys.version_info[0]}.{sys.version_info[1]}-venv")
    if profile.libraries:
        missing += [name for library, name in QT_LIBRARIES.items() if not _loads(library)]
    missing += [name for program, name in profile.programs if shutil.which(program) is None]
    if profile.fonts:
        missing += [name for path, name in FONT_PACKAGES.items() if not Path(path).exists()]
    return missing


def _install_system_packages(names: list[str]) -> bool:
    command = ["apt-get", "install", "-y", "--no-install-recommends", *names]
    if shutil.which("apt-get") is None:
        print(f"These system packages are missing: {' '.join(names)}", file=sys.stderr)
        return False
    if os.geteuid() != 0:
        print(f"Please run this once, then try again:\n  sudo {' '.join(command)}", file=sys.stderr)
        return False
    print(f"Installing system packages: {' '.join(names)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=environment, check=False)
    done = subprocess.run(
        [*command, "-qq"], env=environment, stdout=subprocess.DEVNULL, check=False
    )
    if done.returncode != 0:
        print(f"This command failed: {' '.join(command)}", file=sys.stderr)
    return done.returncode == 0


def _has_nvidia_gpu() -> bool:
    return Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi") is not None


def _requirement_sets(profile: Profile) -> list[str]:
    sets = list(profile.requirements)
    if profile.venv == ".venv" and platform.machine() == "x86_64":
        # Without a GPU numba doubles the speed of the NumPy backend; with one, CuPy is the engine.
        extra = "gpu" if _has_nvidia_gpu() else "cpu"
        if extra not in sets:
            sets.append(extra)
    return sets


def _ensure_venv(profile: Profile) -> int:
    folder = ROOT / profile.venv
    python = folder / "bin" / "python"
    stamps = folder / ".installed"
    if not python.exists():
        print(f"Making {profile.venv} with Python {platform.python_version()}", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    stamps.mkdir(exist_ok=True)
    for name in _requirement_sets(profile):
        file = ROOT / "requirements" / f"{name}.txt"
        stamp = stamps / name
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if stamp.exists() and stamp.read_text() == digest:
            continue
        print(f"Installing {file.relative_to(ROOT)}", flush=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "-r", str(file)]
        # torch alone is taken as its CPU wheel is offered, so its file has no hashes.
        if name != "torch":
            command.insert(5, "--require-hashes")
        done = subprocess.run(command, check=False)
        if done.returncode != 0:
            return _fail(f"Installing {file.name} failed; the lines above say why.")
        stamp.write_text(digest)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
