"""Which preset the shown chat works with, and what the user does to presets.

The settings of the shown chat are those that `SettingsController` holds; this one puts them there
when another chat is shown, and tells the chat when they were changed.
"""

from __future__ import annotations

from collections.abc import Callable

from app.chat_view import ChatView, Notice, PresetChoice
from app.language import translate
from app.presets import (
    DEFAULT,
    ChatSettings,
    Preset,
    chat_of_text,
    chat_part,
    chat_text,
    joined,
    preset_named,
    tidy_name,
)
from app.settings import Settings
from app.settings_controller import SettingsController


class PresetController:
    """`chat_changed(text)` is to store the text with the shown chat."""

    def __init__(self, view: ChatView, settings: SettingsController) -> None:
        self._view = view
        self._settings = settings
        # What was set in an empty chat, which no store keeps, is in the profile at the next start.
        self._resumes_empty_chat = not settings.profile.shown_chat_id
        self.chat_changed: Callable[[str], None] = lambda text: None
        settings.listen(self._on_settings_changed)

    @property
    def presets(self) -> tuple[Preset, ...]:
        """All of them, the default one included."""
        return self._settings.profile.presets

    @property
    def in_use(self) -> Preset:
        """The one that the shown chat was begun with."""
        return preset_named(self.presets, self._settings.profile.preset)

    @property
    def edited(self) -> bool:
        """Whether the chat's values differ from those of its preset."""
        return self._now() != self.in_use.settings

    def show_chat(self, text: str, *, is_new: bool) -> None:
        """Another chat is shown; a new one begins with the saved values of the preset in use."""
        if is_new and not text:
            name = self.in_use.name
            settings = self._now() if self._resumes_empty_chat else self.in_use.settings
        else:
            chat = chat_of_text(text, self.presets)
            name, settings = chat.preset, chat.settings
        self._resumes_empty_chat = False
        self._use(name, settings)

    def show_again(self) -> None:
        """Show everything to a window that has forgotten it."""
        names = sorted(preset.name for preset in self.presets if preset.name != DEFAULT)
        self._view.show_presets(PresetChoice((DEFAULT, *names), self.in_use.name, self.edited))

    def on_chosen(self, name: str) -> None:
        """Use the saved values of a preset in this chat."""
        preset = preset_named(self.presets, name)
        self._use(preset.name, preset.settings)

    def on_reverted(self) -> None:
        """Take back what was changed in this chat."""
        self.on_chosen(self.in_use.name)

    def on_saved(self, name: str) -> None:
        """Save the values of this chat into its preset, or as a new one, and use that.

        Another preset of that name is not written over.
        """
        name = tidy_name(name)
        if name != self.in_use.name and self._is_taken(name):
            return
        others = tuple(preset for preset in self.presets if preset.name != name)
        self._settings.set_presets((*others, Preset(name, self._now())), name)
        self._tell()

    def on_renamed(self, old: str, new: str) -> None:
        """Give a preset another name; a blank one, or one that is taken, changes nothing."""
        new = tidy_name(new)
        if not new or old == DEFAULT or new == old:
            return
        if self._is_taken(new):
            return
        presets = tuple(
            Preset(new if preset.name == old else preset.name, preset.settings)
            for preset in self.presets
        )
        in_use = self._settings.profile.preset
        self._settings.set_presets(presets, new if in_use == old else in_use)
        self._tell()

    def on_deleted(self, name: str) -> None:
        """Remove a preset; the chats that use it keep their values."""
        if name == DEFAULT:
            return
        left = tuple(preset for preset in self.presets if preset.name != name)
        in_use = self._settings.profile.preset
        self._settings.set_presets(left, DEFAULT if in_use == name else in_use)
        self._tell()

    def _is_taken(self, name: str) -> bool:
        """Whether there is a preset of that name, or one that is called so in the window."""
        called = translate("Presets", "Default")
        if name != called and not any(preset.name == name for preset in self.presets):
            return False
        words = translate("Presets", "There is a preset “{name}” already.")
        self._view.show_notice(Notice("preset", words.format(name=name or called), "warn"))
        return True

    def _now(self) -> Settings:
        return chat_part(self._settings.settings)

    def _use(self, name: str, settings: Settings) -> None:
        self._settings.set_presets(self.presets, name)
        self._settings.on_settings_changed(joined(self._settings.settings, settings))
        self._tell()

    def _on_settings_changed(self, old: Settings, new: Settings) -> None:
        if chat_part(old) != chat_part(new):
            self._tell()

    def _tell(self) -> None:
        chat = ChatSettings(self.in_use.name, self._now())
        self.chat_changed(chat_text(chat, self.presets))
        self.show_again()
