"""When the profile is written: late jobs, and the end of the app."""

from pathlib import Path

from app.settings_controller import SettingsController
from app.settings_file import Profile, load_profile
from tests.app.fakes import FakeJobs, FakeView


def test_a_job_that_comes_late_does_not_undo_what_was_saved_at_the_end(tmp_path: Path):
    jobs, path = FakeJobs(), tmp_path / "settings.json"
    jobs.held = []
    settings = SettingsController(FakeView(), jobs, path, Profile())
    settings.set_shown_chat("a")
    settings.tick()
    settings.set_active_model("demo")
    settings.save_now()
    [late] = jobs.held
    late()
    saved = load_profile(path).profile
    assert (saved.active_model_id, saved.shown_chat_id) == ("demo", "a")


def test_every_tick_with_a_change_is_written(tmp_path: Path):
    path = tmp_path / "settings.json"
    settings = SettingsController(FakeView(), FakeJobs(), path, Profile())
    for model_id in ("first", "second"):
        settings.set_active_model(model_id)
        settings.tick()
        assert load_profile(path).profile.active_model_id == model_id
