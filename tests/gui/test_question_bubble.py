"""A long question: folded, unfolded in pieces that do not hold the window up, nothing left out."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from app.ui.question_bubble import STEP_CHARS, STEP_LINES
from tests.gui import scenes

LONG = "".join(f"line {number} of what was pasted\n" for number in range(5_000)) + "the end"


@pytest.fixture
def bubble(window):
    def show(question):
        scenes.show_chat(window, scenes.exchange("e1", question))
        return window.transcript.exchange_widget("e1").bubble

    return show


def press(qtbot, link):
    qtbot.mouseClick(link, Qt.MouseButton.LeftButton)


def text_of(bubble):
    return bubble._text.toPlainText()


def test_each_press_shows_a_piece_more_until_all_is_there(bubble, qtbot):
    shown = bubble(LONG)
    lengths = [len(text_of(shown))]
    assert shown._more.text() == f"Show more of {len(LONG):,} characters"
    assert not shown._less.isVisible()
    while shown._more.isVisible():
        press(qtbot, shown._more)
        lengths.append(len(text_of(shown)))
        assert shown._less.isVisible()
        assert lengths[-1] - lengths[-2] <= STEP_CHARS
    assert text_of(shown) == LONG
    assert len(lengths) > 5
    press(qtbot, shown._less)
    assert len(text_of(shown)) == lengths[0]
    assert shown._more.isVisible()


def test_many_short_lines_come_in_pieces_of_lines(bubble, qtbot):
    shown = bubble("x\n" * 3_000 + "y")
    press(qtbot, shown._more)
    assert text_of(shown).count("x") == STEP_LINES
    for _ in range(2):
        press(qtbot, shown._more)
    press(qtbot, shown._more)
    assert text_of(shown) == "x\n" * 3_000 + "y"


def test_one_word_without_end_comes_in_pieces_too(bubble, qtbot):
    shown = bubble("a" * (STEP_CHARS * 2))
    press(qtbot, shown._more)
    assert len(text_of(shown)) == STEP_CHARS
    press(qtbot, shown._more)
    assert text_of(shown).count("a") == STEP_CHARS * 2


def test_what_fits_in_one_piece_is_shown_at_once(bubble, qtbot):
    question = "word " * 1_000
    shown = bubble(question)
    assert shown._more.text() == "Show all 5,000 characters"
    press(qtbot, shown._more)
    assert text_of(shown) == question
    assert not shown._more.isVisible()


def test_a_search_unfolds_as_far_as_its_first_word(bubble):
    shown = bubble(LONG)
    shown.unfold_for(("line 4000 ",))
    assert "line 4000 " in text_of(shown)
    assert "the end" not in text_of(shown)
    before = text_of(shown)
    shown.unfold_for(("line 7 ", "nowhere"))
    assert text_of(shown) == before


def test_the_links_stand_below_the_text_and_go_while_it_is_edited(bubble, qtbot, window):
    shown = bubble(LONG)
    press(qtbot, shown._more)
    qtbot.waitUntil(lambda: shown._less.x() >= shown._more.geometry().right(), timeout=30_000)
    assert shown._more.y() >= shown._text.geometry().bottom()
    assert shown._frame.rect().contains(shown._less.geometry())
    shown.begin_edit()
    assert not shown._more.isVisible()
    assert not shown._less.isVisible()
    assert shown.editor.toPlainText() == LONG


def test_another_question_in_its_place_is_folded_again(bubble, qtbot, window):
    shown = bubble(LONG)
    press(qtbot, shown._more)
    shown.set_question("short")
    assert text_of(shown) == "short"
    assert not shown._more.isVisible()
    shown.set_question(LONG + "!")
    assert len(text_of(shown)) < 2_000
