"""Set-up in a folder of its own, with a wheel made here: no network and no system package."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
pytestmark = pytest.mark.slow


def make_wheel(folder: Path, version: str) -> str:
    """A wheel of one module; returns its line in a requirement file."""
    info = f"probe-{version}.dist-info"
    wheel = folder / f"probe-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("probe.py", f"VERSION = {version!r}\n")
        archive.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: probe\nVersion: {version}\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"probe=={version} --hash=sha256:{digest}\n"


class Checkout:
    """A folder with the script, and one requirement that a wheel beside it meets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.wheels = folder / "wheels"
        for name in ("packaging", "requirements", "wheels"):
            (folder / name).mkdir()
        for file in PACKAGING.glob("*.py"):
            shutil.copy(file, folder / "packaging")
        for name in ("cpu", "gpu"):
            (folder / "requirements" / f"{name}.txt").touch()
        self.requires(make_wheel(self.wheels, "1.0"))
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("PIP_") and k != "PYTHON"},
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(self.wheels),
        }

    @property
    def stamps(self) -> Path:
        return self.folder / ".venv" / ".installed"

    def requires(self, line: str) -> None:
        (self.folder / "requirements" / "app.txt").write_text(line)

    def begin(self, **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, str(self.folder / "packaging" / "ensure_environment.py"), "run"],
            env=self.environment | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def ensure(self, **environment: str) -> tuple[int, str]:
        process = self.begin(**environment)
        said, _ = process.communicate(timeout=100)
        return process.returncode, said

    def installed_version(self) -> str:
        python = self.folder / ".venv" / "bin" / "python"
        code = "import probe; print(probe.VERSION)"
        return subprocess.run(
            [python, "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Checkout:
    checkout = Checkout(tmp_path_factory.mktemp("checkout"))
    code, said = checkout.ensure()
    assert code == 0, said
    return checkout


def test_a_second_call_finds_nothing_to_do(made):
    assert made.ensure() == (0, "")
    assert made.installed_version() == "1.0"


def test_a_changed_requirement_is_installed_into_the_environment_there_is(made):
    witness = made.folder / ".venv" / "witness"
    witness.touch()
    made.requires(make_wheel(made.wheels, "2.0"))
    code, said = made.ensure()
    assert code == 0
    assert said.count("\n") == 1
    assert made.installed_version() == "2.0"
    assert witness.exists()


def test_a_cut_off_installation_is_made_anew(made):
    left_over = made.folder / ".venv" / "left-over"
    left_over.touch()
    (made.stamps / "unfinished").touch()
    code, said = made.ensure()
    assert code == 0
    assert "cut off" in said
    assert not left_over.exists()
    assert made.ensure() == (0, "")


@pytest.mark.parametrize(
    ("asked", "spoil", "reason"),
    [
        ("", lambda venv: None, None),
        ("", shutil.rmtree, "there was none"),
        ("", lambda venv: (venv / ".installed").rmdir(), "not finished"),
        ("", lambda venv: (venv / "bin" / "python").unlink(), "its Python is gone"),
        ("python3", lambda venv: None, "made with Python 3.9"),
    ],
)
def test_an_environment_that_cannot_be_used_is_made_anew(
    tmp_path, monkeypatch, asked, spoil, reason
):
    monkeypatch.syspath_prepend(str(PACKAGING))
    import ensure_environment

    venv = tmp_path / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / ".installed").mkdir()
    (venv / "bin" / "python").touch()
    (venv / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.9.2\n")
    monkeypatch.delenv("PYTHON", raising=False)
    if asked:
        monkeypatch.setenv("PYTHON", asked)
    spoil(venv)
    found = ensure_environment._why_anew(venv)
    assert (found is None) if reason is None else (reason in found)


def test_without_network_one_line_says_so_and_the_environment_stays(made):
    made.requires("absent==1.0 --hash=sha256:" + "0" * 64)
    code, said = made.ensure(
        PIP_NO_INDEX="0", PIP_INDEX_URL="http://127.0.0.1:9/simple", PIP_RETRIES="1"
    )
    assert code == 1
    assert said.splitlines()[-1].startswith("requirements/app.txt could not be installed: the pack")
    assert "Traceback" not in said
    assert made.installed_version()
    made.requires(make_wheel(made.wheels, "3.0"))
    code, said = made.ensure()
    assert code == 0
    assert "Making" not in said, "nothing was broken, so nothing needs to be made anew"


def test_a_requirement_that_cannot_be_met_is_named(made):
    made.requires("absent==1.0 --hash=sha256:" + "0" * 64)
    code, said = made.ensure()
    assert code == 1
    assert "absent==1.0" in said.splitlines()[-1]
    assert said.count("\n") == 2


def test_ctrl_c_is_one_line_and_the_next_call_repairs(tmp_path):
    checkout = Checkout(tmp_path)
    # A program inherits that SIGINT is ignored, as it is where CI runs in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = checkout.begin()
    signal.signal(signal.SIGINT, before)
    while not (tmp_path / ".venv").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.splitlines()[-1] == "Set-up was stopped; the same command takes it up again."
    code, said = checkout.ensure()
    assert code == 0
    assert "not finished" in said
    assert checkout.installed_version() == "1.0"
