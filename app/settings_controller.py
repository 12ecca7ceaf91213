"""Holds the profile (settings, added models, window state) and saves it off the GUI thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from app.chat_view import ChatView, Notice
from app.fault_text import os_reason
from app.language import translate
from app.presets import Preset, chat_of_text, joined
from app.settings import Settings, WindowState
from app.settings_file import AddedModel, Profile, save_profile

T = TypeVar("T")

SettingsListener = Callable[[Settings, Settings], None]

logger = logging.getLogger(__name__)


class Jobs(Protocol):
    """Work off the GUI thread; implemented by `app.background.JobRunner`."""

    def run(self, job: Callable[[], T], on_done: Callable[[T], None]) -> None:
        """Do `job` on another thread, then `on_done(result)` on the GUI thread."""
        ...


class SettingsController:
    """The current profile; listeners are told (old, new) when settings change."""

    def __init__(self, view: ChatView, jobs: Jobs, path: Path, profile: Profile) -> None:
        self._view = view
        self._jobs = jobs
        self._path = path
        self._profile = profile
        self._unsaved = False
        self._changes = self._written = 0
        self._writing = threading.Lock()
        self._listeners: list[SettingsListener] = []

    @property
    def settings(self) -> Settings:
        """The settings now."""
        return self._profile.settings

    @property
    def profile(self) -> Profile:
        """Everything that the settings file holds."""
        return self._profile

    def listen(self, listener: SettingsListener) -> None:
        """Call `listener(old, new)` after each change."""
        self._listeners.append(listener)

    def on_settings_changed(self, settings: Settings) -> None:
        """Take over what the user set."""
        old = self._profile.settings
        if settings == old:
            return
        self._change(replace(self._profile, settings=settings))
        self._view.show_settings(settings)
        for listener in self._listeners:
            listener(old, settings)

    def set_presets(self, presets: tuple[Preset, ...], in_use: str) -> None:
        """Remember the presets, and which one is in use."""
        self._change(replace(self._profile, presets=presets, preset=in_use))

    def settings_of(self, chat_text: str | None) -> Settings:
        """What a chat works with: None for the shown one, else the text that is stored with it."""
        if chat_text is None:
            return self.settings
        chat = chat_of_text(chat_text, self._profile.presets)
        return joined(self.settings, chat.settings)

    def set_active_model(self, model_id: str) -> None:
        """Remember the model in use."""
        self._change(replace(self._profile, active_model_id=model_id))

    def add_model(self, model: AddedModel) -> None:
        """Remember a model that the user pointed at; the same id replaces the older one."""
        others = tuple(m for m in self._profile.added_models if m.model_id != model.model_id)
        self._change(replace(self._profile, added_models=(*others, model)))

    def set_shown_chat(self, conversation_id: str) -> None:
        """Remember the chat in the window, to come back to it; "" for an empty one."""
        self._change(replace(self._profile, shown_chat_id=conversation_id))

    def remove_model(self, model_id: str) -> None:
        """Forget a model that the user pointed at."""
        others = tuple(m for m in self._profile.added_models if m.model_id != model_id)
        self._change(replace(self._profile, added_models=others))

    def set_window(self, window: WindowState) -> None:
        """Remember how the window looks."""
        self._change(replace(self._profile, window=window))

    def tick(self) -> None:
        """Save what has changed since the last call; sliders change many times a second."""
        if self._unsaved:
            self._unsaved = False
            self._jobs.run(partial(self._save, self._changes, self._profile), self._on_saved)

    def save_now(self) -> None:
        """Save before the app ends."""
        self._unsaved = False
        self._save(self._changes, self._profile)

    def _change(self, profile: Profile) -> None:
        if profile != self._profile:
            self._profile = profile
            self._changes += 1
            self._unsaved = True

    def _save(self, changes: int, profile: Profile) -> str:
        """Write a profile as it was after so many changes; on any thread. The problem, if any.

        The job of a `tick` may come to write when `save_now` has written a newer one already.
        """
        with self._writing:
            if changes < self._written:
                return ""
            self._written = changes
            return _save(self._path, profile)

    def _on_saved(self, problem: str) -> None:
        if not problem:
            self._view.hide_notice("settings")
            return
        text = translate(
            "Settings",
            "Settings cannot be saved now ({problem}). They hold until you close the window.",
        ).format(problem=problem)
        self._view.show_notice(Notice("settings", text, "warn"))


def _save(path: Path, profile: Profile) -> str:
    """Save, or say why not."""
    try:
        save_profile(path, profile)
    except OSError as error:
        logger.warning("settings were not saved: %s", error)
        return os_reason(error)
    return ""
