"""Loads and saves what the profile remembers besides the chats: one JSON file, written atomically.

It holds the settings, the sampling values that differ from the advice (per thinking mode), the
models that the user added, the model in use, the chat in the window, and the window's state.
Nothing in the file can stop the app: a wrong value becomes its default with a notice, a broken file
is kept beside the new one.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.fault_text import os_reason
from app.language import translate
from app.presets import DEFAULT, Preset, chat_part, preset_tree, presets_of_tree
from app.settings import Settings, WindowState
from app.settings_tree import settings_of_tree, settings_tree

FORMAT_VERSION = 1
_LARGEST_FILE_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class AddedModel:
    """A model folder or GGUF file that the user pointed at."""

    model_id: str
    label: str
    path: str


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything in the file; `unknown` keeps what another version of the app wrote."""

    settings: Settings = dataclasses.field(default_factory=Settings)
    window: WindowState = dataclasses.field(default_factory=WindowState)
    added_models: tuple[AddedModel, ...] = ()
    active_model_id: str = ""
    shown_chat_id: str = ""
    unknown: dict[str, Any] = dataclasses.field(default_factory=dict)
    presets: tuple[Preset, ...] = ()
    preset: str = DEFAULT
    """The one in use by the chat that is shown, and by the next new one."""

    def with_settings(self, settings: Settings) -> Profile:
        """The profile with other settings."""
        return replace(self, settings=settings)


@dataclass(frozen=True, slots=True)
class LoadedProfile:
    """A profile and the sentences about what was wrong with its file."""

    profile: Profile
    notices: tuple[str, ...] = ()


def load_profile(path: Path) -> LoadedProfile:
    """Read the file; a missing one gives defaults. Never raises for what is in the file."""
    try:
        if path.stat().st_size > _LARGEST_FILE_BYTES:
            return _broken(path, translate("Settings", "it is far too large"))
        # utf-8-sig: editors on Windows put a byte order mark in front.
        tree = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return LoadedProfile(Profile())
    except OSError as error:
        text = translate(
            "Settings", "The settings in {path} could not be read ({reason}); defaults are used."
        ).format(path=path, reason=os_reason(error))
        return LoadedProfile(Profile(), (text,))
    except (ValueError, RecursionError):
        return _broken(path, translate("Settings", "it is damaged"))
    if not isinstance(tree, dict):
        return _broken(path, translate("Settings", "it holds no settings"))
    return _profile_of(tree)


def save_profile(path: Path, profile: Profile) -> None:
    """Write the file so that a crash leaves either the old one or the new one.

    Raises:
        OSError: the disk is full, or the folder cannot be written to.
    """
    # ASCII: a lone surrogate, which a JSON file can bring in by its escape, has no other form.
    text = json.dumps(_tree_of(profile), indent=2)
    # mkstemp makes the file readable by the user alone (0600).
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the rename survive a power cut; Windows has no handle for a folder."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _broken(path: Path, why: str) -> LoadedProfile:
    """Put the file aside under a free name and start from defaults."""
    kept = path.with_name(f"{path.name}.bad-{time.time_ns()}")
    try:
        path.replace(kept)
    except OSError:
        kept = path
    text = translate(
        "Settings",
        "The settings file could not be used: {why}. It is kept as {kept}; defaults are used.",
    ).format(why=why, kept=kept)
    return LoadedProfile(Profile(), (text,))


def _profile_of(tree: dict[str, Any]) -> LoadedProfile:
    known = {
        "version",
        "settings",
        "sampling",
        "window",
        "added_models",
        "active_model_id",
        "shown_chat_id",
        "presets",
        "preset",
    }
    notices: list[str] = []
    settings, unknown_settings = settings_of_tree(tree, notices)
    unknown = {key: value for key, value in tree.items() if key not in known}
    if unknown_settings:
        unknown["settings"] = unknown_settings
        names = ", ".join(sorted(unknown_settings))[:200]
        notices.append(
            translate(
                "Settings", "Settings that this version does not know were left alone: {names}."
            ).format(names=names)
        )
    active, shown = tree.get("active_model_id", ""), tree.get("shown_chat_id", "")
    profile = Profile(
        settings=settings,
        window=_window_of(tree.get("window")),
        added_models=_added_models_of(tree.get("added_models", []), notices),
        active_model_id=active if isinstance(active, str) else "",
        shown_chat_id=shown if isinstance(shown, str) else "",
        presets=(
            presets_of_tree(tree["presets"], notices)
            if "presets" in tree
            # Written before there were presets: what was set then is what new chats begin with.
            else (Preset(DEFAULT, chat_part(settings)),)
        ),
        preset=preset if isinstance(preset := tree.get("preset", DEFAULT), str) else DEFAULT,
        unknown=unknown,
    )
    return LoadedProfile(profile, tuple(notices))


def _window_of(stored: object) -> WindowState:
    """The window's state; a wrong value silently becomes its default, nothing is lost by it."""
    if not isinstance(stored, dict):
        return WindowState()
    values: dict[str, Any] = {}
    for name in ("list_collapsed", "settings_collapsed"):
        if isinstance(stored.get(name), bool):
            values[name] = stored[name]
    share = stored.get("thinking_share")
    if isinstance(share, float) and math.isfinite(share) and 0.05 <= share <= 0.95:
        values["thinking_share"] = share
    for name in ("list_width", "settings_width"):
        width = stored.get(name)
        if isinstance(width, int) and not isinstance(width, bool) and 0 <= width <= 10_000:
            values[name] = width
    geometry = stored.get("geometry")
    if isinstance(geometry, str) and len(geometry) < 10_000 and geometry.isascii():
        values["geometry"] = geometry
    return WindowState(**values)


def _added_models_of(stored: object, notices: list[str]) -> tuple[AddedModel, ...]:
    models: dict[str, AddedModel] = {}
    for entry in stored if isinstance(stored, list) else [stored]:
        names = [field.name for field in dataclasses.fields(AddedModel)]
        values = [entry.get(name) for name in names] if isinstance(entry, dict) else []
        texts = [value for value in values if isinstance(value, str) and value]
        if len(texts) == len(names):
            models[texts[0]] = AddedModel(*texts)
        else:
            notices.append(
                translate(
                    "Settings", "An entry of the list of added models was damaged and is left out."
                )
            )
    return tuple(models.values())


def _tree_of(profile: Profile) -> dict[str, Any]:
    settings = settings_tree(profile.settings)
    unknown = dict(profile.unknown)
    settings["settings"] |= unknown.pop("settings", {})
    return {
        **unknown,
        "version": FORMAT_VERSION,
        **settings,
        "presets": [preset_tree(preset) for preset in profile.presets],
        "preset": profile.preset,
        "window": dataclasses.asdict(profile.window),
        "added_models": [dataclasses.asdict(model) for model in profile.added_models],
        "active_model_id": profile.active_model_id,
        "shown_chat_id": profile.shown_chat_id,
    }
