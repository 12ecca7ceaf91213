"""The thinking switch, judged by the token ids that the model reads (LM#2274, LM#1933).

The demo model has the template of Qwen3: without thinking its prompt ends with an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from app.application import Application
from app.conversation import Reply, ReplyStatus
from app.engine_builder import build_engine
from app.self_test import self_test_model
from app.settings import Settings, with_value
from app.settings_file import Profile, save_profile
from engine.cpu.cpu_backend import CpuBackend
from engine.text.tokenizer import Tokenizer
from tests.app.test_application import Runner

OPEN = "<|im_start|>assistant\n"
WITHOUT = f"{OPEN}<think>\n\n</think>\n\n"


@pytest.fixture
def runner(qtbot, tmp_path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path / "profile")
    settings = Settings()
    for name, value in (("device", "cpu"), ("context_tokens", 1024), ("temperature", 0.0)):
        settings = with_value(settings, name, value)
    save_profile(made.paths.settings_file, Profile(settings))
    yield made
    for application in list(made.running):
        made.close(application)


@pytest.fixture
def prompts(monkeypatch) -> list[str]:
    """The end of each prompt that was read, as text; the part that the cache held is left out."""
    read: list[str] = []
    tokenizer = Tokenizer.from_folder(self_test_model().path)
    prefill = CpuBackend.prefill

    def recorded(self, slot, token_ids, sample, *rest):
        if sample:
            read.append("".join(tokenizer.token_text(each) for each in token_ids))
        return prefill(self, slot, token_ids, sample, *rest)

    monkeypatch.setattr(CpuBackend, "prefill", recorded)
    return read


def start(runner: Runner) -> Application:
    build = partial(build_engine, runner.paths.models_dir, runner.paths.kernel_cache_dir)
    return runner.start(models=(self_test_model(),), factory=build)


def ask(runner: Runner, app: Application, question: str) -> Reply:
    before = len(app.chats.shown.exchanges)
    runner.ask(app, question)
    runner.wait(lambda: len(app.chats.shown.exchanges) > before)
    return runner.wait_done(app)


@pytest.mark.slow
def test_what_the_model_reads_has_the_form_without_thinking_each_time(runner, prompts):
    app = start(runner)
    assert ask(runner, app, "What is 48 + 76?").thinking.strip()
    assert prompts[-1].endswith(OPEN)
    app.window.composer.thinking.click()
    for number in range(3):
        reply = ask(runner, app, f"What is {number} + 5?")
        assert (reply.status, reply.thinking) == (ReplyStatus.DONE, "")
    chat = app.chats.shown_id
    runner.close(app)
    again = start(runner)
    runner.wait(lambda: again.chats.shown_id == chat)
    assert ask(runner, again, "What is 9 + 5?").thinking == ""
    assert len(prompts) == 5
    assert all(prompt.endswith(WITHOUT) for prompt in prompts[1:]), prompts
    again.window.composer.thinking.click()
    assert ask(runner, again, "What is 8 + 5?").thinking.strip()
    assert prompts[-1].endswith(OPEN)
