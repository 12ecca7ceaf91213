"""Questions about the app and about the model itself; the words are in about_app.txt."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from resources.demo_model.make.problem import KNOWN, Problem
from resources.demo_model.make.wording import decorated, wording_key

_CHOICE = re.compile(r"\[([^\]]*)\]")


@cache
def about_problems() -> tuple[tuple[Problem, ...], ...]:
    """All questions of each topic in the wordings of about_app.txt."""
    topics: list[tuple[str, str, list[str]]] = []
    for line in Path(__file__).with_name("about_app.txt").read_text("utf-8").splitlines():
        if line.startswith("#"):
            continue
        if " | " in line:
            _, thinking, answer = line.split(" | ")
            topics.append((thinking, answer, []))
        else:
            topics[-1][2].extend(_expanded(line))
    return tuple(
        tuple(
            Problem("about", (KNOWN + wording_key(question),), question, thinking, answer)
            for question in dict.fromkeys(questions)
        )
        for thinking, answer, questions in topics
    )


def about(rng: random.Random) -> Problem:
    """One question; topics with more wordings come a little more often.

    The wordings of the file are known; half of the questions have words added before or after, and
    of these the split holds some out.
    """
    topics = about_problems()
    (topic,) = rng.choices(topics, weights=[len(topic) ** 0.5 for topic in topics])
    problem = rng.choice(topic)
    if rng.random() < 0.25:
        # People write capitals where they like.
        first = problem.question[0].swapcase()
        problem = replace(problem, question=first + problem.question[1:])
    if rng.random() < 0.5:
        return problem
    question = decorated(rng, problem.question)
    return replace(problem, question=question, keys=(f"about {wording_key(question)}",))


def _expanded(line: str) -> list[str]:
    """Every question that the choices of a line allow."""
    parts = _CHOICE.split(line)
    options = [part.split("|") if at % 2 else [part] for at, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*options)]
