"""The system packages that a make target needs: which are missing, and how they get installed.

A library counts as there when it loads, a program when it is on PATH: what a package manager
calls installed says nothing on another distribution. Package names are those of Debian 12, which
Ubuntu 24.04 takes too. Standard library only.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

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
_FONTS = Path("/usr/share/fonts")
# Any one of the files will do.
FONTS = {
    "fonts-dejavu-core": ("truetype/dejavu/DejaVuSans.ttf",),
    "fonts-wqy-microhei": (
        "truetype/wqy/wqy-microhei.ttc",
        "opentype/noto/NotoSansCJK-Regular.ttc",
    ),
    "fonts-noto-color-emoji": ("truetype/noto/NotoColorEmoji.ttf",),
}
# An unattended upgrade holds dpkg's lock for minutes on a machine that has just been switched on.
_APT_INSTALL = (
    *("apt-get", "install", "-y", "-qq", "-o", "DPkg::Lock::Timeout=300"),
    "--no-install-recommends",
)
_UNREACHABLE = ("Temporary failure", "Could not connect", "Unable to locate", "Failed to fetch")


class SetupError(Exception):
    """Set-up cannot go on; the text is the whole message: what is missing and what to do."""


def missing_venv_package() -> list[str]:
    """The package that lets this Python make a virtual environment, where that is missing."""
    if importlib.util.find_spec("ensurepip") and importlib.util.find_spec("venv"):
        return []
    return [f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"]


def missing_libraries() -> list[str]:
    """The packages of the libraries Qt needs that do not load here."""
    return [package for library, package in QT_LIBRARIES.items() if not _loads(library)]


def missing_programs(packages: dict[str, str]) -> list[str]:
    """The packages, given by program, of the programs that are not on PATH."""
    return [package for program, package in packages.items() if shutil.which(program) is None]


def missing_fonts() -> list[str]:
    """The packages of the fonts for Latin text, Chinese and emoji that are not there."""
    return [
        package
        for package, files in FONTS.items()
        if not any((_FONTS / file).exists() for file in files)
    ]


def install(packages: list[str]) -> None:
    """Install with apt-get as root.

    Raises:
        SetupError: not root (the text holds the one command to run), no apt-get, or it failed.
    """
    if shutil.which("apt-get") is None:
        raise SetupError(f"Install these packages (Debian's names): {' '.join(packages)}")
    plain = f"apt-get update && apt-get install -y --no-install-recommends {' '.join(packages)}"
    if os.geteuid() != 0:
        as_root = "sudo sh -c" if shutil.which("sudo") else "su -c"
        raise SetupError(
            f"System packages are missing. Run this once, then the same command again:\n"
            f"  {as_root} {shlex.quote(plain)}"
        )
    print(f"Installing system packages: {' '.join(packages)}", flush=True)
    # The first command mends an installation that was killed; where none was it does nothing.
    said = _run("dpkg", "--configure", "-a")[1] + _run("apt-get", "update", "-qq")[1]
    code, last_words = _run(*_APT_INSTALL, *packages)
    if code != 0:
        raise SetupError(_apt_failure(said + last_words, plain))


def _apt_failure(said: str, command: str) -> str:
    if any(sign in said for sign in _UNREACHABLE):
        why = "the package mirror cannot be reached; check the network"
    else:
        errors = [line for line in said.splitlines() if line.startswith("E: ")]
        why = errors[-1].removeprefix("E: ") if errors else "apt-get failed without a reason"
    return f"System packages could not be installed: {why}. The command was: {command}"


def _run(*command: str) -> tuple[int, str]:
    """Exit code and everything it printed."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
    done = subprocess.run(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
