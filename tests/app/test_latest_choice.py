"""What the user chose last holds, however late the answer to an earlier choice comes."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.chat_view import ModelState
from app.model_records import ModelRecord, look_at_disk
from tests.app.test_application import Runner

MODELS = tuple(ModelRecord(name, name, Path(sys.executable)) for name in ("m1", "m2"))


@pytest.fixture
def runner(qtbot, tmp_path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    yield made
    for application in list(made.running):
        made.close(application)


class SlowDisk:
    """Looks at the disk when it is let go."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.answers = threading.Event()

    def look(self, *arguments: object) -> object:
        self.asked.set()
        assert self.answers.wait(30)
        return look_at_disk(*arguments)  # type: ignore[arg-type]


@pytest.fixture
def slow_disk(monkeypatch) -> Iterator[SlowDisk]:
    disk = SlowDisk()
    yield disk
    disk.answers.set()


def test_a_model_that_is_chosen_meanwhile_is_not_taken_away_again(runner, slow_disk, monkeypatch):
    app = runner.start(models=MODELS)
    runner.wait(lambda: app.models.info is not None)
    assert app.models.active_id == "m1"
    monkeypatch.setattr("app.application.look_at_disk", slow_disk.look)
    # The wizard's "Try the demo model": its files are looked at before it is used.
    app.wizard.model_ready(MODELS[0].path, "m1")
    runner.wait(slow_disk.asked.is_set)
    app.window.model_selected.emit("m2")
    runner.wait(lambda: app.models.state("m2") is ModelState.READY)
    slow_disk.answers.set()
    looked: list[bool] = []
    app._jobs.run(lambda: True, looked.append)  # done after it, and told after it
    runner.wait(lambda: bool(looked))
    assert app.models.active_id == "m2"
    assert app.models.state("m2") is ModelState.READY


def test_a_model_of_the_wizard_is_used_where_nothing_else_was_chosen(
    runner, slow_disk, monkeypatch
):
    app = runner.start(models=MODELS)
    runner.wait(lambda: app.models.info is not None)
    monkeypatch.setattr("app.application.look_at_disk", slow_disk.look)
    app.window.model_selected.emit("m1")
    app.wizard.model_ready(MODELS[1].path, "m2")
    slow_disk.answers.set()
    runner.wait(lambda: app.models.state("m2") is ModelState.READY)
    assert app.models.active_id == "m2"
