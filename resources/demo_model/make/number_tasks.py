"""Addition, subtraction, multiplication, and questions that go on from their results."""

from __future__ import annotations

import random

from resources.demo_model.make.column_arithmetic import (
    add_key,
    add_thinking,
    multiply_keys,
    multiply_thinking,
    subtract_thinking,
)
from resources.demo_model.make.problem import Problem
from resources.demo_model.make.vocabulary import NAMES
from resources.demo_model.make.wording import pick

_ADD = """{a}+{b}|{a} + {b}|{a}+{b}=|{a} + {b} = ?|{a}+{b}=?|What is {a} + {b}?|What is {a}+{b}?
what's {a} + {b}|What's {a} plus {b}?|What is {a} plus {b}?|Add {a} and {b}.|Add {a} to {b}.
Calculate {a} + {b}.|Compute {a} + {b}.|How much is {a} + {b}?|How much is {a} plus {b}?
What is the sum of {a} and {b}?|sum of {a} and {b}|Can you add {a} and {b}?|{a} plus {b}
Solve {a} + {b}.|What do you get when you add {a} and {b}?|Work out {a} + {b}
{a}加{b}等于多少？|{a}+{b}等于几？|计算{a}+{b}|{a}加{b}是多少？|{a} + {b} 等于多少"""
_GET = """I have {a} {thing} and get {b} more. How many do I have?|I have {a} {thing} and get {b}
If I have {a} {thing} and buy {b} more, how many do I have?|I have {a} {thing} and find {b} more.
I have {a} {thing}. I get {b} more. How many now?|I had {a} {thing} and found {b}.
I have {a} {thing} and buy {b}. How many now?
{name} has {a} {thing} and gets {b} more. How many {thing} does {name} have now?
There are {a} {thing} here and {b} {thing} there. How many {thing} are there in all?"""
_SUBTRACT = """{a}-{b}|{a} - {b}|{a}-{b}=|{a} - {b} = ?|{a}-{b}=?|What is {a} - {b}?
What is {a}-{b}?
what's {a} - {b}|What's {a} minus {b}?|What is {a} minus {b}?|Subtract {b} from {a}.
{a} − {b}
Calculate {a} - {b}.|Compute {a} - {b}.|How much is {a} - {b}?|How much is {a} minus {b}?
What is the difference of {a} and {b}?|Take {b} away from {a}.|Can you subtract {b} from {a}?
{a} minus {b}|Solve {a} - {b}.|Work out {a} - {b}|What is {a} − {b}?
What is {a} take away {b}?
{a}减{b}等于多少？|{a}-{b}等于几？|计算{a}-{b}|{a}减{b}是多少？"""
_TAKE_AWAY = """I have {a} {thing} and eat {b}. How many are left?|I have {a} {thing} and eat {b}
I have {a} {thing} and eat {b}. How many {thing} do I have?|I have {a} {thing} and lose {b}.
If I have {a} {thing} and eat {b}, how many are left?|I have {a} {thing}, I eat {b}.
I have {a} {thing}. I eat {b} of them. How many remain?|I had {a} {thing} and ate {b}.
I have {a} {thing} and sell {b}. How many now?|I have {a} {thing} and use {b}. How many now?
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


def _fill(templates: str, rng: random.Random, a: int, b: int) -> str:
    return pick(rng, templates).format(a=a, b=b, name=rng.choice(NAMES), thing=rng.choice(_THINGS))


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
    return add_problem(a, b, _fill(_GET if rng.random() < 0.2 else _ADD, rng, a, b))


_SUM = """{a} + {b} + {c}|{a}+{b}+{c}|What is {a} + {b} + {c}?|What is the sum of {a}, {b} and {c}?
Add {a}, {b} and {c}.|{a}+{b}+{c}=|How much is {a} + {b} + {c}?|What is {a} plus {b} plus {c}?
{a} plus {b} plus {c}|sum of {a}, {b} and {c}|Calculate {a} + {b} + {c}.
{a}加{b}加{c}等于多少？"""


def _sum_of_three(rng: random.Random) -> Problem:
    a, b, c = (number(rng, 3) for _ in range(3))
    question = pick(rng, _SUM).format(a=a, b=b, c=c)
    thinking = "\n".join([f"{a}+{b}+{c}", *add_thinking(a, b), *add_thinking(a + b, c)])
    keys = (f"add {a} {b} {c}", add_key(a, b), add_key(a + b, c))
    total = a + b + c
    return Problem("add", keys, question, thinking, f"{a} + {b} + {c} = {total}", total)


def subtraction(rng: random.Random) -> Problem:
    """Two numbers of up to 4 digits; one difference in five is negative."""
    a, b = number(rng, 4), number(rng, 4)
    if (a < b) != (rng.random() < 0.2):
        a, b = b, a
    templates = _TAKE_AWAY if a >= b and rng.random() < 0.25 else _SUBTRACT
    return subtract_problem(a, b, _fill(templates, rng, a, b))


def multiplication(rng: random.Random) -> Problem:
    """Two numbers of up to 2 digits, most of them of 2; some of 3 or 4 digits by one digit."""
    a, b = (number(rng, 2) if rng.random() < 0.5 else rng.randint(10, 99) for _ in range(2))
    if rng.random() < 0.12:
        a, b = rng.randint(100, 9999), rng.randint(2, 9)
    return multiply_problem(a, b, _fill(_MULTIPLY, rng, a, b))


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
        question = pick(rng, templates).format(n=n, w=word)
        return multiply_problem(value, n, question, "follow-up")
    n = number(rng, 3)
    question = pick(rng, _FOLLOW[kind]).format(n=n)
    if kind == "add":
        return add_problem(value, n, question, "follow-up")
    return subtract_problem(value, n, question, "follow-up")
