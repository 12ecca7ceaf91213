"""The settings, each declared once: kind, default, range, label, help, section.

Pure data, no files: `app.settings_file` loads and saves them. The settings panel builds itself from
`FIELDS`, changes one value with `with_value` and emits the new object. Sampling has two sets of
values, one per thinking mode; `Settings` shows those of the current mode and carries the other set
along, so `with_value(settings, "thinking_enabled", ...)` swaps them (never `dataclasses.replace`).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Any

from app.language import CHINESE, ENGLISH, QT_TRANSLATE_NOOP, SYSTEM
from app.setting_field import BadSetting, SettingField, Value, setting
from engine.api import SamplingParams, ThinkingParams

SETTINGS_CONTEXT = "Settings"
"""Where translators find the words of this file."""

SECTIONS = (
    QT_TRANSLATE_NOOP("Settings", "Thinking"),
    QT_TRANSLATE_NOOP("Settings", "Sampling"),
    QT_TRANSLATE_NOOP("Settings", "System prompt"),
    QT_TRANSLATE_NOOP("Settings", "Model"),
    QT_TRANSLATE_NOOP("Settings", "Appearance"),
)


@dataclass(frozen=True, slots=True)
class SamplingValues:
    """One mode's set of sampling values; the names are those of the fields of `Settings`."""

    temperature: float
    top_k: int
    top_p: float
    min_p: float
    presence_penalty: float


THINKING_DEFAULTS = SamplingValues(0.6, 20, 0.95, 0.0, 0.0)
PLAIN_DEFAULTS = SamplingValues(0.7, 20, 0.8, 0.0, 0.0)
"""Both sets as the model card of Qwen3 advises."""

SAMPLING_NAMES = tuple(field.name for field in dataclasses.fields(SamplingValues))


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting; change one with `with_value`."""

    thinking_enabled: bool = setting(
        "bool",
        True,
        section="Thinking",
        label=QT_TRANSLATE_NOOP("Settings", "Think before answering"),
        help=QT_TRANSLATE_NOOP(
            "Settings",
            "The model first reasons in the thinking pane, then answers. Slower, often better.",
        ),
    )
    thinking_budget_tokens: int | None = setting(
        "optional_int",
        None,
        section="Thinking",
        low=0,
        high=40_960,
        step=128,
        none_label=QT_TRANSLATE_NOOP("Settings", "No limit"),
        label=QT_TRANSLATE_NOOP("Settings", "Thinking budget"),
        help=QT_TRANSLATE_NOOP(
            "Settings", "Most tokens to think for; then the model is told to answer."
        ),
    )
    temperature: float = setting(
        "float",
        THINKING_DEFAULTS.temperature,
        section="Sampling",
        low=0.0,
        high=2.0,
        step=0.05,
        decimals=2,
        label=QT_TRANSLATE_NOOP("Settings", "Temperature"),
        help=QT_TRANSLATE_NOOP(
            "Settings",
            "How freely words are chosen; 0 always takes the likeliest. Advised: 0.6 while "
            "thinking, 0.7 otherwise.",
        ),
    )
    top_k: int = setting(
        "int",
        THINKING_DEFAULTS.top_k,
        section="Sampling",
        low=0,
        high=1_000,
        label=QT_TRANSLATE_NOOP("Settings", "Top-k"),
        help=QT_TRANSLATE_NOOP(
            "Settings", "Choose among this many likeliest tokens only; 0 switches the filter off."
        ),
    )
    top_p: float = setting(
        "float",
        THINKING_DEFAULTS.top_p,
        section="Sampling",
        low=0.01,
        high=1.0,
        step=0.01,
        decimals=2,
        label=QT_TRANSLATE_NOOP("Settings", "Top-p"),
        help=QT_TRANSLATE_NOOP(
            "Settings",
            "Choose among the likeliest tokens that together reach this share; 1 is off. "
            "Advised: 0.95 while thinking, 0.8 otherwise.",
        ),
    )
    min_p: float = setting(
        "float",
        THINKING_DEFAULTS.min_p,
        section="Sampling",
        low=0.0,
        high=1.0,
        step=0.01,
        decimals=2,
        label=QT_TRANSLATE_NOOP("Settings", "Min-p"),
        help=QT_TRANSLATE_NOOP(
            "Settings", "Drop tokens less likely than this share of the likeliest one; 0 is off."
        ),
    )
    presence_penalty: float = setting(
        "float",
        THINKING_DEFAULTS.presence_penalty,
        section="Sampling",
        low=-2.0,
        high=2.0,
        step=0.1,
        decimals=1,
        label=QT_TRANSLATE_NOOP("Settings", "Presence penalty"),
        help=QT_TRANSLATE_NOOP(
            "Settings",
            "Makes words that were already used in the reply less likely; try up to 1.5 when "
            "the model repeats itself.",
        ),
    )
    seed: int | None = setting(
        "optional_int",
        None,
        section="Sampling",
        low=0,
        high=2**32 - 1,
        none_label=QT_TRANSLATE_NOOP("Settings", "Random"),
        label=QT_TRANSLATE_NOOP("Settings", "Seed"),
        help=QT_TRANSLATE_NOOP(
            "Settings", "The same seed repeats a reply on the same computer with the same settings."
        ),
    )
    max_new_tokens: int | None = setting(
        "optional_int",
        None,
        section="Sampling",
        low=1,
        high=40_960,
        step=128,
        none_label=QT_TRANSLATE_NOOP("Settings", "No limit"),
        label=QT_TRANSLATE_NOOP("Settings", "Longest reply"),
        help=QT_TRANSLATE_NOOP(
            "Settings",
            "Most tokens of a reply, its thinking included. A reply that was cut here can be "
            "continued.",
        ),
    )
    system_prompt: str = setting(
        "text",
        "",
        section="System prompt",
        high=100_000,
        label=QT_TRANSLATE_NOOP("Settings", "System prompt"),
        help=QT_TRANSLATE_NOOP(
            "Settings", "Told to the model before the first question of every chat."
        ),
    )
    context_tokens: int = setting(
        "int",
        8_192,
        section="Model",
        low=512,
        high=40_960,
        step=512,
        label=QT_TRANSLATE_NOOP("Settings", "Context length"),
        help=QT_TRANSLATE_NOOP(
            "Settings",
            "How many tokens of the chat the model can see at once; more needs more memory. The "
            "model card of Qwen3-0.6B names 32,768; its configuration allows 40,960, which leaves "
            "room for a long reply. A change takes effect when the model is loaded again.",
        ),
    )
    device: str = setting(
        "choice",
        "auto",
        section="Model",
        choices=(
            ("auto", QT_TRANSLATE_NOOP("Settings", "Automatic")),
            ("cuda", QT_TRANSLATE_NOOP("Settings", "NVIDIA GPU")),
            ("cpu", QT_TRANSLATE_NOOP("Settings", "Processor (slow)")),
        ),
        label=QT_TRANSLATE_NOOP("Settings", "Device"),
        help=QT_TRANSLATE_NOOP(
            "Settings",
            "What computes the answers. Automatic takes the NVIDIA GPU where there is one.",
        ),
    )
    idle_unload_minutes: int = setting(
        "int",
        30,
        section="Model",
        low=0,
        high=1_440,
        step=5,
        label=QT_TRANSLATE_NOOP("Settings", "Free memory when idle"),
        help=QT_TRANSLATE_NOOP(
            "Settings",
            "Minutes without a question after which the model leaves memory; 0 means never. "
            "The next question loads it again.",
        ),
    )
    theme: str = setting(
        "choice",
        "system",
        section="Appearance",
        choices=(
            ("system", QT_TRANSLATE_NOOP("Settings", "As the system")),
            ("light", QT_TRANSLATE_NOOP("Settings", "Light")),
            ("dark", QT_TRANSLATE_NOOP("Settings", "Dark")),
        ),
        label=QT_TRANSLATE_NOOP("Settings", "Theme"),
        help=QT_TRANSLATE_NOOP("Settings", "Colours of the window."),
    )
    language: str = setting(
        "choice",
        SYSTEM,
        section="Appearance",
        choices=(
            (SYSTEM, QT_TRANSLATE_NOOP("Settings", "As the system")),
            (ENGLISH, "English"),
            (CHINESE, "简体中文"),
        ),
        label=QT_TRANSLATE_NOOP("Settings", "Language"),
        help=QT_TRANSLATE_NOOP("Settings", "Language of the window; the model answers in yours."),
    )
    font_size: int = setting(
        "int",
        15,
        section="Appearance",
        low=11,
        high=28,
        label=QT_TRANSLATE_NOOP("Settings", "Font size"),
        help=QT_TRANSLATE_NOOP(
            "Settings",
            "Size of the answer's text, in pixels; all other text goes with it. Ctrl++ and Ctrl+- "
            "change it too, Ctrl+0 brings the usual size back.",
        ),
    )
    show_thinking: bool = setting(
        "bool",
        True,
        section="Appearance",
        label=QT_TRANSLATE_NOOP("Settings", "Show thinking"),
        help=QT_TRANSLATE_NOOP("Settings", "Show the thinking pane beside the answer."),
    )
    other_sampling: SamplingValues = PLAIN_DEFAULTS
    """Sampling values of the mode that is not shown; no field of its own in the panel."""


FIELDS: tuple[SettingField, ...] = tuple(
    SettingField(name=field.name, **field.metadata["setting"])
    for field in dataclasses.fields(Settings)
    if "setting" in field.metadata
)
"""All settings in the order in which the panel shows them, section by section."""

_BY_NAME = {field.name: field for field in FIELDS}


@dataclass(frozen=True, slots=True)
class WindowState:
    """What the window remembers of itself; `geometry` is QWidget.saveGeometry in base64."""

    thinking_share: float = 0.38
    list_collapsed: bool = False
    settings_collapsed: bool = True
    geometry: str = ""
    list_width: int = 0
    settings_width: int = 0
    """Widths of the side panels in pixels; 0 is the usual width."""


def field_of(name: str) -> SettingField:
    """The description of one setting. Raises KeyError for an unknown name."""
    return _BY_NAME[name]


def checked(name: str, value: object) -> Value:
    """The value as the setting holds it (an int for a float becomes a float).

    Raises:
        BadSetting: wrong type, or outside the range.
    """
    field = _BY_NAME[name]
    match field.kind, value:
        case "bool", bool():
            return value
        case "text", str() if len(value) <= field.high:
            # A lone surrogate can be neither saved nor encoded for the model.
            return value.encode("utf-8", "replace").decode("utf-8")
        case "choice", str() if any(value == choice for choice, _ in field.choices):
            return value
        case "optional_int", None:
            return None
        case (("int" | "optional_int"), int()) if not isinstance(value, bool):
            if field.low <= value <= field.high:
                return value
        case "float", int() | float() if not isinstance(value, bool):
            # NaN fails both comparisons.
            if field.low <= value <= field.high:
                return float(value)
    raise BadSetting(name, value, field.expected)


def sampling_values(settings: Settings) -> SamplingValues:
    """The values of the mode that is shown."""
    return SamplingValues(**{name: getattr(settings, name) for name in SAMPLING_NAMES})


def sampling_defaults(thinking_enabled: bool) -> SamplingValues:
    """The advised values of a mode."""
    return THINKING_DEFAULTS if thinking_enabled else PLAIN_DEFAULTS


def default_of(settings: Settings, name: str) -> Value:
    """The default of a setting in the current mode."""
    if name in SAMPLING_NAMES:
        value: Value = getattr(sampling_defaults(settings.thinking_enabled), name)
        return value
    return _BY_NAME[name].default


def with_value(settings: Settings, name: str, value: object) -> Settings:
    """Settings with one value changed; switching the mode shows that mode's sampling values.

    Raises:
        BadSetting: wrong type, or outside the range.
    """
    new = checked(name, value)
    changes: dict[str, Any] = {name: new}
    if name == "thinking_enabled" and new != settings.thinking_enabled:
        changes |= dataclasses.asdict(settings.other_sampling)
        changes["other_sampling"] = sampling_values(settings)
    return replace(settings, **changes)


def with_section_defaults(settings: Settings, section: str) -> Settings:
    """Settings with one section set back to its defaults (sampling: of the mode shown)."""
    for field in FIELDS:
        if field.section == section:
            settings = with_value(settings, field.name, default_of(settings, field.name))
    return settings


def sampling_params(settings: Settings) -> SamplingParams:
    """What the engine is asked for."""
    return SamplingParams(
        temperature=settings.temperature,
        top_k=settings.top_k,
        top_p=settings.top_p,
        min_p=settings.min_p,
        presence_penalty=settings.presence_penalty,
        seed=settings.seed,
    )


def thinking_params(settings: Settings) -> ThinkingParams:
    """What the engine is asked for."""
    return ThinkingParams(settings.thinking_enabled, settings.thinking_budget_tokens)
