"""Finding control literals: which one wins, what belongs to it, and the choice of the marker."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from engine.text.control_literals import ControlLiterals, ControlToken, choose_marker

SHORT, LONG = ControlToken(1, "<a>"), ControlToken(2, "<a><b>")


def test_the_longest_of_several_literals_wins() -> None:
    literals = ControlLiterals([SHORT, LONG])
    assert literals.split("x<a><b><a>y") == ["x", LONG, SHORT, "y"]


def test_blanks_beside_a_token_belong_to_it_where_it_says_so() -> None:
    left = ControlToken(1, "<l>", strips_left=True)
    right = ControlToken(2, "<r>", strips_right=True)
    word = ControlToken(3, "<w>", single_word=True)
    literals = ControlLiterals([left, right, word])
    assert literals.split("a \n<l> b <r>\t c") == ["a", left, " b ", right, "c"]
    assert literals.split("a<w>b <w> c") == ["a<w>b ", word, " c"]


def test_without_control_tokens_everything_is_text() -> None:
    # A single character cannot be broken and controls nothing.
    for literals in (ControlLiterals([]), ControlLiterals([ControlToken(1, "x")])):
        assert literals.split("x<a>") == ["x<a>"]
        assert literals.split("") == []
        assert literals.break_in("x<a>", "\x7f") == "x<a>"


def test_overlapping_literals_are_all_broken() -> None:
    literals = ControlLiterals([ControlToken(1, "<><"), ControlToken(2, "><>")])
    broken = literals.break_in("a<><><b", "M")
    assert literals.split(broken) == [broken]
    assert broken.replace("M", "") == "a<><><b"


@given(texts=st.lists(st.text(alphabet="\x7f\ufdd0\ufdd1ab", max_size=6), max_size=4))
def test_the_marker_occurs_in_no_text_and_across_no_border(texts: list[str]) -> None:
    marker = choose_marker(texts)
    assert marker not in "".join(texts)


def test_a_marker_is_found_even_where_every_candidate_is_used() -> None:
    everything = "".join(map(chr, [0x7F, *range(0xFDD0, 0xFDF0), *range(0xE000, 0xF900)]))
    marker = choose_marker([everything * 2, everything])
    assert len(marker) == 4
    assert marker not in everything * 3
