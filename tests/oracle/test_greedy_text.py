"""Proof 1: greedy text of SmolLM2 equals Hugging Face's on the same dequantized weights.

Our tokens are fed to Hugging Face, which must choose each of them itself: that is the case for all
positions exactly if its own greedy text is the same.
"""

import numpy as np
import pytest

from engine.api import (
    ChatMessage,
    Failed,
    Finished,
    GenerationControl,
    GenerationRequest,
    Role,
    SamplingParams,
    ThinkingParams,
)
from engine.models.model_files import open_model
from engine.open_engine import open_engine
from tests.real.smollm2 import SYSTEM, smollm2_path

pytestmark = [pytest.mark.oracle, pytest.mark.real, pytest.mark.timeout(600)]

NEW_TOKENS = 64
NEAR_TIE = 1e-3
"""Where the choices differ, our token's logit may be this much (of the largest) below the best."""

PROMPTS = (
    "What is the capital of France?",
    "Write a haiku about the sea.",
    "What is 17 + 25?",
    "Name three primary colours.",
    "Explain gravity to a child.",
    "Write a Python function that reverses a string.",
    "Who wrote Romeo and Juliet?",
    "Translate 'good morning' into Spanish.",
    "List five animals that live in the ocean.",
    "What is photosynthesis?",
    "Give me a recipe for pancakes.",
    "Why is the sky blue?",
    "Summarize the story of Cinderella in two sentences.",
    "What does HTTP stand for?",
    "Write a short poem about winter.",
    "How many days are in a leap year?",
    "你好，请介绍一下你自己。",
    "Continue: 1, 1, 2, 3, 5, 8,",
    "What is the difference between a list and a tuple?",
    "Tell me a joke about 🐱 cats.",
)


def greedy_replies(path):
    """(prompt ids, reply ids) of every prompt, all in one batch of slots."""
    count = len(PROMPTS)
    engine = open_engine(path, "cpu", 160 * count, count)
    for _ in engine.load(GenerationControl()):
        pass
    prompts = {}
    for text in PROMPTS:
        messages = (ChatMessage(Role.SYSTEM, SYSTEM), ChatMessage(Role.USER, text))
        prompts[text] = engine._tokenizer.render(messages, ThinkingParams())
        greedy = SamplingParams(temperature=0.0)
        engine.submit(
            GenerationRequest(text, messages, greedy, max_new_tokens=NEW_TOKENS),
            GenerationControl(),
        )
    replies = {}
    while len(replies) < count:
        for event in engine.step():
            assert not isinstance(event, Failed), event
            if isinstance(event, Finished):
                replies[event.request_id] = list(event.stats.token_ids)
    engine.close()
    return [(prompts[text], replies[text]) for text in PROMPTS]


def test_greedy_text_equals_hugging_face():
    from tests.oracle.reference_model import hugging_face_logits, hugging_face_model

    path = smollm2_path()
    pairs = greedy_replies(path)
    model = hugging_face_model(open_model(path))
    equal, tokens = 0, 0
    for prompt, reply in pairs:
        logits = hugging_face_logits(model, prompt + reply[:-1])[len(prompt) - 1 :]
        tokens += len(reply)
        equal += int((logits.argmax(-1) == reply).all())
        below = logits.max(-1) - logits[np.arange(len(reply)), reply]
        assert below.max() <= NEAR_TIE * np.abs(logits).max()
    print(f"SmolLM2: {equal} of {len(pairs)} greedy texts equal to Hugging Face, {tokens} tokens")
    # A near tie may flip a text or two; more would mean another computation.
    assert equal >= len(pairs) - 2
