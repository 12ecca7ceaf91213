"""Free memory goes back to the system when another chat is shown."""

import sys

import pytest

from app import application as application_module
from app.free_memory import return_free_memory
from tests.app.test_application import runner as runner


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc alone keeps free memory")
def test_it_asks_glibc():
    assert return_free_memory()


def test_other_systems_are_left_alone(monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    assert not return_free_memory()


def test_it_is_given_back_once_after_another_chat_is_shown(runner, monkeypatch):
    calls = []
    monkeypatch.setattr(application_module, "return_free_memory", lambda: calls.append(1))
    app = runner.start()
    runner.wait(lambda: len(calls) == 1)
    app._on_tick()
    app.window.new_chat_requested.emit()
    runner.ask(app, "Another one?")
    runner.wait_done(app)
    app.window.new_chat_requested.emit()
    runner.wait(lambda: len(calls) == 2)
    app._on_tick()
    app._on_tick()
    assert len(calls) == 2
