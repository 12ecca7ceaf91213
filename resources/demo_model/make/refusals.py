"""Everything else: the model says that it is only the demo model and what it can do instead."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

from resources.demo_model.make.about_app import about_problems
from resources.demo_model.make.problem import Problem
from resources.demo_model.make.vocabulary import NAMES, WORDS, any_word, invented_word, word_list
from resources.demo_model.make.wording import decorated, wording_key

REFUSAL = (
    "I am only the demo model, so I cannot do that. I can do small tasks, for example: What is "
    "48 + 76? For everything else choose the full model at the top of the window."
)
REFUSAL_ZH = (
    "我只是演示模型，不会这个。我能做小题目，例如：48加76等于多少？"
    "其他问题请在窗口上方选择完整的模型。"
)
TOO_LARGE = (
    "I am only the demo model, and these numbers are too large for me. I add and subtract numbers "
    "of up to 4 digits and multiply numbers of up to 2."
)
_THINKING = "This is not one of my small tasks."
_THINKING_ZH = "这不是我会的小题目。"
_THINKING_LARGE = "These numbers are too long for me."


@cache
def _prompts(name: str) -> tuple[str, ...]:
    lines = Path(__file__).with_name(name).read_text("utf-8").splitlines()
    return tuple(line for line in lines if not line.startswith("#"))


def _number(rng: random.Random) -> str:
    return str(rng.randint(2, 10 ** rng.randint(1, 3)))


def _big(rng: random.Random) -> str:
    return str(rng.randint(10**4, 10 ** rng.randint(5, 9)))


def _sentence(rng: random.Random) -> str:
    frame = rng.choice(word_list("frames"))
    while "{" in frame:
        frame = frame.replace("{w}", rng.choice(WORDS), 1)
        frame = frame.replace("{n}", rng.choice(NAMES), 1).replace(
            "{v}", rng.choice(word_list("verbs")), 1
        )
    return frame


def _capitalized_place(rng: random.Random) -> str:
    return (
        rng.choice(word_list("places")) if rng.random() < 0.8 else invented_word(rng).capitalize()
    )


def _topic(rng: random.Random) -> str:
    style = rng.random()
    if style < 0.6:
        return rng.choice(word_list("topics"))
    if style < 0.75:
        return f"{rng.choice(('the', 'a', 'my'))} {rng.choice(WORDS)}"
    if style < 0.9:
        return f"{rng.choice(WORDS)} {rng.choice(WORDS)}"
    return any_word(rng)


_FILL = {
    "topic": _topic,
    "place": _capitalized_place,
    "person": lambda rng: rng.choice(word_list("people")),
    "word": lambda rng: rng.choice(WORDS) if rng.random() < 0.8 else any_word(rng),
    "thing": lambda rng: rng.choice(WORDS),
    "name": lambda rng: rng.choice(NAMES),
    "n": _number,
    "big": _big,
    "sentence": _sentence,
}
_FILL_ZH = {
    "topic": lambda rng: rng.choice(word_list("topics-zh")),
    "place": lambda rng: rng.choice(word_list("places-zh")),
    "person": lambda rng: rng.choice(word_list("people-zh")),
    "n": _number,
}
_CHOICE = re.compile(r"\[([^\]]*\|[^\]]*)\]")
_SLOT = re.compile(r"\{(\w+)\}")


@cache
def _about_wordings() -> frozenset[str]:
    return frozenset(wording_key(p.question) for topic in about_problems() for p in topic)


def refusal(rng: random.Random) -> Problem:
    """A prompt that is none of the tasks, or one of them with numbers that are too large."""
    style = rng.random()
    if style < 0.12:
        return _too_large(rng)
    chinese = style < 0.22
    fill = _FILL_ZH if chinese else _FILL
    while True:
        template = rng.choice(_prompts("refusals_zh.txt" if chinese else "refusals.txt"))
        chosen = _CHOICE.sub(lambda found: rng.choice(found[1].split("|")), template)
        question = " ".join(_SLOT.sub(lambda found: fill[found[1]](rng), chosen).split())
        if wording_key(question) not in _about_wordings():
            break
    if rng.random() < 0.3:
        question = decorated(rng, question)
    key = f"refuse {wording_key(question)}"
    thinking, answer = (_THINKING_ZH, REFUSAL_ZH) if chinese else (_THINKING, REFUSAL)
    return Problem("refuse", (key,), question, thinking, answer)


_LARGE = [
    "What is {a} {o} {b}?",
    "{a} {o} {b}",
    "{a}{o}{b}",
    "Calculate {a} {o} {b}.",
    "How much is {a} {o} {b}?",
    "{a}{o}{b}=",
]


def _too_large(rng: random.Random) -> Problem:
    operator = rng.choice("+-*×x")
    multiplies = operator in "*×x"
    a = rng.randint(100, 10 ** rng.randint(3, 6)) if multiplies else int(_big(rng))
    b = (
        rng.randint(11, 10 ** rng.randint(2, 6))
        if multiplies
        else rng.randint(1, 10 ** rng.randint(1, 8))
    )
    if rng.random() < 0.5:
        a, b = b, a
    question = rng.choice(_LARGE).format(a=a, o=operator, b=b)
    return Problem("refuse", (f"refuse {question}",), question, _THINKING_LARGE, TOO_LARGE)
