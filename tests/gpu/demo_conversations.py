"""Held-out problems of the demo model, for comparing backends on weights we trained."""

from __future__ import annotations

from engine.api import ReplyPrefix, ThinkingParams
from engine.text.tokenizer import Tokenizer
from resources.demo_model.make.engine_replies import MODEL_FOLDER, messages_of
from resources.demo_model.make.problem import plain
from resources.demo_model.make.scores import held_out

FOLDER = MODEL_FOLDER


def token_ids(seed: int = 5) -> list[int]:
    """Whole conversations with thinking and answer, one after the other, as the model sees them."""
    tokenizer = Tokenizer.from_folder(FOLDER)
    ids: list[int] = []
    for conversation in held_out(seed, 2):
        problem = conversation.problem
        reply = ReplyPrefix(
            plain(problem.thinking), thinking_closed=True, answer=plain(problem.answer)
        )
        ids += tokenizer.render(messages_of(conversation), ThinkingParams(), prefix=reply)
    return ids
