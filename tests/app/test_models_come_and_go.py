"""Models that come and go: downloads seen from the header, models of the user, two at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

from app.chat_view import ModelState
from app.engine_events import ModelUnloaded
from app.model_records import ModelRecord, ModelsOnDisk, added_model, known_models, look_at_disk
from app.model_store_thread import ModelStoreThread
from app.paths import resource_dir
from app.settings_file import AddedModel, Profile
from app.ui.theme import Theme
from app.wizard_host import WizardHost
from app.wizard_view import WizardAction, WizardPage
from engine.errors import DownloadCancelled, DownloadFailed, DownloadFault
from tests.app.fakes import Desk
from tests.app.test_model_controller import actions, loaded, states
from tests.app.test_wizard_controller import MODEL, WEIGHTS, Wizard


def big(folder: Path) -> ModelRecord:
    return ModelRecord("big", "Big", folder / "big", in_catalog=True)


def own(folder: Path) -> ModelRecord:
    return ModelRecord("added-1", "Mine", folder / "gone.gguf", is_added=True)


def test_known_models_are_catalog_demo_and_added_ones(tmp_path):
    demo = tmp_path / "demo"
    demo.mkdir()
    gguf = tmp_path / "My model.gguf"
    added = added_model(gguf)
    assert added_model(gguf) == added
    assert added.label == "My model"
    records = known_models(tmp_path / "models", demo, [added])
    assert [r.model_id for r in records] == ["qwen3-0.6b", added.model_id]
    (demo / "config.json").write_text("{}")
    records = known_models(tmp_path / "models", demo, [added])
    assert [r.is_demo for r in records] == [False, True, False]
    assert look_at_disk(records, tmp_path / "models").present == ("demo",)
    gguf.write_text("x")
    assert look_at_disk(records, tmp_path / "models").present == ("demo", added.model_id)


def test_the_demo_answers_while_the_real_model_downloads_and_the_switch_is_offered(tmp_path):
    desk = Desk(tmp_path)
    records = [
        ModelRecord("big", "Big", tmp_path / "big", in_catalog=True),
        ModelRecord("demo", "Demo", tmp_path / "demo", is_demo=True),
    ]
    desk.models.set_models(records, ModelsOnDisk(("demo",)))
    desk.models.load_at_start()
    loaded(desk)
    desk.downloads.on_progress("big", 0.5, "model.safetensors")
    assert desk.view.models["big"].progress == 0.5
    desk.ask("One?")
    desk.downloads.on_verify_progress("big", 0.9)
    assert states(desk)["big"] is ModelState.VERIFYING
    desk.models.set_models(records, ModelsOnDisk(("demo",)))
    assert states(desk)["big"] is ModelState.VERIFYING, "a new look at the disk changes nothing"
    desk.downloads.on_complete("big")
    assert states(desk)["big"] is ModelState.ON_DISK
    assert desk.view.models["big"].is_new, "the header offers it"
    assert desk.view.notified[-1][0] == "Big"
    assert desk.view.active_id == "demo"


def test_the_first_model_that_arrives_is_loaded_by_itself(tmp_path):
    desk = Desk(tmp_path)
    desk.models.set_models([big(tmp_path)], ModelsOnDisk(()))
    desk.downloads.on_progress("big", 0.5, "")
    desk.chat.on_submitted("Hello?")
    desk.downloads.on_complete("big")
    loaded(desk)
    assert len(desk.engine.requests) == 1, "the question that waited is answered"


def test_a_download_that_ended_early_leaves_the_model_absent(tmp_path):
    desk = Desk(tmp_path)
    desk.models.set_models([big(tmp_path)], ModelsOnDisk(()))
    desk.downloads.on_progress("big", 0.5, "")
    desk.downloads.on_stopped("big", 0.25)
    assert states(desk)["big"] is ModelState.ABSENT
    assert desk.engine.loads == []


def test_a_paused_download_is_told_with_how_much_of_it_is_here(tmp_path):
    desk = Desk(tmp_path)
    desk.models.set_models([big(tmp_path)], ModelsOnDisk((), {"big": 0.43}))
    assert (desk.view.models["big"].is_paused, desk.view.models["big"].progress) == (True, 0.43)
    desk.downloads.on_progress("big", 0.5, "")
    assert not desk.view.models["big"].is_paused
    desk.downloads.on_failed("big", 0.6, DownloadCancelled("f"), shown=False)
    assert (desk.view.models["big"].is_paused, desk.view.models["big"].progress) == (True, 0.6)
    assert desk.view.notices == {}, "the user paused it"


@pytest.mark.parametrize("shown", [False, True])
def test_a_download_that_fails_behind_a_closed_wizard_is_told_in_the_window(tmp_path, shown):
    desk = Desk(tmp_path)
    desk.models.set_models([big(tmp_path)], ModelsOnDisk(()))
    error = DownloadFailed("model.safetensors", "refused", 10**6, DownloadFault.NO_CONNECTION)
    desk.downloads.on_failed("big", 0.2, error, shown=shown)
    assert ("download" in desk.view.notices) is not shown
    if shown:
        return
    assert "no connection" in desk.view.notices["download"].text
    calls: list[str] = []
    [action] = desk.view.actions()
    actions(desk, calls).on_action(action)
    assert calls == ["resume big"]
    desk.downloads.on_progress("big", 0.2, "")
    assert desk.view.notices == {}


def test_an_added_model_that_was_moved_away_is_named_with_its_path(tmp_path):
    desk = Desk(tmp_path)
    desk.models.set_models([own(tmp_path)], ModelsOnDisk(()))
    desk.models.select("added-1")
    assert desk.offered == []
    assert str(tmp_path / "gone.gguf") in desk.view.notices["missing-model"].text


def two_models(desk: Desk) -> Desk:
    """One of the user, which answers, and the demo."""
    demo = ModelRecord("demo", "Demo", desk.tmp_path / "demo", is_demo=True)
    desk.settings.add_model(AddedModel("added-1", "Mine", str(own(desk.tmp_path).path)))
    desk.settings.set_active_model("added-1")
    desk.models.shelf.active_id = "added-1"
    desk.models.set_models([demo, own(desk.tmp_path)], ModelsOnDisk(("demo", "added-1")))
    desk.models.load_at_start()
    loaded(desk)
    return desk


def test_a_model_of_the_user_leaves_the_list_and_keeps_its_files(tmp_path):
    file = own(tmp_path).path
    file.write_text("weights")
    desk = two_models(Desk(tmp_path))
    desk.models.remove("added-1")
    assert list(desk.view.models) == ["demo"]
    assert desk.settings.profile.added_models == ()
    assert (desk.settings.profile.active_model_id, desk.view.active_id) == ("demo", "demo")
    assert desk.engine.unloads == 1
    assert str(file) in desk.view.notices["removed"].text
    assert file.read_text() == "weights"
    desk.models.on_worker_event(ModelUnloaded())
    desk.chat.on_submitted("Hello?")
    assert desk.engine.loads[-1][0].model_id == "demo"


def test_only_models_of_the_user_leave_the_list(tmp_path):
    desk = two_models(Desk(tmp_path))
    desk.models.remove("demo")
    assert list(desk.view.models) == ["demo", "added-1"]


def test_a_model_that_answers_is_not_removed_under_its_reply(tmp_path):
    desk = two_models(Desk(tmp_path))
    desk.chat.on_submitted("Hello?")
    desk.models.remove("added-1")
    assert "added-1" in desk.view.models
    assert "Stop the reply" in desk.view.notices["removed"].text


def test_a_model_of_last_time_that_was_moved_away_is_told_and_another_answers(tmp_path):
    desk = Desk(tmp_path, Profile(active_model_id="added-1"))
    demo = ModelRecord("demo", "Demo", tmp_path / "demo", is_demo=True)
    desk.models.set_models([demo, own(tmp_path)], ModelsOnDisk(("demo",)))
    desk.models.load_at_start()
    assert desk.engine.loads[-1][0].model_id == "demo"
    assert str(own(tmp_path).path) in desk.view.notices["missing-model"].text
    assert desk.view.models["added-1"].detail == str(own(tmp_path).path)


def test_a_download_is_paused_and_resumed_with_the_wizard_closed(qtbot):
    wizard = Wizard()
    wizard.at_download()
    wizard.arrived(WEIGHTS, 400_000_000)
    wizard.controller.on_closing()
    wizard.controller.pause_download()
    assert wizard.store.asked == ["ensure", "stop"]
    wizard.controller.start()
    assert wizard.view.page is WizardPage.DOWNLOAD
    assert WizardAction.RESUME in wizard.view.enabled()
    wizard.controller.resume_download(MODEL)
    assert wizard.store.asked == ["ensure", "stop", "ensure"]
    assert WizardAction.PAUSE in wizard.view.enabled(), "the open wizard follows the header"


def test_a_download_of_an_earlier_session_is_resumed_without_the_wizard(qtbot):
    wizard = Wizard()
    wizard.controller.resume_download(MODEL)
    assert wizard.store.asked == ["ensure"]
    assert not wizard.view.is_open
    wizard.arrived(WEIGHTS, 400_000_000)
    wizard.controller.start()
    assert wizard.view.page is WizardPage.DOWNLOAD
    assert wizard.view.download is not None
    assert wizard.view.download.disk_text == "", "the disk was not looked at"


def test_after_cancel_the_wizard_begins_anew(qtbot):
    wizard = Wizard()
    wizard.at_download()
    wizard.press(WizardAction.CANCEL)
    wizard.controller.on_closing()
    wizard.controller.start()
    assert wizard.view.page is WizardPage.CHECK


def test_switching_the_model_in_the_middle_of_a_reply_keeps_reply_and_chat(tmp_path):
    desk = Desk(tmp_path).with_model("m1", "m2")
    desk.ask("One?", "1")
    desk.chat.on_submitted("Two?")
    first = desk.request.request_id
    desk.models.select("m2")
    desk.say(answer="2", request_id=first)
    desk.finish()
    desk.chat.on_submitted("Three?")
    assert desk.request.request_id == first, "the third question waits for the second model"
    loaded(desk)
    assert [m.text for m in desk.request.messages] == ["One?", "1", "Two?", "2", "Three?"]
    replies = [e.reply for e in desk.chats.shown.exchanges]
    assert [r.model for r in replies[:2] if r] == ["M1", "M1"]


def test_the_header_reaches_the_downloads_with_the_wizard_closed(tmp_path, qtbot, monkeypatch):
    asked: list[tuple[str, str]] = []
    for name in ("ensure", "stop"):
        monkeypatch.setattr(
            ModelStoreThread, name, lambda _, model, name=name: asked.append((name, model.model_id))
        )
    desk = Desk(tmp_path)
    record = ModelRecord("qwen3-0.6b", "Qwen3-0.6B", tmp_path / "m", in_catalog=True)
    desk.models.set_models([record], ModelsOnDisk((), {"qwen3-0.6b": 0.43}))
    over = QWidget()
    qtbot.addWidget(over)
    theme = Theme(resource_dir())
    host = WizardHost(
        over, theme, tmp_path, resource_dir(), desk.downloads, desk.engine, desk.jobs, over
    )
    host.pause()
    host.resume("qwen3-0.6b", 8192)
    assert asked == [("ensure", "qwen3-0.6b")]
    shown = desk.view.models["qwen3-0.6b"]
    assert (shown.state, shown.detail) == (ModelState.DOWNLOADING, "connecting")
    host.pause()
    assert asked == [("ensure", "qwen3-0.6b"), ("stop", "qwen3-0.6b")]
    assert host.shutdown(5.0)
