"""Notices at every width: the words wrap, and every button is seen whole."""

from __future__ import annotations

import pytest
from PySide6.QtTest import QTest

from app.chat_view import Notice
from app.settings import with_value
from app.ui.button_flow import ButtonFlow
from app.ui.controls import TextButton

ACTIONS = (
    ("stop", "Stop"),
    ("answer_now", "Answer now"),
    ("raise_presence:c:e", "Try a higher presence penalty"),
)
LONG = "This chat fills nearly all of what the model can see, and soon a reply will break off. " * 2


def buttons(window) -> list[TextButton]:
    return [window.notices.action_button("loop", index) for index in range(len(ACTIONS))]


@pytest.mark.parametrize(
    ("width", "font_size"),
    [(360, 15), (480, 15), (640, 15), (900, 15), (1440, 15), (480, 22), (1000, 22), (1440, 22)],
)
def test_every_button_is_seen_whole(window, width, font_size):
    window.show_settings(with_value(window.settings_panel.settings, "font_size", font_size))
    window.resize(width, 700)
    window.show_notice(Notice("loop", LONG, "warn", ACTIONS))
    QTest.qWait(80)
    bar = window.notices
    for button in buttons(window):
        assert button.width() >= button.sizeHint().width()
        place = button.geometry().translated(button.parentWidget().mapTo(bar, button.pos()))
        place.moveTo(button.mapTo(bar, button.rect().topLeft()))
        assert bar.rect().contains(place), button.text()
    [row] = bar._rows
    assert row.text.height() >= row.text.heightForWidth(row.text.width())


def test_buttons_stand_beside_the_words_where_there_is_room_and_below_where_not(window):
    window.show_notice(Notice("loop", "The model repeats itself.", "warn", ACTIONS))
    [row] = window.notices._rows
    window.resize(1440, 700)
    QTest.qWait(80)
    assert buttons(window)[0].mapTo(row, row.rect().topLeft()).x() > row.text.geometry().right()
    window.resize(420, 700)
    QTest.qWait(80)
    assert buttons(window)[0].mapTo(row, row.rect().topLeft()).y() >= row.text.geometry().bottom()


def flow(qtbot, *, at_right: bool = False) -> ButtonFlow:
    made = ButtonFlow([TextButton(word) for word in ("One", "Two", "Three")], 8, at_right=at_right)
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_flow_of_buttons_breaks_into_rows_and_says_how_high_it_is(qtbot):
    made = flow(qtbot)
    one_row = made.sizeHint()
    assert made.heightForWidth(one_row.width()) == one_row.height()
    assert made.heightForWidth(one_row.width() - 1) == 2 * one_row.height() + 8
    assert made.heightForWidth(1) == 3 * one_row.height() + 16
    made.resize(one_row.width() - 1, made.heightForWidth(one_row.width() - 1))
    tops = [button.y() for button in made._buttons]
    assert tops == [0, 0, one_row.height() + 8]


def test_a_flow_at_the_right_ends_at_its_edge(qtbot):
    made = flow(qtbot, at_right=True)
    made.resize(made.sizeHint().width() + 50, 40)
    assert made._buttons[-1].geometry().right() == made.width() - 1
    made._buttons[-1].hide()
    made.place()
    assert made._buttons[1].geometry().right() == made.width() - 1
