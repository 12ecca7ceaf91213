"""Proof 1, last part: real weights answer in the real window, which is driven by keys alone.

Pictures go to the folder named by THINKPANE_SHOTS, else to pytest's temporary one.
"""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from tests.real.driven_app import PATIENCE_S, ROOT, driven_app, wait_for
from tests.real.smollm2 import CAPITAL, CAPITAL_ANSWER, RIVER, SYSTEM, smollm2_path

pytestmark = [pytest.mark.real, pytest.mark.screen, pytest.mark.timeout(900)]

STORY = "Tell me a very long story about a lighthouse."
LONGEST = 400


@pytest.fixture(scope="module", autouse=True)
def screen():
    """Skips where no X server, or nothing to press its keys with, is at hand."""
    if not os.environ.get("DISPLAY"):
        pytest.skip("no X server: run `make test-real`, which starts one")
    if shutil.which("xdotool") is None:
        pytest.skip("xdotool is not installed")


@pytest.fixture
def shots(tmp_path):
    """The folder for pictures."""
    folder = Path(os.environ.get("THINKPANE_SHOTS", tmp_path / "shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def app(tmp_path):
    """The application before its first start: no chat, greedy, with the known system prompt."""
    with driven_app(tmp_path / "profile", smollm2_path()) as made:
        settings = {"system_prompt": SYSTEM, "theme": "light", "max_new_tokens": LONGEST}
        made.write_settings(settings, {"temperature": 0.0})
        yield made
        assert made.output() == "", "the application wrote to the terminal"


def ink(picture: Path) -> int:
    """Dark pixels of the middle of the window, where the conversation is."""
    image = QImage(str(picture)).copy(260, 70, 880, 700)
    dark = 0
    for y in range(image.height()):
        for x in range(image.width()):
            dark += QColor(image.pixel(x, y)).lightness() < 100
    return dark


def test_two_questions_typed_into_the_window_name_paris_and_the_seine(app, shots):
    app.start()
    app.ask(CAPITAL)
    assert app.answers(1) == [CAPITAL_ANSWER]
    first = app.picture(shots / "real-first-answer.png")
    app.ask(RIVER)
    answers = app.answers(2)
    assert answers[0] == CAPITAL_ANSWER
    assert "Seine" in answers[1]
    second = app.picture(shots / "real-second-answer.png")
    assert ink(second) > ink(first) > 0
    # What is seen is what is stored: the text in the window, copied and pasted by key.
    assert last_text_before_the_composer(app) == answers[1]
    assert app.close() == 0


def last_text_before_the_composer(app):
    """Walks back until there is text to be copied; pastes it, and reads it as the draft."""
    for steps in range(1, 12):
        app.press("ctrl+l", *["shift+Tab"] * steps, "ctrl+a", "ctrl+c", "ctrl+l", "ctrl+v")
        time.sleep(2.0)
        if app.draft():
            break
    return app.draft()


def test_escape_stops_an_answer_and_the_next_question_is_answered(app):
    app.start()
    app.ask(STORY)
    wait_for(app.streamed, "the story to begin")
    app.press("Escape")
    wait_for(lambda: app.replies()[0][2] == "stopped", "the stop")
    begun = app.replies()[0][1]
    assert begun
    app.press("ctrl+n")
    app.ask(CAPITAL)
    wait_for(lambda: len(app.replies()) == 2 and app.replies()[1][2] == "done", "an answer")
    assert [answer for _, answer, _ in app.replies()] == [begun, CAPITAL_ANSWER]
    assert app.close() == 0


def test_what_was_left_is_found_again_after_closing(app, shots):
    app.start()
    app.ask(CAPITAL)
    app.answers(1)
    app.press("ctrl+b", "ctrl+comma", "ctrl+t")
    app.type("one 你好 é 😀")
    app.press("shift+Return")
    app.type("two")
    draft = "one 你好 é 😀\ntwo"
    wait_for(lambda: app.draft() == draft, f"the draft, not {app.draft()!r}")
    assert app.close() == 0
    left = app.settings()
    assert left["window"]["list_collapsed"] is True
    assert left["window"]["settings_collapsed"] is True
    assert left["settings"]["show_thinking"] is False
    assert left["shown_chat_id"]
    app.start()
    app.picture(shots / "real-reopened.png")
    assert app.close() == 0
    found = app.settings()
    for window in (left["window"], found["window"]):
        # The window manager moves the size that is kept for later by the width of its frame.
        del window["geometry"]
    assert found == left, "the same panels, and the same chat in the window"
    assert app.draft() == draft


def test_a_chat_is_renamed_deleted_and_brought_back_by_keys(app):
    def titles(deleted):
        condition = "NOT NULL" if deleted else "NULL"
        rows = app.rows(f"SELECT title FROM conversation WHERE deleted_at IS {condition}")
        return [title for (title,) in rows]

    app.start()
    app.ask(CAPITAL)
    app.answers(1)
    app.press("ctrl+f", "Tab", "F2")
    app.type("Paris")
    app.press("Return")
    wait_for(lambda: titles(deleted=False) == ["Paris"], "the new title")
    app.press("ctrl+f", "Tab", "Delete")
    wait_for(lambda: titles(deleted=True) == ["Paris"], "the chat in the trash")
    app.press("space")  # the key after Delete is for "Undo"
    wait_for(lambda: titles(deleted=False) == ["Paris"], "the chat back from the trash")
    assert app.close() == 0


def test_a_kill_while_it_answers_loses_no_word_that_was_stored(app, shots):
    app.start()
    app.ask(STORY)
    wait_for(lambda: len(app.streamed()) > 40, "the story to begin")
    app.kill()
    stored = app.streamed()
    app.start()
    wait_for(lambda: app.replies()[0][2] == "interrupted", "the recovery")
    assert app.replies()[0][1] == stored
    app.picture(shots / "real-after-kill.png")
    assert app.close() == 0
    [(chat_id,)] = app.rows("SELECT id FROM conversation")
    assert app.settings()["shown_chat_id"] == chat_id
    assert app.rows("SELECT thinking_enabled FROM reply") == [(0,)], "the model does not think"


def test_closing_while_it_answers_ends_cleanly_and_keeps_the_words(app):
    app.start()
    app.ask(STORY)
    seen = wait_for(app.streamed, "the story to begin")
    assert app.close() == 0
    [(question, answer, status)] = app.replies()
    assert question == STORY
    assert answer.startswith(seen)
    assert status in ("stopped", "interrupted")


def test_a_second_start_shows_the_window_of_the_first(app):
    app.start()
    second = subprocess.run(
        app.command(), cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (second.returncode, second.stderr) == (0, "")
    assert "already running" in second.stdout
    app.ask(CAPITAL)
    assert app.answers(1) == [CAPITAL_ANSWER]
    assert app.close() == 0
