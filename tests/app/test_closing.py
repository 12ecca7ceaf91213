"""Closed at any stage the process ends by itself, with 0 and without a word of a thread.

The seconds that it takes are in docs/complaints.md; the bound here is what only a process that does
not end can break.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.closing_app import Stage
from tests.demo_model.test_demo_first_run import FILES, FOLDER
from tests.engine.store.fake_hub import FakeHub, Fault

ROOT = Path(__file__).resolve().parents[2]
HANGS_S = 100.0

pytestmark = pytest.mark.slow


@pytest.fixture
def hub(monkeypatch) -> Iterator[FakeHub]:
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with FakeHub({name: (FOLDER / name).read_bytes() for name in FILES}) as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


def close_at(stage: Stage, profile: Path, *words: str) -> None:
    """Start the app, let it close itself, and hold it to an orderly end."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.app.closing_app", str(profile), stage.value, *words],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=HANGS_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "closing\n"), done.stderr
    # "QThread: Destroyed while thread is still running", tracebacks, Qt's warnings: nothing.
    assert done.stderr == ""


def questions(profile: Path) -> list[str]:
    """What the next start will find."""
    database = sqlite3.connect(profile / "chats.db")
    found = [question for (question,) in database.execute("SELECT question FROM exchange")]
    database.close()
    return found


@pytest.mark.parametrize("stage", [each for each in Stage if each is not Stage.DOWNLOAD])
def test_closing_the_window_ends_the_process_in_order(tmp_path, stage):
    close_at(stage, tmp_path)
    assert questions(tmp_path) == ([] if stage is Stage.LOAD else ["A long one?"])


@pytest.mark.parametrize("cut", [None, "stall"], ids=["arriving", "stalled"])
def test_closing_the_window_while_a_model_downloads_ends_the_process_in_order(tmp_path, hub, cut):
    hub.every_request = Fault(bytes_per_s=20_000)
    if cut is not None:
        hub.every_request = Fault(cut_after=100, cut_by=cut)
    close_at(Stage.DOWNLOAD, tmp_path)
    parts = list((tmp_path / "models").rglob("*.part"))
    assert parts, "what had arrived is kept"


@pytest.mark.parametrize("stage", [Stage.LOAD, Stage.THINKING])
def test_a_call_that_does_not_come_back_holds_up_neither_the_end_nor_the_next_start(
    tmp_path, stage
):
    close_at(stage, tmp_path, "--hang")
    close_at(Stage.ANSWERING, tmp_path)
