"""Settings: declared once, checked, two sampling sets; the file survives whatever is in it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from app.presets import Preset, chat_part
from app.setting_field import BadSetting
from app.setting_warnings import warnings
from app.settings import (
    FIELDS,
    SECTIONS,
    Settings,
    WindowState,
    checked,
    default_of,
    field_of,
    sampling_params,
    thinking_params,
    with_section_defaults,
    with_value,
)
from app.settings_file import AddedModel, Profile, load_profile, save_profile

ROOT = Path(__file__).resolve().parents[2]


def test_every_setting_has_one_field_and_its_default_is_valid():
    names = [field.name for field in FIELDS]
    assert sorted(names) == sorted(f.name for f in fields(Settings) if f.name != "other_sampling")
    for field in FIELDS:
        assert checked(field.name, field.default) == field.default
        assert getattr(Settings(), field.name) == field.default
        assert field.section in SECTIONS
        assert field.label
        assert field.help
    assert {field.section for field in FIELDS} == set(SECTIONS)


@pytest.mark.parametrize("field", FIELDS, ids=lambda field: field.name)
def test_wrong_values_are_refused_by_name_and_both_ends_are_taken(field):
    wrong = [object(), [], float("nan"), float("inf"), "no such choice \x00" * 10_000]
    if field.kind in ("int", "float", "optional_int"):
        wrong += [field.low - 1, field.high + 1, True, "3", 10**400]
        for end in (field.low, field.high):
            value = end if field.kind == "float" else int(end)
            assert checked(field.name, value) == value
    if field.kind not in ("optional_int",):
        wrong.append(None)
    if field.kind != "bool":
        wrong.append(True)
    for value in wrong:
        with pytest.raises(BadSetting, match=field.name):
            checked(field.name, value)


def test_switching_the_mode_shows_that_modes_sampling_and_remembers_the_other():
    settings = Settings()
    assert (settings.temperature, settings.top_p) == (0.6, 0.95)
    settings = with_value(settings, "thinking_enabled", False)
    assert (settings.temperature, settings.top_p, settings.top_k) == (0.7, 0.8, 20)
    settings = with_value(settings, "temperature", 1.1)
    settings = with_value(settings, "thinking_enabled", True)
    assert settings.temperature == 0.6
    settings = with_value(settings, "thinking_enabled", True)
    assert settings.temperature == 0.6, "switching to the same mode changes nothing"
    assert with_value(settings, "thinking_enabled", False).temperature == 1.1


def test_section_defaults_follow_the_mode():
    settings = with_value(Settings(), "thinking_enabled", False)
    changed = with_value(with_value(settings, "temperature", 1.9), "seed", 5)
    assert with_section_defaults(changed, "Sampling") == settings
    assert default_of(settings, "top_p") == 0.8
    assert default_of(Settings(), "top_p") == 0.95


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({}, set()),
        ({"temperature": 0}, {"temperature"}),
        ({"thinking_enabled": False, "temperature": 0}, set()),
        ({"thinking_enabled": False, "temperature": 0, "seed": 0}, {"seed"}),
        ({"seed": 7}, set()),
        ({"thinking_budget_tokens": 500, "max_new_tokens": 500}, {"max_new_tokens"}),
        ({"thinking_budget_tokens": 400, "max_new_tokens": 500}, set()),
        ({"context_tokens": 40_960}, {"context_tokens"}),
    ],
)
def test_unwise_values_are_warned_about_not_forbidden(changes, warned):
    settings = Settings()
    for name, value in changes.items():
        settings = with_value(settings, name, value)
    assert set(warnings(settings)) == warned


def test_a_fresh_profile_has_the_advised_values():
    """As the makers of Qwen3 advise for thinking; greedy choice they advise against."""
    asked = sampling_params(Settings())
    assert Settings().thinking_enabled
    assert (asked.temperature, asked.top_p, asked.top_k, asked.min_p) == (0.6, 0.95, 20, 0.0)
    without = sampling_params(with_value(Settings(), "thinking_enabled", False))
    assert (without.temperature, without.top_p, without.top_k, without.min_p) == (0.7, 0.8, 20, 0.0)


def test_what_the_engine_is_asked_for():
    settings = with_value(Settings(), "seed", 9)
    settings = with_value(settings, "thinking_budget_tokens", 128)
    assert sampling_params(settings).seed == 9
    assert sampling_params(settings).top_k == 20
    assert thinking_params(settings).budget_tokens == 128


def test_the_context_help_explains_both_limits():
    assert "32,768" in field_of("context_tokens").help
    assert "40,960" in field_of("context_tokens").help


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings.json"


def sample() -> Profile:
    settings = with_value(Settings(), "temperature", 0.9)
    settings = with_value(settings, "thinking_enabled", False)
    settings = with_value(settings, "presence_penalty", 1.5)
    settings = with_value(settings, "system_prompt", "你好 😀")
    return Profile(
        settings,
        WindowState(0.5, True, False, "AdnQ", 200, 300),
        (AddedModel("added-1", "Mine", "/models/mine.gguf"),),
        "added-1",
        "chat-1",
        {"from_the_future": {"a": 1}},
        (Preset("", chat_part(settings)), Preset("Plain", chat_part(Settings()))),
        "Plain",
    )


def test_everything_comes_back_after_a_restart(path):
    save_profile(path, sample())
    loaded = load_profile(path)
    assert loaded.notices == ()
    assert loaded.profile == sample()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path], "no temporary file is left"


def test_only_changed_sampling_values_are_written_so_better_advice_arrives_later(path):
    save_profile(path, sample())
    stored = json.loads(path.read_text())
    assert stored["sampling"] == {
        "thinking": {"temperature": 0.9},
        "not_thinking": {"presence_penalty": 1.5},
    }


def test_a_missing_file_gives_defaults_without_a_word(path):
    loaded = load_profile(path)
    assert loaded.profile == Profile()
    assert loaded.notices == ()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"settings": {"temp',
        bytes(4096),
        b"[1, 2]",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b" " * (5 * 1024 * 1024),
    ],
    ids=["empty", "truncated", "zeros", "a list", "not utf-8", "deep", "huge"],
)
def test_a_broken_file_is_kept_aside_and_told(path, content):
    path.write_bytes(content)
    loaded = load_profile(path)
    assert loaded.profile == Profile()
    [kept] = path.parent.iterdir()
    assert kept.read_bytes() == content
    [notice] = loaded.notices
    assert str(kept) in notice


def test_a_byte_order_mark_of_an_editor_does_no_harm(path):
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"settings": {"font_size": 20}}).encode())
    loaded = load_profile(path)
    assert loaded.profile.settings.font_size == 20
    assert loaded.notices == ()


def test_one_wrong_value_costs_only_itself(path):
    tree = {
        "settings": {"font_size": "big", "theme": "dark", "unheard_of": 1},
        "sampling": {"thinking": {"temperature": -4, "top_k": 7}, "not_thinking": 3},
        "window": {"thinking_share": "x", "list_collapsed": True, "list_width": -5},
        "added_models": [{"model_id": "a"}, {"model_id": "b", "label": "B", "path": "/b"}],
        "active_model_id": 17,
        "shown_chat_id": ["x"],
    }
    path.write_text(json.dumps(tree))
    loaded = load_profile(path)
    profile = loaded.profile
    assert profile.settings == replace(Settings(), theme="dark", top_k=7)
    assert profile.window == WindowState(list_collapsed=True)
    assert profile.added_models == (AddedModel("b", "B", "/b"),)
    assert profile.active_model_id == ""
    assert profile.shown_chat_id == ""
    told = " ".join(loaded.notices)
    for name in ("font_size", "temperature", "unheard_of", "not_thinking", "added models"):
        assert name in told
    save_profile(path, profile)
    assert json.loads(path.read_text())["settings"]["unheard_of"] == 1, "unknown keys are kept"


@pytest.mark.parametrize(
    "key", ["settings", "sampling", "window", "added_models", "presets", "preset"]
)
@pytest.mark.parametrize("value", [None, 3, "x", [1], {"a": [1]}])
def test_no_shape_of_any_part_stops_the_app(path, key, value):
    path.write_text(json.dumps({key: value}))
    assert load_profile(path).profile.settings == Settings()


SAVER = """
import sys
from pathlib import Path
from app.settings import Settings, with_value
from app.settings_file import Profile, save_profile
n = 11
while True:
    settings = with_value(Settings(), "font_size", n)
    settings = with_value(settings, "system_prompt", str(n) * 20000)
    save_profile(Path(sys.argv[1]), Profile(settings))
    print(n, flush=True)
    n = 11 + (n - 10) % 18
"""


@pytest.mark.parametrize("saves", [1, 2, 5])
def test_kill_9_while_saving_leaves_the_old_or_the_new_file(path, saves):
    child = subprocess.Popen(
        [sys.executable, "-c", SAVER, str(path)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
    )
    assert child.stdout is not None
    for _ in range(saves):
        child.stdout.readline()
    child.kill()
    child.wait()
    child.stdout.close()
    loaded = load_profile(path)
    assert loaded.notices == ()
    settings = loaded.profile.settings
    assert settings.system_prompt == str(settings.font_size) * 20000


def test_a_lone_surrogate_in_the_file_does_not_stop_later_saves(path):
    entry = '{"model_id": "a", "label": "b\\ud800", "path": "/c\\udfff"}'
    path.write_text('{"added_models": [' + entry + "]}")
    loaded = load_profile(path)
    assert loaded.profile.added_models[0].path == "/c\udfff"
    save_profile(path, loaded.profile)
    assert load_profile(path) == loaded
