"""Sentences that the window says of itself, without a controller."""

from __future__ import annotations

from app.chat_view import Notice, retold
from app.language import translate

KEPT_BACK_S = 6.0


@retold
def seed_notice(seed: int) -> Notice:
    """A reply's seed is the setting now."""
    text = translate(
        "WindowNotices",
        "Seed {seed} is set. Regenerate repeats the answer as long as the other settings are "
        "those it was made with.",
    )
    return Notice("seed", text.format(seed=seed))


@retold
def kept_back_notice() -> Notice:
    """Enter was pressed while a reply runs."""
    text = translate(
        "WindowNotices",
        "A reply is still coming, so your question stays here. Send it afterwards, or stop the "
        "reply with Esc.",
    )
    return Notice("kept_back", text, timeout_s=KEPT_BACK_S)
