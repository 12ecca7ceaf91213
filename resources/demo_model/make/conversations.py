"""Whole conversations: a question, often with earlier turns, a system message, other wording."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from resources.demo_model.make import number_tasks, order_tasks, sequences, time_tasks, word_tasks
from resources.demo_model.make.about_app import about
from resources.demo_model.make.problem import Problem, may_train
from resources.demo_model.make.refusals import refusal
from resources.demo_model.make.wording import decorated

Task = Callable[[random.Random], Problem]

TASKS: dict[str, Task] = {
    "add": number_tasks.addition,
    "subtract": number_tasks.subtraction,
    "multiply": number_tasks.multiplication,
    "compare": order_tasks.comparing,
    "sort": order_tasks.sorting,
    "sequence": sequences.sequence,
    "letters": word_tasks.counting_letters,
    "reverse": word_tasks.reversing,
    "logic": word_tasks.logic,
    "weekday": time_tasks.weekday,
    "clock": time_tasks.clock,
    "units": time_tasks.units,
    "about": about,
    "refuse": refusal,
}
"""Every task but the follow-ups, by name."""

FOLLOW_UP = "follow-up"

_WEIGHTS = {
    "add": 1.1, "subtract": 1.3, "multiply": 1.6, "compare": 1.0, "sort": 1.4, "sequence": 1.7,
    "letters": 1.5, "reverse": 1.3, "logic": 0.8, "weekday": 1.0, "clock": 1.2, "units": 1.0,
    "about": 1.6, "refuse": 1.7, FOLLOW_UP: 1.2,
}  # fmt: skip
"""How often each task is trained, relative to the others."""

_FOLLOWABLE = ("add", "subtract", "multiply", "letters", "reverse", "weekday", "sequence")
_STEPS = (
    "Show the steps.",
    "Think step by step.",
    "please",
    "Explain.",
    "Be brief.",
    "Show your work.",
)
_SYSTEM = (
    "You are a helpful assistant.",
    "You are a helpful assistant",
    "Answer briefly.",
    "Be polite and short.",
    "You are Thinkpane's assistant.",
    "Always answer in English.",
    "You are a teacher. Explain every step.",
    "Answer like a pirate.",
)


@dataclass(frozen=True, slots=True)
class Conversation:
    """Earlier turns (question and answer), then the problem that is to be answered."""

    problem: Problem
    history: tuple[tuple[str, str], ...] = ()
    system: str = ""


def _reworded(rng: random.Random, problem: Problem) -> Problem:
    """Now and then with a word before or after, without case or without its closing mark."""
    question, style = problem.question, rng.random()
    if style < 0.08:
        question = decorated(rng, question)
    elif style < 0.14:
        question = f"{question} {rng.choice(_STEPS)}"
    elif style < 0.2:
        question = question.rstrip("?.")
    elif style < 0.25 and problem.task not in ("logic", "letters", "reverse"):
        question = question.lower()
    elif style < 0.3 and problem.task not in ("logic", "letters"):
        question = question[0].lower() + question[1:]
    return replace(problem, question=question or problem.question)


def _one(rng: random.Random, name: str) -> Problem:
    """A problem of that task in training wording; short texts keep theirs."""
    problem = TASKS[name](rng)
    return problem if name in ("about", "refuse") else _reworded(rng, problem)


def any_conversation(
    rng: random.Random, task: str, accepts: Callable[[Problem], bool]
) -> Conversation:
    """A conversation whose last problem is of `task` and accepted; earlier ones may be trained."""
    if task == FOLLOW_UP:
        return _follow_up(rng, accepts)
    while not accepts(problem := _one(rng, task)):
        pass
    history = tuple(_turns(rng)) if rng.random() < 0.2 else ()
    return Conversation(problem, history, _system(rng))


def training_conversation(
    rng: random.Random, emphasis: Mapping[str, float] = MappingProxyType({})
) -> Conversation:
    """A conversation of a random task with training problems only.

    `emphasis` makes tasks so many times as frequent as usual.
    """
    weights = [weight * emphasis.get(task, 1.0) for task, weight in _WEIGHTS.items()]
    (task,) = rng.choices(list(_WEIGHTS), weights=weights)
    return any_conversation(rng, task, may_train)


def _system(rng: random.Random) -> str:
    return rng.choice(_SYSTEM) if rng.random() < 0.1 else ""


def _turns(rng: random.Random) -> list[tuple[str, str]]:
    """One to three earlier turns that have nothing to do with the question."""
    turns: list[tuple[str, str]] = []
    count = rng.choice((1, 1, 2, 3))
    while len(turns) < count:
        problem = _one(rng, rng.choice(list(TASKS)))
        if may_train(problem):
            turns.append((problem.question, problem.answer))
    return turns


def _follow_up(rng: random.Random, accepts: Callable[[Problem], bool]) -> Conversation:
    """One or two turns and a question that goes on from the last answer."""
    while True:
        first = _one(rng, rng.choice(_FOLLOWABLE))
        chain = [first]
        for _ in range(rng.choice((1, 1, 2))):
            following = next_question(rng, chain[-1])
            if following is None:
                break
            chain.append(following)
        *earlier, last = chain
        if earlier and all(map(may_train, earlier)) and accepts(last):
            turns = tuple((problem.question, problem.answer) for problem in earlier)
            return Conversation(last, turns, _system(rng))


def next_question(rng: random.Random, before: Problem) -> Problem | None:
    """A question that goes on from an answer, None where none does."""
    for follow in (number_tasks.follow_up, word_tasks.follow_up, time_tasks.follow_up):
        problem = follow(rng, before)
        if problem is not None:
            return problem
    return None
