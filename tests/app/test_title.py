"""Titles come from the question alone."""

import pytest

from app.title import MAX_CHARACTERS, title_from_question


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What is 2 + 2?", "What is 2 + 2?"),
        ("\n\n  Hello   there \nmore", "Hello there"),
        ("# A heading\ntext", "A heading"),
        ("- item one\n- item two", "item one"),
        ("1. first", "first"),
        ("```python\nprint(1)\n```", "print(1)"),
        ("3.5 is a number", "3.5 is a number"),
        ("#hashtag", "#hashtag"),
        ("a\x00b\u202ec\td", "abc d"),
        ("👨‍👩‍👧 family", "👨‍👩‍👧 family"),
        ('File "notes.txt":\n\n```\ntext\n```', "notes.txt"),
        ('What is in it?\n\nFile "notes.txt":', "What is in it?"),
        ("", ""),
        (" \n\t", ""),
    ],
)
def test_the_first_line_that_says_something(question, title):
    assert title_from_question(question) == title


def test_a_long_line_is_cut_at_a_word():
    title = title_from_question("Please explain in detail how a transformer model works, then stop")
    assert title == "Please explain in detail how a transformer model works…"
    assert len(title) <= MAX_CHARACTERS


def test_a_long_line_without_blanks_is_cut_where_the_room_ends():
    assert title_from_question("天" * 100) == "天" * (MAX_CHARACTERS - 1) + "…"
