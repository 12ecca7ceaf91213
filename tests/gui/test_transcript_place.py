"""A window that is made anew in another language shows what was being read."""

from __future__ import annotations

from dataclasses import replace

from app.ui.reading_place import reading_place
from tests.gui import scenes


def test_the_place_of_reading_stays_when_all_is_shown_anew(window):
    exchanges = [replace(scenes.exchange(f"e{n}"), replies=(scenes.reply(),)) for n in range(20)]
    scenes.show_chat(window, *exchanges)
    scenes.settle(window)
    bar = window.transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 3)
    scenes.settle(window)
    before = reading_place(window.transcript)
    assert before is not None
    window.speak_anew(lambda: scenes.show_chat(window, *exchanges))
    scenes.settle(window)
    after = reading_place(window.transcript)
    assert after is not None
    assert after[0] == before[0]
    assert abs(after[1] - before[1]) < 30


def test_who_follows_the_end_goes_on_following(window):
    exchanges = [scenes.exchange(f"e{n}") for n in range(20)]
    scenes.show_chat(window, *exchanges)
    scenes.settle(window)
    assert reading_place(window.transcript) is None
    window.speak_anew(lambda: scenes.show_chat(window, *exchanges))
    scenes.settle(window)
    assert window.transcript.following
