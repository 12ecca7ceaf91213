"""Make the virtual environment and the system libraries that a make target needs; fast when done.

Standard library only: it runs before anything is installed, as
`python3 packaging/ensure_environment.py PROFILE`. In the environment, `.installed/` holds the hash
of each requirement file that is installed, so that a second call costs milliseconds, and a mark
while pip is at work, so that an installation that was killed is made anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import system_packages
from system_packages import SetupError

ROOT = Path(__file__).resolve().parent.parent
SCREEN_PROGRAMS = {
    "Xvfb": "xvfb",
    "xdotool": "xdotool",
    "openbox": "openbox",
    "import": "imagemagick",
}
COMPILER = {"g++": "g++"}
_OFFLINE = (
    *("NewConnectionError", "NameResolutionError", "ConnectTimeoutError", "ReadTimeoutError"),
    *("ProxyError", "ProtocolError", "Network is unreachable", "Temporary failure in name"),
)


@dataclass(frozen=True)
class Profile:
    """What one make target needs: sets of pip requirements, and system packages."""

    venv: str
    requirements: tuple[str, ...]
    programs: dict[str, str] = field(default_factory=dict)
    needs_fonts: bool = True


PROFILES = {
    # A desktop has fonts of its own; they come along where packages are installed anyway.
    # numba doubles the speed of the NumPy backend, which also steps in where a GPU fails.
    "run": Profile(".venv", ("app", "cpu"), needs_fonts=False),
    "test": Profile(".venv", ("app", "dev", "cpu"), programs=COMPILER),
    "kernels": Profile(".venv", ("app", "dev", "cpu", "kernels"), programs=COMPILER),
    # Beside a CuPy for CUDA 12 this NVRTC would be taken in place of its own: not in .venv.
    "kernels13": Profile(".venv-nvrtc13", ("kernels13",), needs_fonts=False),
    "real": Profile(".venv", ("app", "dev", "cpu"), programs=SCREEN_PROGRAMS),
    "oracle": Profile(".venv-oracle", ("dev", "cpu", "oracle", "torch")),
}


def main() -> int:
    """Bring the environment of the named profile up to date; 0 when everything is there."""
    try:
        if len(sys.argv) != 2 or sys.argv[1] not in PROFILES:
            raise SetupError(f"use: ensure_environment.py {'|'.join(PROFILES)}")
        if not (3, 11) <= sys.version_info[:2] <= (3, 13):
            raise SetupError(f"Python 3.11 to 3.13 is needed; this is {platform.python_version()}")
        profile = PROFILES[sys.argv[1]]
        lock = _lock()
        if sys.platform.startswith("linux"):
            _ensure_system_packages(profile)
        _ensure_venv(profile, lock)
    except SetupError as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Set-up was stopped; the same command takes it up again.", file=sys.stderr)
        return 130
    return 0


def _lock() -> int:
    """A file descriptor that holds the lock of this checkout's environments while it is open."""
    lock = os.open(__file__, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Waiting for another set-up of this folder to end", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)
    return lock


def _ensure_system_packages(profile: Profile) -> None:
    missing = []
    if _why_anew(ROOT / profile.venv) is not None:
        missing += system_packages.missing_venv_package()
    missing += system_packages.missing_libraries()
    missing += system_packages.missing_programs(profile.programs)
    if profile.needs_fonts or missing:
        missing += system_packages.missing_fonts()
    if missing:
        system_packages.install(missing)


def _requirement_sets(profile: Profile) -> list[str]:
    sets = list(profile.requirements)
    has_gpu = Path("/proc/driver/nvidia/version").exists() or shutil.which("nvidia-smi")
    if profile.venv == ".venv" and platform.machine() == "x86_64" and has_gpu:
        sets.append("gpu")
    return sets


def _why_anew(folder: Path) -> str | None:
    """Why the environment must be made from nothing; None where it can be used as it is."""
    python = folder / "bin" / "python"
    if not folder.exists():
        return "there was none"
    if not python.exists() or not (folder / ".installed").is_dir():
        return "the one there was not finished or its Python is gone"
    if (folder / ".installed" / "unfinished").exists():
        return "an installation into it was cut off"
    settings = dict(
        line.split(" = ", 1)
        for line in (folder / "pyvenv.cfg").read_text().splitlines()
        if " = " in line
    )
    made_with = settings.get("version", "").split(".")[:2]
    # Another Python counts when the user named it, or when the system replaced its own by it.
    asked = "PYTHON" in os.environ or python.resolve() == Path(sys.executable).resolve()
    if asked and made_with != platform.python_version().split(".")[:2]:
        return f"it was made with Python {'.'.join(made_with)}"
    return None


def _ensure_venv(profile: Profile, lock: int) -> None:
    folder = ROOT / profile.venv
    stamps = folder / ".installed"
    reason = _why_anew(folder)
    if reason is not None:
        version = platform.python_version()
        print(f"Making {profile.venv} with Python {version}: {reason}", flush=True)
        _run([sys.executable, "-m", "venv", "--clear", str(folder)], lock, profile.venv)
        stamps.mkdir()
    for name in _requirement_sets(profile):
        file = ROOT / "requirements" / f"{name}.txt"
        stamp = stamps / name
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        if not stamp.exists() or stamp.read_text() != digest:
            _install(folder, file, lock)
            stamp.write_text(digest)


def _install(folder: Path, file: Path, lock: int) -> None:
    name = str(file.relative_to(ROOT))
    print(f"Installing {name} (the first time takes a minute or two)", flush=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "-r", str(file)]
    # torch alone is taken as its CPU wheel is offered, so its file has no hashes.
    if file.stem != "torch":
        command += ["--require-hashes", "--only-binary=:all:"]
    unfinished = folder / ".installed" / "unfinished"
    site_packages = next(folder.glob("lib/python*/site-packages"))
    before = site_packages.stat().st_mtime_ns
    unfinished.touch()
    try:
        _run(command, lock, name)
    except SetupError:
        # pip resolves and downloads before it touches anything: a failure there broke nothing.
        if site_packages.stat().st_mtime_ns == before:
            unfinished.unlink()
        raise
    unfinished.unlink()


def _run(command: list[str], lock: int, what: str) -> None:
    """Run one step of the set-up.

    The child holds the lock too: when only this script is killed, the next one waits for pip.

    Raises:
        SetupError: it failed; the text is one line made from what it printed.
    """
    done = subprocess.run(
        command,
        pass_fds=(lock,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        raise SetupError(f"{what} could not be installed: {_reason(done.stdout)}")


def _reason(said: str) -> str:
    """The cause in one line: of pip's many lines only the first error says it."""
    if "No space left on device" in said:
        return "the disk is full. Make room, then run the same command again."
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines[-1:] or ["no reason was given"])[0]
    # Without network pip says that it finds no version; a lost connection alone is no failure.
    found_none = not errors or reason.startswith("Could not find a version")
    if any(sign in (said if found_none else reason) for sign in _OFFLINE):
        return (
            "the package index cannot be reached. Check the network, then run the same command "
            "again; what is already installed stays."
        )
    return reason


if __name__ == "__main__":
    raise SystemExit(main())
