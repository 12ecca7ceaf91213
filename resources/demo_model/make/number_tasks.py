"""Addition, subtraction, multiplication, comparing, sorting, sequences."""

from __future__ import annotations

import random
from itertools import pairwise

from resources.demo_model.make.column_arithmetic import (
    add_key,
    add_thinking,
    multiply_keys,
    multiply_thinking,
    subtract_thinking,
)
from resources.demo_model.make.problem import Problem
from resources.demo_model.make.vocabulary import NAMES

_ADD = """{a}+{b}|{a} + {b}|{a}+{b}=|{a} + {b} = ?|{a}+{b}=?|What is {a} + {b}?|What is {a}+{b}?
what's {a} + {b}|What's {a} plus {b}?|What is {a} plus {b}?|Add {a} and {b}.|Add {a} to {b}.
Calculate {a} + {b}.|Compute {a} + {b}.|How much is {a} + {b}?|How much is {a} plus {b}?
What is the sum of {a} and {b}?|sum of {a} and {b}|Can you add {a} and {b}?|{a} plus {b}
Solve {a} + {b}.|What do you get when you add {a} and {b}?|Work out {a} + {b}
I have {a} {thing} and get {b} more. How many do I have?
I have {a} {thing} and buy {b}. How many now?
{name} has {a} {thing} and gets {b} more. How many {thing} does {name} have now?
There are {a} {thing} here and {b} {thing} there. How many {thing} are there in all?
{a}加{b}等于多少？|{a}+{b}等于几？|计算{a}+{b}|{a}加{b}是多少？|{a} + {b} 等于多少"""
_SUBTRACT = """{a}-{b}|{a} - {b}|{a}-{b}=|{a} - {b} = ?|{a}-{b}=?|What is {a} - {b}?
What is {a}-{b}?
what's {a} - {b}|What's {a} minus {b}?|What is {a} minus {b}?|Subtract {b} from {a}.
{a} − {b}
Calculate {a} - {b}.|Compute {a} - {b}.|How much is {a} - {b}?|How much is {a} minus {b}?
What is the difference of {a} and {b}?|Take {b} away from {a}.|Can you subtract {b} from {a}?
{a} minus {b}|Solve {a} - {b}.|Work out {a} - {b}|What is {a} − {b}?
What is {a} take away {b}?
{a}减{b}等于多少？|{a}-{b}等于几？|计算{a}-{b}|{a}减{b}是多少？"""
_TAKE_AWAY = """I have {a} {thing} and eat {b}. How many are left?
I had {a} {thing} and lost {b}. How many?
I have {a} {thing} and give away {b}. How many {thing} do I have left?
{name} has {a} {thing} and eats {b}. How many {thing} are left?
{name} has {a} {thing} and gives away {b}. How many {thing} are left?
There are {a} {thing}. {b} of them are sold. How many {thing} are left?"""
_MULTIPLY = """{a}*{b}|{a} * {b}|{a}×{b}|{a} × {b}|{a}x{b}|{a} x {b}|{a}*{b}=
{a} × {b} = ?
{a} x {b} = ?
What is {a} * {b}?|What is {a} × {b}?|What is {a} x {b}?|what's {a} times {b}
What is {a} times {b}?
Multiply {a} by {b}.|Multiply {a} and {b}.|Calculate {a} × {b}.|Compute {a} * {b}.
{a} times {b}
How much is {a} times {b}?|How much is {a} × {b}?|What is the product of {a} and {b}?
Can you multiply {a} by {b}?|Solve {a} * {b}.|Work out {a} × {b}
{a} multiplied by {b}
There are {a} boxes with {b} {thing} in each. How many {thing} are there?
{a}乘{b}等于多少？|{a}×{b}等于几？|计算{a}×{b}|{a}乘以{b}是多少？"""


def _templates(text: str) -> list[str]:
    return [template for line in text.splitlines() for template in line.split("|")]


_ADD_LIST, _SUBTRACT_LIST = _templates(_ADD), _templates(_SUBTRACT)
_TAKE_AWAY_LIST, _MULTIPLY_LIST = _templates(_TAKE_AWAY), _templates(_MULTIPLY)
_THINGS = [
    "apples",
    "books",
    "coins",
    "stamps",
    "marbles",
    "eggs",
    "cards",
    "pencils",
    "flowers",
    "stones",
    "birds",
    "cakes",
]


def _fill(template: str, rng: random.Random, a: int, b: int) -> str:
    return template.format(a=a, b=b, name=rng.choice(NAMES), thing=rng.choice(_THINGS))


def number(rng: random.Random, digits: int) -> int:
    """A number of 1 to `digits` digits, each length as likely."""
    length = rng.randint(1, digits)
    return rng.randint(10 ** (length - 1) if length > 1 else 0, 10**length - 1)


def add_problem(a: int, b: int, question: str, task: str = "add") -> Problem:
    """Addition in the words of `question`."""
    thinking = "\n".join(add_thinking(a, b))
    return Problem(task, (add_key(a, b),), question, thinking, f"{a} + {b} = {a + b}", a + b)


def subtract_problem(a: int, b: int, question: str, task: str = "subtract") -> Problem:
    """Subtraction in the words of `question`."""
    thinking = "\n".join(subtract_thinking(a, b))
    return Problem(task, (f"sub {a} {b}",), question, thinking, f"{a} - {b} = {a - b}", a - b)


def multiply_problem(a: int, b: int, question: str, task: str = "multiply") -> Problem:
    """Multiplication in the words of `question`."""
    thinking = "\n".join(multiply_thinking(a, b))
    return Problem(task, multiply_keys(a, b), question, thinking, f"{a} × {b} = {a * b}", a * b)


def addition(rng: random.Random) -> Problem:
    """Two numbers of up to 4 digits, sometimes three of up to 3."""
    if rng.random() < 0.12:
        return _sum_of_three(rng)
    a, b = number(rng, 4), number(rng, 4)
    return add_problem(a, b, _fill(rng.choice(_ADD_LIST), rng, a, b))


_SUM = """{a} + {b} + {c}|{a}+{b}+{c}|What is {a} + {b} + {c}?|What is the sum of {a}, {b} and {c}?
Add {a}, {b} and {c}.|{a}+{b}+{c}=|How much is {a} + {b} + {c}?|What is {a} plus {b} plus {c}?
{a} plus {b} plus {c}|sum of {a}, {b} and {c}|Calculate {a} + {b} + {c}.
{a}加{b}加{c}等于多少？"""


def _sum_of_three(rng: random.Random) -> Problem:
    a, b, c = (number(rng, 3) for _ in range(3))
    question = rng.choice(_templates(_SUM)).format(a=a, b=b, c=c)
    thinking = "\n".join([f"{a}+{b}+{c}", *add_thinking(a, b), *add_thinking(a + b, c)])
    keys = (f"add {a} {b} {c}", add_key(a, b), add_key(a + b, c))
    total = a + b + c
    return Problem("add", keys, question, thinking, f"{a} + {b} + {c} = {total}", total)


def subtraction(rng: random.Random) -> Problem:
    """Two numbers of up to 4 digits; one difference in five is negative."""
    a, b = number(rng, 4), number(rng, 4)
    if (a < b) != (rng.random() < 0.2):
        a, b = b, a
    templates = _TAKE_AWAY_LIST if a >= b and rng.random() < 0.1 else _SUBTRACT_LIST
    return subtract_problem(a, b, _fill(rng.choice(templates), rng, a, b))


def multiplication(rng: random.Random) -> Problem:
    """Two numbers of up to 2 digits, most of them of 2; some of 3 or 4 digits by one digit."""
    a, b = (number(rng, 2) if rng.random() < 0.5 else rng.randint(10, 99) for _ in range(2))
    if rng.random() < 0.12:
        a, b = rng.randint(100, 9999), rng.randint(2, 9)
    return multiply_problem(a, b, _fill(rng.choice(_MULTIPLY_LIST), rng, a, b))


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
    question = rng.choice(_templates(templates)).format(a=a, b=b)
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
        question = rng.choice(_templates(_BEST)).format(name=name, list=shown)
        answer = f"The {name} is {taken[0]}."
        return Problem("sort", (f"one {key}",), question, lines[0], answer, taken[0])
    question = rng.choice(_templates(_DOWN if down else _UP)).format(list=shown)
    return Problem("sort", (key,), question, "\n".join(lines), answer)


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
    question = rng.choice(_templates(_NEXT)).format(list=shown)
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


_FOLLOW = {
    "add": """and plus {n}?|plus {n}?|Now add {n}.|add {n}|and {n} more?|Add {n} to that.
and if you add {n}?
And plus {n}|再加{n}呢？""",
    "subtract": """and minus {n}?|minus {n}?|Now subtract {n}.|Take away {n}.|and {n} less?
and if you subtract {n}?
Subtract {n} from that.|再减{n}呢？""",
    "multiply": """and times {n}?|times {n}?|Now multiply that by {n}.|multiply it by {n}
and times {w}?|times {w}?
Multiply the result by {n}.|And times {w}|再乘{n}呢？""",
}
_NUMBER_WORDS = [
    "zero",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
]
_DOUBLE = "and doubled?|Double it.|double that|and twice that?|And the double of it?"


def follow_up(rng: random.Random, before: Problem) -> Problem | None:
    """A question that goes on from the number that was found before; None where it is too large."""
    value = before.value
    if not isinstance(value, int) or not 0 <= value <= 9999:
        return None
    kind = rng.choice(("add", "subtract", "multiply", "multiply"))
    if kind == "multiply":
        n = rng.choice((2, 2, rng.randint(2, 9), rng.randint(2, 10)))
        if value < 100 and rng.random() < 0.2:
            n = rng.randint(11, 99)
        if n > 9 and value > 99:
            n = rng.randint(2, 9)
        word = _NUMBER_WORDS[n] if n <= 10 else str(n)
        templates = _DOUBLE if n == 2 and rng.random() < 0.3 else _FOLLOW[kind]
        question = rng.choice(_templates(templates)).format(n=n, w=word)
        return multiply_problem(value, n, question, "follow-up")
    n = number(rng, 3)
    question = rng.choice(_templates(_FOLLOW[kind])).format(n=n)
    if kind == "add":
        return add_problem(value, n, question, "follow-up")
    return subtract_problem(value, n, question, "follow-up")
