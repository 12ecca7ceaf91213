"""What the window says of a model that is gone or does not load; told anew in another language."""

from __future__ import annotations

from app.chat_view import Notice, retold
from app.error_text import CHOOSE_MODEL, DOWNLOAD_AGAIN, error_text
from app.language import translate
from app.model_records import ModelRecord
from engine.errors import EngineError


@retold
def moved_away(record: ModelRecord) -> Notice:
    """A model of the user is not where it was."""
    text = translate(
        "Models",
        "{label} is no longer at {path}. Your chats are untouched; put it back, or "
        "choose another model.",
    ).format(label=record.label, path=record.path)
    return Notice("missing-model", text, "warn", (CHOOSE_MODEL,))


@retold
def load_failed(error: EngineError, record: ModelRecord | None) -> Notice:
    """A model could not be loaded; of the user's own we do not know where to get it again."""
    words = error_text(error)
    own = record is not None and record.is_added
    actions = tuple(action for action in words.actions if not own or action != DOWNLOAD_AGAIN)
    return Notice("model", words.text, "error", actions)


def why_failed(error: EngineError) -> str:
    """The sentence on it, in the language in use."""
    return error_text(error).text
