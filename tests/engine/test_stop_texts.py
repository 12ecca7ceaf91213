"""Stop texts are found wherever the stream is cut, and nothing of them is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.stop_texts import StopTextFilter


def run(stop_texts, pieces):
    found = StopTextFilter(stop_texts)
    shown = "".join(found.add(piece) for piece in pieces)
    return shown + found.finish(), found.stopped


@pytest.mark.parametrize(
    ("pieces", "shown", "stopped"),
    [
        (["one STOP two"], "one ", True),
        (["one S", "TO", "P two"], "one ", True),
        (["one S", "TAR"], "one STAR", False),
        (["one STO"], "one STO", False),
        (["SSTOP"], "S", True),
        (["STOP", "more"], "", True),
    ],
)
def test_text_ends_before_the_stop_text(pieces, shown, stopped):
    assert run(["STOP"], pieces) == (shown, stopped)


def test_the_earliest_of_several_wins():
    assert run(["b", "aab"], ["xa", "ab"]) == ("x", True)


def test_only_a_possible_start_is_held_back():
    assert StopTextFilter(["\n\n"]).add("word\n") == "word"


@given(
    st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=3),
    st.lists(st.text("abc", max_size=4), max_size=12),
)
def test_cutting_the_stream_changes_nothing(stop_texts, pieces):
    text = "".join(pieces)
    shown, stopped = run(stop_texts, pieces)
    ends = [text.find(s) for s in stop_texts if s in text]
    assert stopped == bool(ends)
    if not ends:
        assert shown == text
    else:
        # The stop text that is complete first ends the text; it may begin later than another.
        first_end = min(text.find(s) + len(s) for s in stop_texts if s in text)
        assert text.startswith(shown)
        assert len(shown) <= first_end
        assert not any(s in shown for s in stop_texts)
