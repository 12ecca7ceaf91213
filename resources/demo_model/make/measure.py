"""Held-out accuracy on the training machine: many replies at once, in PyTorch."""

from __future__ import annotations

from resources.demo_model.make.conversations import Conversation
from resources.demo_model.make.encoding import Encoder
from resources.demo_model.make.generate import generate
from resources.demo_model.make.network import Network
from resources.demo_model.make.scores import MAX_NEW_TOKENS, Score


def measure(
    network: Network,
    encoder: Encoder,
    conversations: list[Conversation],
    *,
    thinks: bool,
    temperature: float = 0.0,
) -> dict[str, Score]:
    """The score of every task."""
    prompts = encoder.prompts(conversations, thinks)
    replies = generate(network, prompts, encoder.ends, MAX_NEW_TOKENS, temperature)
    scores: dict[str, Score] = {}
    for conversation, reply in zip(conversations, replies, strict=True):
        scores.setdefault(conversation.problem.task, Score()).add(
            conversation,
            encoder.answer_text(reply, thinks),
            ended=reply[-1] in encoder.ends,
            reply=encoder.text(reply),
        )
    return scores
