"""Named sets of the settings that belong to a chat; pure data.

A chat begins with the saved values of a preset. What is changed then belongs to that chat alone,
until it is saved into the preset. The preset named "" is the one that always exists.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from app.language import translate
from app.settings import FIELDS, SECTIONS, Settings
from app.settings_tree import settings_of_tree, settings_tree

DEFAULT = ""
MAX_NAME_CHARACTERS = 60
CHAT_SECTIONS = frozenset(SECTIONS[:3])
"""Thinking, sampling, system prompt."""
CHAT_NAMES = tuple(field.name for field in FIELDS if field.section in CHAT_SECTIONS)
"""Settings of a chat; all others are those of the program."""


@dataclass(frozen=True, slots=True)
class Preset:
    """`settings` holds the chat's part; the rest of it is at its defaults (see `chat_part`)."""

    name: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """What one chat works with: the preset it was begun with, and its own values."""

    preset: str
    settings: Settings


def chat_part(settings: Settings) -> Settings:
    """The settings of a chat, with everything else at its default, so that they compare."""
    return joined(Settings(), settings)


def joined(program: Settings, chat: Settings) -> Settings:
    """The program's settings of one and the chat's of the other."""
    values: dict[str, Any] = {name: getattr(chat, name) for name in CHAT_NAMES}
    return replace(program, **values, other_sampling=chat.other_sampling)


def preset_named(presets: Iterable[Preset], name: str) -> Preset:
    """The preset of that name; where it is gone, the default one."""
    known = {preset.name: preset for preset in presets}
    return known.get(name) or known.get(DEFAULT) or Preset(DEFAULT, chat_part(Settings()))


def tidy_name(name: str) -> str:
    """A name of one line and a bearable length."""
    return " ".join(name.split())[:MAX_NAME_CHARACTERS].strip()


def chat_text(chat: ChatSettings, presets: Iterable[Preset]) -> str:
    """What is stored with a chat; "" for the unchanged default preset."""
    if chat.preset == DEFAULT and chat.settings == preset_named(presets, DEFAULT).settings:
        return ""
    return json.dumps({"preset": chat.preset, **_chat_tree(chat.settings)})


def chat_of_text(text: str, presets: Iterable[Preset]) -> ChatSettings:
    """Read `chat_text`; damaged text is the default preset."""
    known = tuple(presets)
    try:
        tree = json.loads(text) if text else None
    except (ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict):
        return ChatSettings(DEFAULT, preset_named(known, DEFAULT).settings)
    name = tree.get("preset")
    preset = preset_named(known, name if isinstance(name, str) else DEFAULT)
    return ChatSettings(preset.name, chat_part(settings_of_tree(tree, [])[0]))


def preset_tree(preset: Preset) -> dict[str, Any]:
    """A preset as JSON values."""
    return {"name": preset.name, **_chat_tree(preset.settings)}


def presets_of_tree(stored: object, notices: list[str]) -> tuple[Preset, ...]:
    """Presets of the settings file; a damaged one is left out with a sentence."""
    found: dict[str, Preset] = {}
    for entry in stored if isinstance(stored, list) else [stored]:
        name = entry.get("name") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(name, str) or name != tidy_name(name):
            notices.append(translate("Settings", "A damaged preset was left out."))
            continue
        found[name] = Preset(name, chat_part(settings_of_tree(entry, notices)[0]))
    return tuple(found.values())


def _chat_tree(settings: Settings) -> dict[str, Any]:
    tree = settings_tree(settings)
    tree["settings"] = {k: v for k, v in tree["settings"].items() if k in CHAT_NAMES}
    return tree
