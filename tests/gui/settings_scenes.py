"""States of the settings, the presets and the list of keys, for screenshots."""

from __future__ import annotations

from app.chat_view import PresetChoice
from app.settings import with_value
from app.ui.key_list import KeyList
from app.ui.main_window import MainWindow
from tests.gui import scenes

PRESETS = ("", "Exact answers", "Translator")


def scene_preset(window: MainWindow) -> None:
    """A chat that differs from its preset."""
    scenes.scene_done(window)
    window.show_settings(with_value(window.settings, "temperature", 0.3))
    window.show_presets(PresetChoice(PRESETS, "Exact answers", edited=True))


def scene_preset_name(window: MainWindow) -> None:
    """A new preset is being named."""
    scene_preset(window)
    window.settings_panel.presets.begin_naming()
    window.settings_panel.presets.name_edit.setText("Careful")


def scene_settings_search(window: MainWindow) -> None:
    """Settings that have a word."""
    scenes.scene_done(window)
    window.settings_panel.search.setText("token")
    window.settings_panel.begin_search()


def scene_keys(window: MainWindow) -> None:
    """The list of keys."""
    scenes.scene_done(window)
    KeyList(window.theme, window).show()
