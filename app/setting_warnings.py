"""Cautions about settings that are allowed, but seldom meant."""

from __future__ import annotations

from app.language import QT_TRANSLATE_NOOP
from app.settings import Settings


def warnings(settings: Settings, *, can_think: bool = True) -> dict[str, str]:
    """Sentences to show under a setting, by its name; nothing here is forbidden.

    `can_think` is false where the model in use does not think, whatever the switch says.
    """
    texts: dict[str, str] = {}
    thinks = settings.thinking_enabled and can_think
    if thinks and settings.temperature == 0.0:
        texts["temperature"] = QT_TRANSLATE_NOOP(
            "Settings",
            "At temperature 0 a thinking model tends to repeat itself without end; 0.6 is advised.",
        )
    if settings.temperature == 0.0 and settings.seed is not None:
        texts["seed"] = QT_TRANSLATE_NOOP(
            "Settings", "At temperature 0 nothing is drawn, so the seed changes nothing."
        )
    budget, longest = settings.thinking_budget_tokens, settings.max_new_tokens
    if thinks and longest is not None and (budget or 0) >= longest:
        texts["max_new_tokens"] = QT_TRANSLATE_NOOP(
            "Settings",
            "The longest reply is not longer than the thinking budget, so the answer may be cut "
            "before it begins.",
        )
    if settings.context_tokens > 32_768:
        texts["context_tokens"] = QT_TRANSLATE_NOOP(
            "Settings", "Beyond 32,768 tokens, the length on the model card, answers may get worse."
        )
    return texts
