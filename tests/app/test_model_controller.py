"""Where each model stands: load, replace, fail, unload, idle, download, plan, crash marker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.chat_view import ModelState
from app.engine_events import (
    GraphRefused,
    LoadAdvanced,
    LoadFailed,
    ModelLoaded,
    ModelUnloaded,
)
from app.error_text import CHOOSE_MODEL, DOWNLOAD_AGAIN
from app.language import CHINESE, ENGLISH, Language
from app.model_notices import load_failed
from app.model_records import (
    LoadMarker,
    ModelRecord,
    ModelsOnDisk,
)
from app.notice_actions import AppActions, ChatActions, NoticeActions
from app.paths import resource_dir
from app.settings import Settings, with_value
from app.settings_file import Profile, load_profile
from engine.api import Capability, LoadProgress
from engine.errors import BadModelFile, DeviceLost, LoadCancelled, NotEnoughMemory
from engine.scripted_engine import scripted_info
from tests.app.fakes import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model("m1", "m2", ready=False)


def states(desk: Desk) -> dict[str, ModelState]:
    return {model_id: choice.state for model_id, choice in desk.view.models.items()}


def loaded(desk: Desk, index: int = -1, on_gpu: bool = False) -> None:
    load_id = desk.engine.loads[index][0].load_id
    info = replace(scripted_info(capacity_tokens=4096), on_gpu=on_gpu)
    desk.models.on_worker_event(ModelLoaded(load_id, info))


def test_loading_shows_progress_then_ready_with_device_and_context(desk):
    desk.models.load_at_start()
    request, _ = desk.engine.loads[0]
    assert (request.model_id, request.device, request.capacity_tokens) == ("m1", "auto", 8192)
    desk.models.on_worker_event(
        LoadAdvanced(request.load_id, LoadProgress("weights", 500_000_000, 2_000_000_000))
    )
    assert states(desk)["m1"] is ModelState.LOADING
    assert desk.view.models["m1"].progress == 0.25
    assert desk.view.status.phase == "", "the header tells it, and nothing else"
    loaded(desk)
    assert states(desk) == {"m1": ModelState.READY, "m2": ModelState.ON_DISK}
    assert desk.view.status.capacity_tokens == 4096
    assert desk.view.status.phase == ""


def test_the_model_of_last_time_is_loaded(tmp_path):
    desk = Desk(tmp_path, Profile(active_model_id="m2")).with_model("m1", "m2", ready=False)
    desk.models.load_at_start()
    assert desk.engine.loads[0][0].model_id == "m2"


def test_a_model_of_last_time_that_is_gone_is_replaced_by_one_that_is_there(tmp_path):
    desk = Desk(tmp_path, Profile(active_model_id="gone")).with_model("m1", ready=False)
    desk.models.load_at_start()
    assert desk.engine.loads[0][0].model_id == "m1"


def test_another_model_replaces_the_engine_and_keeps_the_chat(desk):
    desk.models.load_at_start()
    loaded(desk)
    desk.ask("One?", "1")
    desk.models.select("m2")
    assert states(desk) == {"m1": ModelState.ON_DISK, "m2": ModelState.LOADING}
    assert not desk.models.ensure_ready()
    loaded(desk)
    desk.chat.on_submitted("Two?")
    assert [m.text for m in desk.request.messages] == ["One?", "1", "Two?"]
    desk.settings.save_now()
    stored = load_profile(desk.tmp_path / "settings.json").profile
    assert stored.active_model_id == "m2"


@pytest.mark.parametrize(("is_demo", "loads"), [(True, 1), (False, 2)])
def test_a_model_that_was_loaded_before_it_is_chosen_is_remembered_too(tmp_path, is_demo, loads):
    desk = Desk(tmp_path).with_model("m1", ready=False)
    record = replace(desk.models.shelf.record("m1"), is_demo=is_demo)
    desk.models.set_models((record,), ModelsOnDisk(("m1",)))
    desk.models.load_at_start()
    loaded(desk)
    desk.models.use("m1")
    assert desk.settings.profile.active_model_id == "m1"
    assert len(desk.engine.loads) == loads, "only files that may be new are loaded again"


def test_selecting_quickly_ends_with_the_last_model(desk):
    desk.models.load_at_start()
    desk.models.select("m2")
    first, second = desk.engine.loads
    assert first[1].cancelled
    desk.models.on_worker_event(LoadFailed(first[0].load_id, LoadCancelled()))
    assert states(desk)["m2"] is ModelState.LOADING
    loaded(desk)
    assert states(desk) == {"m1": ModelState.ON_DISK, "m2": ModelState.READY}
    assert second[0].model_id == "m2"


def test_a_late_ready_of_a_replaced_load_is_dropped(desk):
    desk.models.load_at_start()
    desk.models.select("m2")
    loaded(desk, 0)
    assert desk.models.info is None
    assert states(desk)["m2"] is ModelState.LOADING


@pytest.mark.parametrize(
    ("error", "state", "told"),
    [
        (NotEnoughMemory(2 * 10**9, 10**9, "GPU"), ModelState.FAILED, True),
        (DeviceLost("launch failure"), ModelState.FAILED, True),
        (LoadCancelled(), ModelState.ON_DISK, False),
    ],
)
def test_a_failed_load_is_told_in_words_and_can_be_tried_again(desk, error, state, told):
    desk.models.load_at_start()
    desk.models.on_worker_event(LoadFailed(desk.engine.loads[-1][0].load_id, error))
    assert states(desk)["m1"] is state
    assert ("model" in desk.view.notices) is told
    desk.models.select("m1")
    assert len(desk.engine.loads) == 2
    assert "model" not in desk.view.notices, "an old error does not stay beside a new try"


def test_why_a_load_failed_is_told_anew_in_another_language(desk, qapp):
    desk.models.load_at_start()
    error = BadModelFile("/models/m1/config.json", "broken")
    desk.models.on_worker_event(LoadFailed(desk.engine.loads[-1][0].load_id, error))
    in_english = desk.view.models["m1"].detail
    language = Language(resource_dir() / "translations")
    language.use(CHINESE)
    try:
        desk.models.show_again()
        detail, told = desk.view.models["m1"].detail, desk.view.notices["model"].retell().text
        assert "损坏" in detail
        assert told == detail
    finally:
        language.use(ENGLISH)
    desk.models.show_again()
    assert desk.view.models["m1"].detail == in_english == desk.view.notices["model"].text


@pytest.mark.parametrize("own", [True, False])
def test_a_model_of_the_user_is_not_offered_as_a_download(tmp_path, own):
    record = ModelRecord("m1", "Mine", tmp_path, in_catalog=not own, is_added=own)
    words = load_failed(BadModelFile(str(tmp_path / "config.json"), "broken"), record)
    assert (DOWNLOAD_AGAIN in words.actions) is not own
    assert CHOOSE_MODEL in words.actions


def test_freeing_memory_unloads_and_the_next_question_loads_again(desk):
    desk.models.load_at_start()
    loaded(desk)
    desk.models.free_memory()
    assert desk.engine.unloads == 1
    desk.models.on_worker_event(ModelUnloaded())
    assert states(desk)["m1"] is ModelState.ON_DISK
    assert desk.view.status.device == ""
    desk.chat.on_submitted("Hello?")
    assert len(desk.engine.loads) == 2
    loaded(desk)
    assert len(desk.engine.requests) == 1


def test_an_unload_that_is_told_after_a_new_load_began_does_not_end_that_load(desk):
    desk.models.load_at_start()
    loaded(desk)
    desk.models.free_memory()
    desk.models.select("m2")
    desk.models.on_worker_event(ModelUnloaded())
    assert states(desk)["m2"] is ModelState.LOADING
    loaded(desk)
    assert desk.models.ensure_ready()


@pytest.mark.parametrize(
    ("minutes", "idle_s", "unloaded"), [(10, 601, True), (10, 599, False), (0, 10**6, False)]
)
def test_an_idle_model_leaves_memory_after_the_set_time(tmp_path, minutes, idle_s, unloaded):
    settings = with_value(Settings(), "idle_unload_minutes", minutes)
    desk = Desk(tmp_path, Profile(settings)).with_model()
    desk.ask("One?")
    desk.clock.now += idle_s
    desk.models.tick()
    assert bool(desk.engine.unloads) is unloaded


def test_a_model_that_answers_is_never_idle(tmp_path):
    desk = Desk(tmp_path).with_model()
    desk.chat.on_submitted("A very long one?")
    desk.clock.now += 10**6
    desk.models.tick()
    assert desk.engine.unloads == 0


def test_context_and_device_are_planned_at_once_and_take_effect_at_the_next_load(desk):
    desk.models.load_at_start()
    loaded(desk)
    settings = with_value(desk.settings.settings, "context_tokens", 16_384)
    desk.settings.on_settings_changed(settings)
    assert desk.view.plan == ("16384 tokens", True)
    assert "reload_model" in desk.view.actions()
    desk.models.reload()
    assert desk.engine.loads[-1][0].capacity_tokens == 16_384
    assert "reload" not in desk.view.notices


def test_a_context_that_is_changed_back_asks_for_no_reload(desk):
    desk.models.load_at_start()
    loaded(desk)
    before = desk.settings.settings
    desk.settings.on_settings_changed(with_value(before, "context_tokens", 16_384))
    assert "reload" in desk.view.notices
    desk.settings.on_settings_changed(before)
    assert "reload" not in desk.view.notices


def test_a_driver_that_hangs_is_asked_once(desk):
    desk.models.load_at_start()
    loaded(desk, on_gpu=True)
    desk.jobs.held = []
    for _ in range(5):
        desk.models.tick()
    assert len(desk.jobs.held) == 1
    desk.jobs.held.pop()()
    desk.models.tick()
    assert len(desk.jobs.held) == 1


def test_other_settings_do_not_ask_for_a_reload(desk):
    desk.models.load_at_start()
    loaded(desk)
    desk.settings.on_settings_changed(with_value(desk.settings.settings, "temperature", 1.0))
    assert desk.view.notices == {}


def test_an_absent_model_is_offered_for_download_and_does_not_become_active(tmp_path):
    desk = Desk(tmp_path)
    records = [
        ModelRecord("big", "Big", tmp_path / "big", in_catalog=True),
        ModelRecord("demo", "Demo", tmp_path / "demo", is_demo=True),
    ]
    desk.models.set_models(records, ModelsOnDisk(("demo",)))
    assert desk.view.active_id == "demo"
    desk.models.select("big")
    assert desk.offered == ["big"]
    assert desk.view.active_id == "demo"


def test_after_a_crash_while_loading_the_model_is_not_loaded_by_itself(desk):
    desk.models.load_at_start()
    assert desk.marker.left_over() == "m1"
    again = Desk(desk.tmp_path).with_model("m1", ready=False)
    again.models.load_at_start()
    assert again.engine.loads == []
    assert "ended unexpectedly" in again.view.notices["model"].text
    again.chat.on_submitted("Hello?")
    assert len(again.engine.loads) == 1, "but when it is asked for"


@pytest.mark.parametrize("outcome", ["ready", "failed"])
def test_an_orderly_load_leaves_no_marker(desk, outcome):
    desk.models.load_at_start()
    if outcome == "ready":
        loaded(desk)
    else:
        load_id = desk.engine.loads[-1][0].load_id
        desk.models.on_worker_event(LoadFailed(load_id, LoadCancelled()))
    assert desk.marker.left_over() == ""


@pytest.mark.parametrize("content", ["", "{", "[]", '{"model_id": 3}'])
def test_a_damaged_marker_counts_as_none(tmp_path, content):
    path = tmp_path / "loading.json"
    path.write_text(content)
    assert LoadMarker(path).left_over() == ""


def actions(desk: Desk, calls: list[str]) -> NoticeActions:
    app = AppActions(
        restart=lambda: calls.append("restart"),
        copy_details=lambda: calls.append("copy"),
        choose_model=lambda: calls.append("choose"),
        resume_download=lambda model_id: calls.append(f"resume {model_id}"),
    )
    chat = ChatActions(desk.chat, desk.edits, desk.room, desk.attachments, desk.view)
    return NoticeActions(desk.models, chat, desk.settings, app)


def test_every_action_that_an_error_offers_does_something(tmp_path):
    from app import error_text

    calls: list[str] = []
    for name in dir(error_text):
        action = getattr(error_text, name)
        if name.isupper() and isinstance(action, tuple):
            desk = Desk(tmp_path).with_model()
            assert action[0] in actions(desk, calls)._plain


def test_halving_the_context_loads_again_with_half_and_asks_again(desk):
    desk.models.load_at_start()
    desk.chat.on_submitted("Hello?")
    load_id = desk.engine.loads[-1][0].load_id
    desk.models.on_worker_event(LoadFailed(load_id, NotEnoughMemory(2 * 10**9, 10**9, "GPU")))
    actions(desk, []).on_action("halve_context")
    assert desk.engine.loads[-1][0].capacity_tokens == 4096
    assert len(desk.engine.loads) == 2
    loaded(desk)
    assert [m.text for m in desk.request.messages] == ["Hello?"]


def test_using_the_processor_loads_again_there(desk):
    desk.models.load_at_start()
    load_id = desk.engine.loads[-1][0].load_id
    desk.models.on_worker_event(LoadFailed(load_id, NotEnoughMemory(2 * 10**9, 10**9, "GPU")))
    actions(desk, []).on_action("use_cpu")
    assert desk.engine.loads[-1][0].device == "cpu"


@pytest.mark.parametrize("action", ["", "nonsense", "undo_edit:a", "resume_download", "retry:x"])
def test_an_unknown_action_does_nothing(desk, action):
    calls: list[str] = []
    actions(desk, calls).on_action(action)
    assert calls == []
    assert desk.engine.loads == []


def test_the_window_knows_what_the_loaded_model_can_do_also_while_it_loads_again(desk):
    everything = frozenset(Capability)
    seed_only = replace(scripted_info(), capabilities=frozenset({Capability.SEED}))
    desk.models.load_at_start()
    assert desk.view.capabilities == everything
    desk.models.on_worker_event(ModelLoaded(desk.engine.loads[-1][0].load_id, seed_only))
    assert desk.view.capabilities == {Capability.SEED}
    desk.models.select("m2")
    assert desk.view.capabilities == everything, "nothing is known of another model"
    desk.models.select("m1")
    assert desk.view.capabilities == {Capability.SEED}


def test_a_gpu_without_a_graph_is_told_in_one_quiet_notice(desk):
    desk.models.load_at_start()
    loaded(desk, on_gpu=True)
    desk.models.on_worker_event(GraphRefused())
    notice = desk.view.notices["graph"]
    assert notice.text == (
        "The GPU cannot replay its work as a graph here; answers come a little slower."
    )
    assert (notice.kind, notice.actions) == ("info", ())
    assert states(desk)["m1"] is ModelState.READY
