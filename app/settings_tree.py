"""Settings as JSON values and back; what is wrong in there costs only itself."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from typing import Any

from app.language import translate
from app.setting_field import BadSetting
from app.settings import (
    FIELDS,
    SAMPLING_NAMES,
    SamplingValues,
    Settings,
    checked,
    sampling_defaults,
    sampling_values,
)


def settings_tree(settings: Settings) -> dict[str, Any]:
    """Under "settings" all values, under "sampling" those that differ from the advice."""
    stored = {
        field.name: getattr(settings, field.name)
        for field in FIELDS
        if field.name not in SAMPLING_NAMES
    }
    modes = {
        settings.thinking_enabled: sampling_values(settings),
        not settings.thinking_enabled: settings.other_sampling,
    }
    # Only what the user changed is written, so that better advice in a later version arrives.
    sampling = {
        _mode_key(mode): {
            name: getattr(values, name)
            for name in SAMPLING_NAMES
            if getattr(values, name) != getattr(sampling_defaults(mode), name)
        }
        for mode, values in modes.items()
    }
    return {"settings": stored, "sampling": sampling}


def settings_of_tree(tree: dict[str, Any], notices: list[str]) -> tuple[Settings, dict[str, Any]]:
    """The settings, and the entries under "settings" that no field is named after."""
    stored = _section(tree, "settings", notices)
    names = [field.name for field in FIELDS if field.name not in SAMPLING_NAMES]
    values: dict[str, Any] = {}
    for name in names:
        if name in stored:
            try:
                values[name] = checked(name, stored[name])
            except BadSetting as error:
                notices.append(
                    translate("Settings", "A setting was put back to its default: {error}.").format(
                        error=error
                    )
                )
    thinking = bool(values.get("thinking_enabled", Settings().thinking_enabled))
    sampling = _section(tree, "sampling", notices)
    shown = _sampling_of(sampling, thinking, notices)
    other = _sampling_of(sampling, not thinking, notices)
    settings = Settings(**values, **dataclasses.asdict(shown), other_sampling=other)
    return settings, {key: value for key, value in stored.items() if key not in names}


def _section(tree: dict[str, Any], key: str, notices: list[str]) -> dict[str, Any]:
    section = tree.get(key, {})
    if isinstance(section, dict):
        return section
    notices.append(
        translate(
            "Settings", "The part {key!r} of the settings file is damaged; its defaults are used."
        ).format(key=key)
    )
    return {}


def _mode_key(thinking_enabled: bool) -> str:
    return "thinking" if thinking_enabled else "not_thinking"


def _sampling_of(
    sampling: dict[str, Any], thinking_enabled: bool, notices: list[str]
) -> SamplingValues:
    """The advised values of a mode with the user's changes on top."""
    values: dict[str, Any] = {}
    stored = _section(sampling, _mode_key(thinking_enabled), notices)
    for name in SAMPLING_NAMES:
        if name in stored:
            try:
                values[name] = checked(name, stored[name])
            except BadSetting as error:
                notices.append(
                    translate("Settings", "A setting was put back to its default: {error}.").format(
                        error=error
                    )
                )
    return replace(sampling_defaults(thinking_enabled), **values)
