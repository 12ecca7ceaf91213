"""Counting letters, reversing words, and short logic."""

from __future__ import annotations

import random
from itertools import pairwise

from resources.demo_model.make.problem import LETTER_MARK, Problem
from resources.demo_model.make.vocabulary import (
    ADJECTIVES,
    KINDS,
    NAMES,
    TRAITS,
    WORDS,
    a,
    any_word,
    invented_word,
)
from resources.demo_model.make.wording import pick


def _spelled(word: str) -> str:
    """The letters, each behind a blank: then each is one token."""
    return " ".join(word)


def _shown(rng: random.Random, word: str) -> str:
    """The word as a person may write it."""
    style = rng.random()
    if style < 0.55:
        return word
    if style < 0.7:
        return f'"{word}"'
    if style < 0.8:
        return f"'{word}'"
    return word.capitalize() if style < 0.95 else f'"{word.capitalize()}"'


_COUNT = """How many {x} are in {word}?|How many {xs} are in {word}?
How many {xs} are there in {word}?
How often does {x} appear in {word}?|How many times does the letter {x} appear in {word}?
Count the letter {x} in {word}.|Count the {xs} in {word}|how many {x} in {word}
How many letters {x} are in {word}?
How many {xs} does {word} have?|How many {xs} in {word}?|How many {xs} are in the word {word}?
Number of {x} in {word}?|How many times is {x} in {word}?
How many of the letter {x} are in the word {word}?
{word}里有几个{x}？|{word}中有多少个字母{x}？"""
_LENGTH = """How many letters are in {word}?|How many letters does {word} have?
How long is the word {word}?
Count the letters in {word}.|How many letters are in the word {word}?|how many letters in {word}
{word}有几个字母？"""


def count_problem(word: str, letter: str, question: str, task: str = "letters") -> Problem:
    """How often a letter stands in a word."""
    count, marks = 0, []
    for other in word:
        count += other == letter
        marks.append(f"{other}{count if other == letter else '-'}")
    thinking = f"{word}: {_spelled(word)}\n{letter}: {' '.join(marks)}\ncount {count}"
    times = "time" if count == 1 else "times"
    answer = f"The letter {letter} appears {count} {times} in {word}."
    return Problem(task, (f"count {letter} {word}",), question, thinking, answer, word)


_VOWELS = """How many vowels are in {word}?|How many vowels does {word} have?
Count the vowels in {word}.
how many vowels are in {word}|Number of vowels in {word}?|How many vowels are there in {word}?"""


def _vowels(rng: random.Random, word: str) -> Problem:
    count, marks = 0, []
    for letter in word:
        count += letter in "aeiou"
        marks.append(f"{letter}{count if letter in 'aeiou' else '-'}")
    thinking = f"{word}: {_spelled(word)}\nvowels: {' '.join(marks)}\ncount {count}"
    vowels = "vowel" if count == 1 else "vowels"
    question = pick(rng, _VOWELS).format(word=_shown(rng, word))
    answer = f"{word} has {count} {vowels}."
    return Problem("letters", (f"vowels {word}",), question, thinking, answer, word)


def counting_letters(rng: random.Random) -> Problem:
    """One letter of a word, its vowels, or all of them."""
    word = any_word(rng)
    if rng.random() < 0.12:
        return _vowels(rng, word)
    shown = _shown(rng, word)
    if rng.random() < 0.2:
        numbered = " ".join(f"{letter}{index}" for index, letter in enumerate(word, 1))
        thinking = f"{word}: {_spelled(word)}\n{numbered}\ncount {len(word)}"
        question = pick(rng, _LENGTH).format(word=shown)
        letters = "letter" if len(word) == 1 else "letters"
        answer = f"{word} has {len(word)} {letters}."
        return Problem("letters", (f"length {word}",), question, thinking, answer, word)
    letter = rng.choice(word) if rng.random() < 0.85 else rng.choice("abcdefghijklmnopqrstuvwxyz")
    style = rng.random()
    x = letter if style < 0.6 else letter.upper() if style < 0.75 else f"'{letter}'"
    xs = f"{letter}s" if style < 0.3 else f"{x}'s" if style < 0.75 else x
    question = pick(rng, _COUNT).format(x=x, xs=xs, word=shown)
    return count_problem(word, letter, question)


_REVERSE = """Reverse {word}.|Reverse the word {word}.|Spell {word} backwards.
Write {word} backwards.|reverse {word}
What is {word} backwards?|What is {word} spelled backwards?|{word} backwards
Can you reverse the word {word}?
Turn the word {word} around.|Reverse the letters of {word}.|What is {word} in reverse?
Reverse: {word}
Write the word {word} in reverse.|把{word}倒过来写|{word}倒过来是什么？"""
_ORDER = """Reverse the order of the words: {words}|Reverse the words: {words}
Put the words in reverse order: {words}
Write these words in reverse order: {words}"""


def reverse_problem(word: str, question: str, task: str = "reverse") -> Problem:
    """A word backwards, one letter after another."""
    back = word[::-1]
    thinking = f"{word}: {_spelled(word)}\nbackwards: {_spelled(back)}"
    answer = "".join(LETTER_MARK + letter for letter in back)
    return Problem(task, (f"reverse {word}",), question, thinking, answer, word)


def reversing(rng: random.Random) -> Problem:
    """A word letter by letter, or three to five words in the other order."""
    if rng.random() < 0.2:
        words = [rng.choice(WORDS) for _ in range(rng.randint(3, 5))]
        back = " ".join(reversed(words))
        numbered = " ".join(f"{index} {word}" for index, word in enumerate(words, 1))
        from_last = " ".join(f"{i} {w}" for i, w in reversed(list(enumerate(words, 1))))
        question = pick(rng, _ORDER).format(words=" ".join(words))
        thinking = f"{numbered}\n{from_last}"
        return Problem("reverse", (f"order {' '.join(words)}",), question, thinking, back)
    word = any_word(rng)
    return reverse_problem(word, pick(rng, _REVERSE).format(word=_shown(rng, word)))


def follow_up(rng: random.Random, before: Problem) -> Problem | None:
    """The same task with another letter or word; None where there is nothing to go on from."""
    word = before.value
    if not isinstance(word, str):
        return None
    if before.task == "letters" and rng.random() < 0.5:
        letter = rng.choice(word)
        question = pick(
            rng, "and the letter {x}?|and {x}?|And how many {x}?|How many {x}?|and '{x}'?"
        )
        return count_problem(word, letter, question.format(x=letter), "follow-up")
    if before.task in ("letters", "reverse") and rng.random() < 0.4:
        question = pick(rng, "and backwards?|And spelled backwards?|Now reverse it.|reverse it")
        return reverse_problem(word, question, "follow-up")
    other = any_word(rng)
    if before.task == "reverse":
        question = pick(rng, "and {word}?|And the word {word}?|Now {word}.|and {word}")
        return reverse_problem(other, question.format(word=other), "follow-up")
    return None


def logic(rng: random.Random) -> Problem:
    """A syllogism or an order of three or four people."""
    return _ordering(rng) if rng.random() < 0.35 else _syllogism(rng)


def _kind(rng: random.Random) -> tuple[str, str]:
    if rng.random() < 0.75:
        one, _, many = rng.choice(KINDS).partition(":")
        return one, many
    word = invented_word(rng)
    return word, f"{word}s"


def _syllogism(rng: random.Random) -> Problem:
    (x, xs), (y, ys), (z, zs) = _kind(rng), _kind(rng), _kind(rng)
    while len({x, y, z}) < 3:
        (y, ys), (z, zs) = _kind(rng), _kind(rng)
    name, trait = rng.choice(NAMES), rng.choice(TRAITS)
    unknown = "That does not follow, so we cannot tell."
    form = rng.randrange(9)
    # Premises, question, steps, answer.
    forms = (
        (f"All {xs} are {ys}. {name} is {a(x)}.", f"Is {name} {a(y)}?",
         f"{name} is {a(x)}\nall {xs} are {ys}\nso {name} is {a(y)}: yes",
         f"Yes, {name} is {a(y)}."),
        (f"No {xs} are {ys}. {name} is {a(x)}.", f"Is {name} {a(y)}?",
         f"{name} is {a(x)}\nno {xs} are {ys}\nso {name} is not {a(y)}: no",
         f"No, {name} is not {a(y)}."),
        (f"All {xs} are {ys}. {name} is {a(y)}.", f"Is {name} {a(x)}?",
         f"{name} is {a(y)}\nall {xs} are {ys}, but not all {ys} are {xs}: unknown", unknown),
        (f"Some {xs} are {trait}. {name} is {a(x)}.", f"Is {name} {trait}?",
         f"{name} is {a(x)}\nonly some {xs} are {trait}: unknown", unknown),
        (f"All {xs} are {trait}. {name} is {a(x)}.", f"Is {name} {trait}?",
         f"{name} is {a(x)}\nall {xs} are {trait}\nso {name} is {trait}: yes",
         f"Yes, {name} is {trait}."),
        (f"All {xs} are {ys}. All {ys} are {zs}.", f"Are all {xs} {zs}?",
         f"{xs} are {ys}\n{ys} are {zs}\nso {xs} are {zs}: yes", f"Yes, all {xs} are {zs}."),
        (f"All {xs} are {ys}. No {ys} are {zs}.", f"Are any {xs} {zs}?",
         f"{xs} are {ys}\nno {ys} are {zs}\nso no {xs} are {zs}: no", f"No, no {xs} are {zs}."),
        (f"All {xs} are {ys}. All {ys} are {zs}. {name} is {a(x)}.", f"Is {name} {a(z)}?",
         f"{name} is {a(x)}\n{xs} are {ys}\n{ys} are {zs}\nso {name} is {a(z)}: yes",
         f"Yes, {name} is {a(z)}."),
        (f"All {xs} are {trait}. {name} is not {trait}.", f"Is {name} {a(x)}?",
         f"{name} is not {trait}\nall {xs} are {trait}\nso {name} is not {a(x)}: no",
         f"No, {name} is not {a(x)}."),
    )  # fmt: skip
    premises, question, thinking, answer = forms[form]
    if rng.random() < 0.2:
        premises = premises.replace(". ", " and ", 1) if premises.count(".") == 2 else premises
    elif form in (5, 6) and rng.random() < 0.3:
        first, second, _ = premises.split(".")
        premises = f"If {_lower(first)} and {_lower(second.strip())},"
        question = _lower(question)
    elif rng.random() < 0.1:
        premises = (
            f"If {premises[0].lower() if premises[0] in 'ASN' else premises[0]}{premises[1:]}"
        )
    key = f"logic {form} {x} {y} {z} {name} {trait}"
    return Problem("logic", (key,), f"{premises} {question}", thinking, answer)


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]


def _ordering(rng: random.Random) -> Problem:
    base, more, most = rng.choice(ADJECTIVES).split(":")
    people = rng.sample(NAMES, rng.choice((3, 3, 4)))
    facts = [f"{x} is {more} than {y}." for x, y in pairwise(people)]
    if rng.random() < 0.5:
        rng.shuffle(facts)
    chain = " > ".join(people)
    if rng.random() < 0.6:
        question, end, name = f"Who is the {most}?", "first", people[0]
        answer = f"{name} is the {most}."
    else:
        question, end, name = f"Who is the least {base}?", "last", people[-1]
        answer = f"{name} is the least {base}."
    pairs = "\n".join(f"{x} > {y}" for x, y in pairwise(people))
    thinking = f"{pairs}\n{chain}\n{end}: {name}"
    key = f"order {most} {end} {' '.join(people)}"
    return Problem("logic", (key,), f"{' '.join(facts)} {question}", thinking, answer)
