"""The real app whose engine computes on the emulated GPU: a small model, 24 tokens a reply."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pytestqt.qtbot import QtBot

from app.application import Application
from app.engine_builder import build_engine
from app.model_records import ModelRecord
from app.settings import with_value
from app.settings_file import load_profile, save_profile
from engine.models.memory_plan import plan_memory
from engine.models.model_files import open_model
from tests.app.test_application import Runner
from tests.engine.models.tiny_model import make_tiny_model

CONTEXT_TOKENS = 1024


class EmulatedRunner(Runner):
    """Starts the app inside `emulated_cupy`; the model is asked for on the GPU."""

    def __init__(self, qtbot: QtBot, folder: Path) -> None:
        super().__init__(qtbot, folder / "profile")
        self.model = make_tiny_model(folder / "models" / "qwen3")
        profile = load_profile(self.paths.settings_file).profile
        settings = profile.settings
        for name, value in (
            ("device", "cuda"),
            ("max_new_tokens", 24),
            # The likeliest token each time: then no reply ends of itself before its limit.
            ("temperature", 0.0),
            ("context_tokens", CONTEXT_TOKENS),
        ):
            settings = with_value(settings, name, value)
        save_profile(self.paths.settings_file, profile.with_settings(settings))

    def __enter__(self) -> EmulatedRunner:
        return self

    def __exit__(self, *error: object) -> None:
        for application in list(self.running):
            self.close(application)

    @property
    def needed_bytes(self) -> int:
        """What the model takes on the GPU."""
        config = open_model(self.model).config
        return plan_memory(config, CONTEXT_TOKENS, "cuda").total_bytes

    def start_app(self) -> Application:
        """The app with the one model, which it loads at once."""
        record = ModelRecord("tiny", "Tiny", self.model)
        build = partial(build_engine, self.paths.models_dir, self.paths.kernel_cache_dir)
        return self.start(models=(record,), factory=build)

    def notice(self, app: Application, key: str) -> tuple[str, list[str]]:
        """Text and actions of a notice that is shown; empty where there is none."""
        for notice in app.window.notices.notices:
            if notice.key == key:
                return notice.text, [action for action, _ in notice.actions]
        return "", []

    def press(self, app: Application, key: str, action: str) -> None:
        """Click the button of a notice."""
        _, actions = self.notice(app, key)
        app.window.notices.action_button(key, actions.index(action)).click()
