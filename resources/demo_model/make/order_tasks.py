"""Comparing and sorting numbers."""

from __future__ import annotations

import random

from resources.demo_model.make.number_tasks import number
from resources.demo_model.make.problem import Problem
from resources.demo_model.make.wording import pick

_LARGER = """Which is larger, {a} or {b}?|Which is bigger: {a} or {b}?
Which number is greater, {a} or {b}?
what is larger {a} or {b}|What is bigger, {a} or {b}?|{a} or {b}, which is larger?
Compare {a} and {b}.
{a} vs {b}|{a} vs. {b}?|Larger: {a} or {b}?|Is {a} more than {b} or less?
which is greater {a} or {b}
Which of {a} and {b} is the larger one?|Is {a} or {b} larger?|Is {a} or {b} bigger?
compare {a} and {b}"""
_SMALLER = """Which is smaller, {a} or {b}?|Which is less: {a} or {b}?
Which number is smaller, {a} or {b}?
what is smaller {a} or {b}|{a} or {b}, which is smaller?|Is {a} or {b} smaller?"""
_IS_LARGER = """Is {a} larger than {b}?|Is {a} bigger than {b}?|Is {a} greater than {b}?
Is {a} > {b}?
is {a} more than {b}"""
_LARGER_ZH = "{a}和{b}哪个大？|{a}和{b}哪个更大？|{a}和{b}比较，哪个大？"


def _compare_thinking(a: str, b: str) -> tuple[str, str]:
    """The thinking, and "<", "=" or ">"."""
    steps = [f"{a} and {b}"]
    (whole_a, _, part_a), (whole_b, _, part_b) = a.partition("."), b.partition(".")
    if (not part_a and not part_b) or len(whole_a) != len(whole_b):
        steps.append(f"digits {len(whole_a)} and {len(whole_b)}")
    if len(whole_a) != len(whole_b):
        sign = "<" if len(whole_a) < len(whole_b) else ">"
        return "\n".join([*steps, f"{a}{sign}{b}"]), sign
    places = max(len(part_a), len(part_b))
    if len(part_a) != len(part_b):
        part_a, part_b = part_a.ljust(places, "0"), part_b.ljust(places, "0")
        steps.append(f"same length: {whole_a}.{part_a} and {whole_b}.{part_b}")
    pairs, sign = [], "="
    for x, y in zip(whole_a + part_a, whole_b + part_b, strict=True):
        sign = "<" if x < y else ">" if x > y else "="
        pairs.append(f"{x}{sign}{y}")
        if sign != "=":
            break
    return "\n".join([*steps, ", ".join(pairs), f"{a}{sign}{b}"]), sign


def _numbers_to_compare(rng: random.Random) -> tuple[str, str]:
    kind = rng.random()
    if kind < 0.35:
        whole = rng.randint(0, 99)
        other = whole if rng.random() < 0.7 else rng.randint(0, 99)
        first, second = (
            f"{w}.{rng.randint(0, 99) if rng.random() < 0.5 else rng.randint(0, 9)}"
            for w in (whole, other)
        )
        return first, second
    a = number(rng, 5)
    if kind < 0.6:
        return str(a), str(number(rng, 5))
    # Numbers that begin alike are the hard ones.
    head = str(a)[: rng.randint(1, len(str(a)))]
    rest = len(str(a)) - len(head)
    return str(a), head + "".join(rng.choice("0123456789") for _ in range(rest))


def comparing(rng: random.Random) -> Problem:
    """Two whole numbers of up to 5 digits, or with up to 2 digits after the point."""
    a, b = _numbers_to_compare(rng)
    if len(b) > 1 and b[0] == "0" and b[1] != ".":
        b = str(int(b))
    thinking, sign = _compare_thinking(a, b)
    high, low = (b, a) if sign == "<" else (a, b)
    kind = rng.choice(("larger", "larger", "smaller", "is", "zh"))
    templates = {"larger": _LARGER, "smaller": _SMALLER, "is": _IS_LARGER, "zh": _LARGER_ZH}[kind]
    if sign == "=":
        answer = "两个数一样大。" if kind == "zh" else "They are equal."
        answer = f"No, {answer.lower()}" if kind == "is" else answer
    elif kind == "is":
        yes = sign == ">"
        answer = f"Yes, {a} is larger than {b}." if yes else f"No, {a} is smaller than {b}."
    else:
        answer = {
            "larger": f"{high} is larger than {low}.",
            "smaller": f"{low} is smaller than {high}.",
            "zh": f"{high}更大。",
        }[kind]
    question = pick(rng, templates).format(a=a, b=b)
    return Problem("compare", (f"compare {kind} {a} {b}",), question, thinking, answer)


_UP = """Sort {list}.|Sort {list} in ascending order.|Sort these numbers: {list}
Sort from smallest to largest: {list}
Put {list} in order.|Order these numbers from small to large: {list}|Can you sort {list}?
sort {list}
Arrange {list} from smallest to largest.|Sort the list {list}|Please sort: {list}
把{list}从小到大排序"""
_DOWN = """Sort {list} in descending order.|Sort from largest to smallest: {list}
把{list}从大到小排序
Order these numbers from large to small: {list}|Arrange {list} from largest to smallest.
Sort {list} from high to low."""


_BEST = """What is the {name} of {list}?|Which is the {name}: {list}?|Find the {name} of {list}.
{name} of {list}
Which number is the {name}: {list}?|What is the {name} number in {list}?
Which of {list} is the {name}?"""


def sorting(rng: random.Random) -> Problem:
    """Three to six numbers below 1,000, up or down; the thinking takes out one after another.

    Sometimes only the largest or smallest is asked for.
    """
    limit = rng.choice((9, 99, 99, 999))
    numbers = [rng.randint(0, limit) for _ in range(rng.choice((3, 4, 4, 5, 5, 6)))]
    down = rng.random() < 0.3
    name, sign = ("largest", ">") if down else ("smallest", "<")
    left, taken, lines = list(numbers), [], []
    while len(left) > 1:
        best, steps = left[0], []
        for other in left[1:]:
            relation = "=" if best == other else ">" if best > other else "<"
            steps.append(f"{best}{relation}{other}")
            if relation not in (sign, "="):
                best = other
        lines.append(f"{' '.join(map(str, left))}: {', '.join(steps)}, {name} {best}")
        left.remove(best)
        taken.append(best)
    if only_one := rng.random() < 0.15:
        lines = lines[:1]
    else:
        lines.append(f"last {left[0]}")
    answer = ", ".join(map(str, [*taken, *left]))
    separator = rng.choice((", ", ", ", " ", ","))
    shown = separator.join(map(str, numbers))
    if separator == ", " and rng.random() < 0.2:
        shown = f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"
    key = f"sort {name} {' '.join(map(str, numbers))}"
    if only_one:
        question = pick(rng, _BEST).format(name=name, list=shown)
        answer = f"The {name} is {taken[0]}."
        return Problem("sort", (f"one {key}",), question, lines[0], answer, taken[0])
    question = pick(rng, _DOWN if down else _UP).format(list=shown)
    return Problem("sort", (key,), question, "\n".join(lines), answer)
