"""The first run as a user has it: `make run` on an empty profile, keys alone, the demo model."""

import os
import shutil

import pytest

from tests.demo_model.fresh_app import FreshApp
from tests.real.driven_app import PATIENCE_S, wait_for

pytestmark = [pytest.mark.screen, pytest.mark.timeout(5 * PATIENCE_S)]


@pytest.fixture
def app(tmp_path):
    if not os.environ.get("DISPLAY") or shutil.which("xdotool") is None:
        pytest.skip("no X server or no xdotool: run `make test-real`, which starts a screen")
    made = FreshApp(tmp_path / "profile")
    yield made
    if made.is_running():
        made.kill()


def test_make_run_leads_to_thinking_and_an_answer_without_a_download(app):
    app.start()
    app.try_the_demo_model()
    app.type("What is 39 × 78?")
    wait_for(lambda: app.draft() == "What is 39 × 78?", "the question in the composer")
    app.press("Return")
    [answer] = app.answers(1)
    assert answer == "39 × 78 = 3042"
    [(thinking, model)] = app.rows("SELECT thinking, model FROM reply")
    assert "3042" in thinking
    assert model == "Demo model"
    assert app.close() == 0
    assert app.settings()["active_model_id"] == "demo"
    # The second start goes on in the same chat, without the wizard.
    app.start()
    app.ask("and times two?")
    assert app.answers(2)[1] == "3042 × 2 = 6084"
    assert app.close() == 0
    assert app.output() == "", "make or the application wrote to the terminal"
