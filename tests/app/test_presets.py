"""Presets, and settings that belong to one chat: saved, chosen, kept, never leaking."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from app.preset_controller import PresetController
from app.presets import (
    CHAT_NAMES,
    DEFAULT,
    ChatSettings,
    Preset,
    chat_of_text,
    chat_part,
    chat_text,
    joined,
)
from app.settings import FIELDS, Settings, with_value
from app.settings_controller import SettingsController
from app.settings_file import Profile, load_profile, save_profile
from tests.app.fakes import FakeJobs, FakeView

CREATIVE = Preset("Creative", chat_part(with_value(Settings(), "temperature", 1.2)))
PROFILE = Profile(presets=(Preset(DEFAULT, chat_part(Settings())), CREATIVE), shown_chat_id="c")


class Bench:
    """The controllers with a fake window; `stored` is what the shown chat keeps."""

    def __init__(self, path: Path, profile: Profile = PROFILE) -> None:
        self.view = FakeView()
        self.settings = SettingsController(self.view, FakeJobs(), path, profile)
        self.presets = PresetController(self.view, self.settings)
        self.stored = ""
        self.presets.chat_changed = self._store

    def _store(self, text: str) -> None:
        self.stored = text

    def new_chat(self) -> None:
        self.stored = ""
        self.presets.show_chat("", is_new=True)

    def open(self, text: str) -> None:
        self.stored = text
        self.presets.show_chat(text, is_new=False)

    def set(self, name: str, value: object) -> None:
        self.settings.on_settings_changed(with_value(self.settings.settings, name, value))

    def value(self, name: str) -> object:
        return getattr(self.settings.settings, name)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path / "settings.json")
    made.new_chat()
    return made


def test_an_unsaved_edit_is_shown_as_such_and_stays_out_of_new_chats(bench: Bench) -> None:
    assert not bench.view.presets.edited
    bench.set("temperature", 0.0)
    assert bench.view.presets.edited
    bench.new_chat()
    assert bench.value("temperature") == 0.6
    assert not bench.view.presets.edited


def test_each_chat_keeps_its_own_values(bench: Bench) -> None:
    bench.set("temperature", 0.0)
    bench.set("system_prompt", "Be brief.")
    first = bench.stored
    bench.new_chat()
    bench.set("temperature", 1.5)
    second = bench.stored
    bench.open(first)
    assert (bench.value("temperature"), bench.value("system_prompt")) == (0.0, "Be brief.")
    assert bench.view.presets.edited
    bench.open(second)
    assert (bench.value("temperature"), bench.value("system_prompt")) == (1.5, "")
    bench.open("")
    assert bench.value("temperature") == 0.6


def test_settings_of_the_program_are_those_of_all_chats(bench: Bench) -> None:
    bench.set("font_size", 20)
    bench.set("context_tokens", 1024)
    assert not bench.view.presets.edited
    bench.new_chat()
    assert (bench.value("font_size"), bench.value("context_tokens")) == (20, 1024)


def test_a_chosen_preset_fills_this_chat_and_the_next_new_one(bench: Bench) -> None:
    bench.presets.on_chosen("Creative")
    assert bench.value("temperature") == 1.2
    assert json.loads(bench.stored)["preset"] == "Creative"
    assert bench.view.presets.chosen == "Creative"
    bench.set("temperature", 0.3)
    bench.new_chat()
    assert bench.value("temperature") == 1.2
    assert bench.view.presets.chosen == "Creative"


def test_saving_makes_the_edit_the_presets(bench: Bench) -> None:
    bench.set("top_k", 0)
    bench.presets.on_saved(DEFAULT)
    assert not bench.view.presets.edited
    bench.new_chat()
    assert bench.value("top_k") == 0


def test_saving_under_a_new_name_leaves_the_old_preset_alone(bench: Bench) -> None:
    bench.set("temperature", 0.1)
    bench.presets.on_saved("  Exact \n answers ")
    assert bench.view.presets.names == (DEFAULT, "Creative", "Exact answers")
    assert bench.view.presets.chosen == "Exact answers"
    bench.presets.on_chosen(DEFAULT)
    assert bench.value("temperature") == 0.6


def test_taking_back_restores_the_saved_values(bench: Bench) -> None:
    bench.presets.on_chosen("Creative")
    bench.set("thinking_enabled", False)
    bench.presets.on_reverted()
    assert bench.value("thinking_enabled") is True
    assert not bench.view.presets.edited


def test_a_renamed_preset_stays_in_use(bench: Bench) -> None:
    bench.presets.on_chosen("Creative")
    bench.presets.on_renamed("Creative", "Wild")
    assert bench.view.presets.names == (DEFAULT, "Wild")
    assert bench.view.presets.chosen == "Wild"
    assert not bench.view.presets.edited


@pytest.mark.parametrize("new", ["", "   ", "Creative"])
def test_a_name_that_is_blank_or_taken_changes_nothing(bench: Bench, new: str) -> None:
    bench.presets.on_saved("Mine")
    bench.presets.on_renamed("Mine", new)
    assert bench.view.presets.names == (DEFAULT, "Creative", "Mine")


def test_a_deleted_preset_leaves_the_values_of_its_chats(bench: Bench) -> None:
    bench.presets.on_chosen("Creative")
    mine = bench.stored
    bench.presets.on_deleted("Creative")
    assert bench.view.presets.names == (DEFAULT,)
    assert bench.value("temperature") == 1.2
    bench.new_chat()
    bench.open(mine)
    assert bench.value("temperature") == 1.2
    assert (bench.view.presets.chosen, bench.view.presets.edited) == (DEFAULT, True)


def test_the_default_preset_can_be_neither_deleted_nor_renamed(bench: Bench) -> None:
    bench.presets.on_deleted(DEFAULT)
    bench.presets.on_renamed(DEFAULT, "Other")
    assert bench.view.presets.names == (DEFAULT, "Creative")


def test_a_chat_that_is_not_shown_is_answered_with_its_own_values(bench: Bench) -> None:
    bench.set("temperature", 0.0)
    text = bench.stored
    bench.new_chat()
    assert bench.settings.settings_of(text).temperature == 0.0
    assert bench.settings.settings_of("").temperature == 0.6
    assert bench.settings.settings_of(None) == bench.settings.settings


def other_value(name: str) -> object:
    """A value that is not the default; 0 or nothing wherever that is possible."""
    field = next(field for field in FIELDS if field.name == name)
    if field.kind == "bool":
        return not field.default
    if field.kind == "choice":
        return next(value for value, _ in field.choices if value != field.default)
    if field.kind == "text":
        return "你好 😀"
    least = float(field.low) if field.kind == "float" else int(field.low)
    return least if least != field.default else type(least)(field.high)


@pytest.mark.parametrize("name", [field.name for field in FIELDS])
@pytest.mark.parametrize("in_a_chat", [False, True], ids=["empty chat", "stored chat"])
def test_every_setting_survives_a_restart(name: str, in_a_chat: bool, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    value = other_value(name)
    first = Bench(path, Profile())
    first.new_chat()
    first.set(name, value)
    first.settings.set_shown_chat("chat" if in_a_chat else "")
    first.settings.save_now()
    again = Bench(path, load_profile(path).profile)
    if in_a_chat:
        again.new_chat()  # the app begins with an empty chat while the stored one is read
        again.open(first.stored)
    else:
        again.new_chat()
    assert again.value(name) == value
    assert type(again.value(name)) is type(value)
    if not in_a_chat and name in CHAT_NAMES:
        again.new_chat()
        assert again.value(name) != value, "an unsaved edit must not reach the next new chat"


def test_presets_come_back_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    save_profile(path, PROFILE)
    loaded = load_profile(path)
    assert loaded.notices == ()
    assert loaded.profile.presets == PROFILE.presets


def test_what_was_set_before_there_were_presets_is_the_default_one(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    tree = {"version": 1, "settings": {"system_prompt": "Old."}, "sampling": {}}
    path.write_text(json.dumps(tree))
    bench = Bench(path, load_profile(path).profile)
    bench.new_chat()
    assert not bench.view.presets.edited
    bench.new_chat()
    assert bench.value("system_prompt") == "Old."


@pytest.mark.parametrize("entry", [None, 3, {}, {"name": 4}, {"name": "a\nb"}])
def test_a_damaged_preset_costs_only_itself(entry: object, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    good = {"name": "Good", "settings": {"seed": 0}, "sampling": {}}
    path.write_text(json.dumps({"presets": [entry, good], "preset": 7}))
    loaded = load_profile(path)
    assert [preset.name for preset in loaded.profile.presets] == ["Good"]
    assert loaded.profile.presets[0].settings.seed == 0
    assert len(loaded.notices) == 1


@pytest.mark.parametrize("text", ["{", "[1]", "3", '{"preset": 5, "settings": 7}', "[" * 100_000])
def test_damaged_settings_of_a_chat_are_the_default_preset(text: str) -> None:
    found = chat_of_text(text, PROFILE.presets)
    assert found == ChatSettings(DEFAULT, chat_part(Settings()))


def test_both_modes_sampling_values_travel_with_the_chat() -> None:
    settings = with_value(Settings(), "temperature", 0.0)
    settings = with_value(with_value(settings, "thinking_enabled", False), "top_k", 0)
    chat = ChatSettings(DEFAULT, chat_part(settings))
    back = chat_of_text(chat_text(chat, PROFILE.presets), PROFILE.presets)
    assert back == chat
    dark = with_value(Settings(), "theme", "dark")
    both = joined(dark, back.settings)
    assert both.theme == "dark"
    assert with_value(both, "thinking_enabled", True).temperature == 0.0


def test_which_settings_belong_to_a_chat() -> None:
    assert "system_prompt" in CHAT_NAMES
    assert "temperature" in CHAT_NAMES
    assert "thinking_budget_tokens" in CHAT_NAMES
    assert not {"theme", "language", "font_size", "device", "context_tokens"} & set(CHAT_NAMES)


@pytest.mark.parametrize("name", ["Creative", "Default"])
def test_a_new_preset_does_not_write_over_another_one(bench: Bench, name: str) -> None:
    bench.set("temperature", 0.1)
    bench.presets.on_saved(name)
    assert bench.view.presets.names == (DEFAULT, "Creative")
    assert bench.view.presets.chosen == DEFAULT
    assert name in bench.view.notices["preset"].text
    bench.presets.on_chosen("Creative")
    assert bench.value("temperature") == 1.2
