"""A setting that a notice speaks of is opened, in view, and has the keyboard if that is wanted."""

from __future__ import annotations

import pytest
from PySide6.QtTest import QTest


@pytest.mark.parametrize("width", [600, 1440])
@pytest.mark.parametrize("name", ["context_tokens", "presence_penalty"])
def test_a_revealed_setting_is_seen_whole_and_has_the_keyboard(window, width, name):
    window.resize(width, 420)
    QTest.qWait(30)
    if window.panels.is_shown("right"):
        window.panels.toggle("right")
    window.settings_panel.search.setText("seed")
    window.reveal_setting(name)
    QTest.qWait(50)
    row = window.settings_panel.rows[name]
    assert row.visibleRegion().boundingRect() == row.rect()
    assert row.isAncestorOf(window.focusWidget()) or window.focusWidget() is row.input


def test_without_the_keyboard_what_is_typed_still_goes_into_the_question(window):
    window.composer.setFocus()
    window.panels.toggle("right")
    window.composer.setFocus()
    window.reveal_setting("presence_penalty", focus=False)
    QTest.qWait(50)
    assert window.panels.is_shown("right")
    assert window.focusWidget() is window.composer.edit
