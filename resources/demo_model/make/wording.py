"""Words that people put around a question, and when two wordings count as the same."""

from __future__ import annotations

import random
from functools import cache

_BEFORE = (
    "Please tell me: ", "Tell me, ", "Hi, ", "Hey, ", "Hello, ", "I want to know: ", "So, ", "OK, ",
    "One question: ", "By the way, ", "Excuse me, ", "And ", "But ", "Well, ", "Just curious: ",
    "Sorry, ", "Now, ", "Then ", "Hi! ", "Hello! ", "Please, ", "Quick question: ", "Question: ",
)  # fmt: skip
_AFTER = (
    " please", " I wonder.", " Thanks.", " Tell me.", " :)", " my friend", " Please answer.", "??",
    " Be brief.", " Explain.", " Can you say?", "!!", " then", " Thank you!", " I want to know.",
)  # fmt: skip
_BEFORE_ZH = (
    "请问，",
    "你好，",
    "我想知道，",
    "那么，",
    "对了，",
    "嗨，",
    "您好！",
    "那",
    "告诉我，",
)
_AFTER_ZH = ("谢谢", "呢", "告诉我", "？？", "，请回答", "，谢谢！", "啊", "呀")


def decorated(rng: random.Random, question: str) -> str:
    """The question with a word or two before or after it, in its language."""
    before, after = (_BEFORE, _AFTER) if question.isascii() else (_BEFORE_ZH, _AFTER_ZH)
    if rng.random() < 0.6:
        return rng.choice(before) + question
    return question + rng.choice(after)


def wording_key(question: str) -> str:
    """The wording without case, blanks at the ends and closing marks."""
    return question.lower().strip(" .!?？。！")


@cache
def _templates(text: str) -> tuple[str, ...]:
    return tuple(template for line in text.splitlines() for template in line.split("|"))


def pick(rng: random.Random, text: str) -> str:
    """One of the templates that stand in `text`, on lines of their own or between bars."""
    return rng.choice(_templates(text))
