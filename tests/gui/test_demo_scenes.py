"""The pictures with the demo model show what it said itself, streamed by the engine thread."""

from tests.gui import demo_scenes


def shown(window, exchange_id):
    """Thinking and answer of an exchange."""
    widget = window.transcript.exchange_widget(exchange_id)
    return widget.thinking.text, widget.answer.body.text


def test_both_questions_are_thought_about_and_answered_right(window):
    demo_scenes.scene_demo_done(window)
    assert window.header.picker.button.text() == "Demo model: only small tasks"
    thought, answer = shown(window, "e0")
    assert "carry 1: 124" in thought
    assert answer == "48 + 76 = 124"
    thought, answer = shown(window, "e1")
    assert thought.startswith("124*2")
    assert answer == "124 × 2 = 248"


def test_the_picture_of_the_thinking_is_taken_before_its_end(window):
    demo_scenes.scene_demo_thinking(window)
    thought, answer = shown(window, "e0")
    assert thought.startswith("47*86")
    assert answer == ""
