"""What is said where system packages are missing: one command, or one reason."""

import subprocess
from pathlib import Path

import pytest

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGING))
    import system_packages

    return system_packages


def on_path(monkeypatch, module, *programs: str) -> None:
    monkeypatch.setattr(module.shutil, "which", lambda name: name if name in programs else None)


@pytest.mark.parametrize(
    ("programs", "start"),
    [(("apt-get", "sudo"), "sudo sh -c 'apt-get update && "), (("apt-get",), "su -c 'apt-get upd")],
)
def test_a_user_who_is_not_root_is_given_exactly_one_command(module, monkeypatch, programs, start):
    on_path(monkeypatch, module, *programs)
    monkeypatch.setattr(module.os, "geteuid", lambda: 1000)
    monkeypatch.setattr(module.subprocess, "run", lambda *_, **__: pytest.fail("ran something"))
    with pytest.raises(module.SetupError) as caught:
        module.install(["python3.11-venv", "libegl1"])
    [command] = [line for line in str(caught.value).splitlines() if line.startswith("  ")]
    assert command.strip().startswith(start)
    assert command.endswith("install -y --no-install-recommends python3.11-venv libegl1'")


def test_without_apt_the_packages_are_named(module, monkeypatch):
    on_path(monkeypatch, module)
    with pytest.raises(module.SetupError, match="libegl1"):
        module.install(["libegl1"])


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("W: x\nE: Unable to locate package libegl1\n", "cannot be reached; check the network"),
        ("W: x\nE: Sub-process dpkg returned an error\n", "Sub-process dpkg returned an error"),
        ("", "without a reason"),
    ],
)
def test_a_failure_of_apt_is_one_line_with_the_command(module, monkeypatch, said, named):
    on_path(monkeypatch, module, "apt-get")
    monkeypatch.setattr(module.os, "geteuid", lambda: 0)
    ran = []

    def run(command, **_):
        ran.append(command[:2])
        failed = "install" in command
        return subprocess.CompletedProcess(command, 100 if failed else 0, said if failed else "")

    monkeypatch.setattr(module.subprocess, "run", run)
    with pytest.raises(module.SetupError) as caught:
        module.install(["libegl1"])
    assert ran == [("dpkg", "--configure"), ("apt-get", "update"), ("apt-get", "install")]
    assert "\n" not in str(caught.value)
    assert named in str(caught.value)
    assert "apt-get install -y --no-install-recommends libegl1" in str(caught.value)


def test_what_is_there_is_not_missing_and_what_is_not_is(module, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "QT_LIBRARIES", {"libc.so.6": "libc6", "libno.so.9": "libno9"})
    assert module.missing_libraries() == ["libno9"]
    assert module.missing_programs({"sh": "dash", "no-such-program": "none"}) == ["none"]
    monkeypatch.setattr(module, "_FONTS", tmp_path)
    monkeypatch.setattr(module, "FONTS", {"one": ("a.ttf", "b.ttf"), "two": ("c.ttf",)})
    (tmp_path / "b.ttf").touch()
    assert module.missing_fonts() == ["two"]
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda name: None)
    [package] = module.missing_venv_package()
    assert package.startswith("python3.")
    assert package.endswith("-venv")
