"""Sequences of numbers and their next number."""

from __future__ import annotations

import random
from itertools import pairwise

from resources.demo_model.make.problem import Problem
from resources.demo_model.make.wording import pick

_NEXT = """What comes next: {list}, ?|What comes next: {list}?|What is the next number: {list}
{list}, ?
Continue the sequence: {list}|Which number comes next? {list}|Next number in the sequence {list}?
{list} ... what comes next?|What is the next number in {list}?|continue {list}|Complete: {list}, ...
{list}，下一个数是多少？|找规律：{list}，？"""


def sequence(rng: random.Random) -> Problem:
    """The next number of a sequence whose differences, ratios or sums show a rule."""
    while True:
        terms = _terms(rng)
        thinking, following = sequence_thinking(terms)
        if following is not None and max(map(abs, [*terms, following])) <= 9999:
            break
    shown = ", ".join(map(str, terms))
    question = pick(rng, _NEXT).format(list=shown)
    key = f"sequence {' '.join(map(str, terms))}"
    answer = f"The next number is {following}."
    return Problem("sequence", (key,), question, thinking, answer, following)


def _terms(rng: random.Random) -> list[int]:
    kind, count = rng.random(), rng.randint(4, 5)
    if kind < 0.5:
        start, step = rng.randint(0, 99), rng.randint(1, 25) * rng.choice((1, 1, -1))
        if start + step * count < 0:
            step = -step
        return [start + step * index for index in range(count)]
    if kind < 0.65:
        ratio = rng.choice((2, 2, 3, 3, 4, 5, 10))
        start = rng.randint(1, {2: 80, 3: 40, 4: 20, 5: 15, 10: 9}[ratio])
        return [start * ratio**index for index in range(rng.choice((3, 4, 4, 5)))]
    if kind < 0.85:
        start, step, growth = rng.randint(0, 40), rng.randint(1, 9), rng.randint(1, 4)
        return [start + step * i + growth * i * (i - 1) // 2 for i in range(count)]
    first = rng.randint(0, 20)
    terms, count = [first, rng.randint(max(1, first), first + 20)], rng.choice((5, 5, 6))
    while len(terms) < count:
        terms.append(terms[-1] + terms[-2])
    return terms


def sequence_thinking(terms: list[int]) -> tuple[str, int | None]:
    """The thinking and the next number by the first rule that fits; None where none does."""
    pairs = list(pairwise(terms))
    steps = [y - x for x, y in pairs]
    lines = ["steps: " + ", ".join(f"{y}-{x}={y - x}" for x, y in pairs)]
    last, step = terms[-1], steps[-1]
    if len(set(steps)) == 1:
        return "\n".join([*lines, f"same step: {_plus(last, step)}"]), last + step
    growths = [y - x for x, y in pairwise(steps)]
    shown = (f"{y}-{x}={y - x}" for x, y in pairwise(steps))
    lines.append(f"growth: {', '.join(shown)}")
    if len(growths) > 1 and len(set(growths)) == 1:
        growth = growths[0]
        lines.append(f"same growth: {_plus(step, growth)}, {_plus(last, step + growth)}")
        return "\n".join(lines), last + step + growth
    triples = list(zip(terms, terms[1:], terms[2:], strict=False))
    if all(z == x + y for x, y, z in triples):
        lines.append("sums: " + ", ".join(f"{x}+{y}={z}" for x, y, z in triples))
        following = terms[-2] + last
        return "\n".join([*lines, f"sum of two: {terms[-2]}+{last}={following}"]), following
    x, y, z = triples[0]
    lines.append(f"sums: {x}+{y}={x + y}, not {z}")
    if terms[0] > 0 and all(x and y % x == 0 and y * terms[0] == x * terms[1] for x, y in pairs):
        ratio = terms[1] // terms[0]
        lines.append("ratios: " + ", ".join(f"{y}={x}*{ratio}" for x, y in pairs))
        return "\n".join([*lines, f"same ratio: {last}*{ratio}={last * ratio}"]), last * ratio
    return "", None


def _plus(number_: int, step: int) -> str:
    return f"{number_}{'+' if step >= 0 else '-'}{abs(step)}={number_ + step}"
