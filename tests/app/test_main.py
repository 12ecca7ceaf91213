"""The command line, one instance per profile, and what is imported before the window shows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from app import __version__
from app.main import has_display, parse_arguments, start_options
from app.memory_estimate import MemoryEstimate, estimate_memory, no_estimate
from app.single_instance import SingleInstance

ROOT = Path(__file__).resolve().parents[2]
ENV = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}


def run(*words: str, code: str = "", env: dict[str, str] = ENV) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code] if code else [sys.executable, "-m", "app", *words]
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=100, check=False
    )


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--nonsense"], "--nonsense"),
        (["--device", "tpu"], "tpu"),
        (["--model", "/no/such/model"], "/no/such/model"),
        (["--profile", __file__], "is not a folder"),
        (["file.gguf"], "file.gguf"),
        (["--model"], "--model"),
        (["--model", ""], "empty"),
        (["--profile", " "], "empty"),
        (["--profile", "/tmp/\udcff"], "UTF-8"),
    ],
)
def test_bad_arguments_give_one_line_and_exit_code_2(capsys, words, named):
    with pytest.raises(SystemExit) as caught:
        parse_arguments(words)
    assert caught.value.code == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert named in printed


@pytest.mark.parametrize(
    ("environment", "platform", "possible"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ""}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux", True),
        ({}, "win32", True),
    ],
)
def test_a_session_without_a_desktop_is_told_apart(environment, platform, possible):
    assert has_display(environment, platform) is possible


def test_without_a_desktop_the_app_says_so_and_exits_2():
    bare = {key: value for key, value in ENV.items() if "DISPLAY" not in key}
    del bare["QT_QPA_PLATFORM"]
    done = run("--scripted", env=bare)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "needs a desktop" in done.stderr


def test_a_lock_that_cannot_be_made_is_not_taken_for_another_instance(tmp_path):
    lock = SingleInstance(tmp_path / "no-such-folder" / "instance.lock")
    assert not lock.acquire()
    assert not lock.held_by_other


def test_on_a_full_disk_the_first_to_listen_has_the_profile(qtbot, tmp_path, monkeypatch):
    lock_file = tmp_path / "no-such-folder" / "instance.lock"  # there, too, no lock can be made
    monkeypatch.setattr("app.single_instance.disk_is_full", lambda folder: True)
    first, second = SingleInstance(lock_file), SingleInstance(lock_file)
    raised: list[int] = []
    first.raised = lambda: raised.append(1)
    assert first.acquire()
    assert not second.acquire()
    assert second.held_by_other
    qtbot.waitUntil(lambda: bool(raised), timeout=20_000)
    first.release()
    assert SingleInstance(lock_file).acquire()


def test_good_arguments(tmp_path):
    found = parse_arguments(["--profile", str(tmp_path), "--device", "cpu", "--open-chat", "c1"])
    assert (found.profile, found.device, found.open_chat) == (tmp_path, "cpu", "c1")
    assert parse_arguments([]).profile is None


def test_the_version_is_that_of_the_package(capsys):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
    with pytest.raises(SystemExit) as caught:
        parse_arguments(["--version"])
    assert caught.value.code == 0
    assert __version__ in capsys.readouterr().out


def test_a_second_instance_is_refused_and_the_first_comes_to_the_front(qtbot, tmp_path):
    lock_file = tmp_path / "instance.lock"
    first, second = SingleInstance(lock_file), SingleInstance(lock_file)
    raised: list[int] = []
    first.raised = lambda: raised.append(1)
    assert first.acquire()
    assert not second.acquire()
    assert second.held_by_other
    assert second.raise_other()
    qtbot.waitUntil(lambda: bool(raised), timeout=20_000)
    first.release()
    assert second.acquire()
    second.release()


def test_another_profile_is_another_instance(qtbot, tmp_path):
    first = SingleInstance(tmp_path / "a.lock")
    second = SingleInstance(tmp_path / "b.lock")
    assert first.acquire()
    assert second.acquire()
    first.release()
    second.release()


def test_importing_the_app_and_its_window_imports_no_numpy_no_cupy_and_no_downloader():
    code = "import app.main, sys; print(sorted(m.split('.')[0] for m in sys.modules))"
    done = run(code=code)
    assert done.returncode == 0, done.stderr
    for heavy in ("numpy", "cupy", "huggingface_hub", "tokenizers", "gguf", "pynvml", "numba"):
        assert f"'{heavy}'" not in done.stdout, f"importing the app imports {heavy}"


SHOWN = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
import app.application as application
from app.ui.main_window import MainWindow

show = MainWindow.show
def on_show(window):
    show(window)
    print([name for name in ("numpy", "cupy", "tokenizers") if name in sys.modules], flush=True)
    window.close()
MainWindow.show = on_show
from app.main import main
sys.exit(main(["--profile", sys.argv[1], "--scripted"]))
"""


def test_the_window_shows_before_anything_heavy_is_imported(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", SHOWN, str(tmp_path)],
        cwd=ROOT, env=ENV, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_ctrl_c_closes_in_order_and_a_second_start_is_told(tmp_path):
    command = [sys.executable, "-m", "app", "--profile", str(tmp_path), "--scripted"]
    first = subprocess.Popen(
        command, cwd=ROOT, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    log = tmp_path / "logs" / "thinkpane.log"
    database = tmp_path / "chats.db"
    # Made once the window is there; the test's own time limit ends this otherwise.
    while not (log.exists() and database.exists()) and first.poll() is None:
        time.sleep(0.05)
    second = run("--profile", str(tmp_path), "--scripted")
    assert second.returncode == 0, second.stderr
    assert "already running" in second.stdout
    first.send_signal(signal.SIGINT)
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    assert "Traceback" not in out + err
    assert (tmp_path / "settings.json").exists()
    assert run("--profile", str(tmp_path), "--version").returncode == 0


@pytest.mark.slow
def test_self_test_prints_one_line_and_exits_0():
    done = run("--self-test")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith("self-test: ok")


def test_a_profile_that_cannot_be_made_is_refused_in_words(tmp_path):
    (tmp_path / "file").write_text("x")
    done = run("--profile", str(tmp_path / "file" / "profile"))
    assert done.returncode == 2
    assert "cannot be written to" in done.stderr
    assert "Traceback" not in done.stderr


def test_written_replies_have_no_weights_whose_memory_could_be_told():
    told = [start_options(parse_arguments(words)).estimate for words in ([], ["--scripted"])]
    assert told == [estimate_memory, no_estimate]
    assert no_estimate(Path("any"), "cpu", 8_192, None) == MemoryEstimate("", fits=True)
