"""Words that the tasks are made of: real words, invented words, names, kinds of things."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path


@cache
def word_list(name: str) -> tuple[str, ...]:
    """One of the lists of words.txt."""
    text = Path(__file__).with_name("words.txt").read_text("utf-8")
    for section in text.split("# ")[1:]:
        title, _, lines = section.partition("\n")
        if title == name:
            return tuple(item for line in lines.splitlines() for item in line.split("|"))
    raise KeyError(name)


WORDS = word_list("words")
NAMES = word_list("names")
KINDS = word_list("kinds")
"""Nouns as "one:many"."""
TRAITS = word_list("traits")
ADJECTIVES = word_list("adjectives")
"""As "tall:taller:tallest"."""

_ONSETS = (
    *"bcdfghjklmnprstvwyz",
    *(
        "bl",
        "br",
        "ch",
        "cl",
        "cr",
        "dr",
        "fl",
        "fr",
        "gl",
        "gr",
        "pl",
        "pr",
        "qu",
        "sh",
        "sk",
        "sl",
    ),
    *("sn", "sp", "st", "str", "sw", "th", "tr", "tw", "wh"),
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ee", "oo", "ou", "ie", "oa", "y")
_CODAS = (
    *(
        "",
        "",
        "",
        "b",
        "d",
        "g",
        "k",
        "l",
        "m",
        "n",
        "p",
        "r",
        "s",
        "t",
        "x",
        "ck",
        "ll",
        "ss",
        "nd",
    ),
    *("ng", "nk", "nt", "rd", "rk", "rn", "rt", "st", "tt", "sh", "ch", "ff", "mp"),
)
_ENDINGS = (
    *(
        "",
        "",
        "",
        "er",
        "ing",
        "ed",
        "ly",
        "ness",
        "tion",
        "able",
        "ful",
        "s",
        "y",
        "le",
        "ant",
        "ent",
    ),
    *("ous", "ism"),
)


def invented_word(rng: random.Random) -> str:
    """A word that could be English, 2 to 14 letters."""
    while True:
        parts = [
            rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS)
            for _ in range(rng.choice((1, 1, 2, 2, 2, 3)))
        ]
        word = "".join(parts) + rng.choice(_ENDINGS)
        if 2 <= len(word) <= 14:
            return word


def any_word(rng: random.Random) -> str:
    """A word to spell: real, invented, or any letters in any order."""
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(WORDS)
    if kind < 0.85:
        return invented_word(rng)
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 10)))


def a(noun: str) -> str:
    """The noun with its article."""
    return (
        f"an {noun}" if noun[0] in "aeiou" and not noun.startswith(("uni", "eu")) else f"a {noun}"
    )
