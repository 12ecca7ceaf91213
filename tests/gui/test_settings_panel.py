"""Settings are made from their declarations; a wrong value says what was expected."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit

from app.chat_view import PresetChoice
from app.settings import FIELDS, Settings, with_value
from app.ui.setting_inputs import ChoiceButton, NumberEdit, Switch
from app.ui.settings_panel import BESIDE_COMPOSER
from tests.gui import scenes


@pytest.fixture
def panel(window):
    window.show_settings(Settings())
    return window.settings_panel


@pytest.fixture
def told(window):
    changes = []
    window.settings_changed.connect(changes.append)
    return changes


def type_into(qtbot, row, text):
    row.input.setFocus()
    row.input.selectAll()
    qtbot.keyClicks(row.input, text)
    qtbot.keyClick(row.input, Qt.Key.Key_Return)


def test_every_setting_has_a_row_except_the_switch_beside_the_composer(panel):
    assert set(panel.rows) == {field.name for field in FIELDS} - BESIDE_COMPOSER
    assert {"thinking_enabled"} == BESIDE_COMPOSER


def test_a_typed_number_changes_the_setting(panel, told, qtbot):
    type_into(qtbot, panel.rows["temperature"], "0.85")
    assert told[-1].temperature == 0.85
    type_into(qtbot, panel.rows["context_tokens"], "16,384")
    assert told[-1].context_tokens == 16_384
    assert panel.rows["context_tokens"].input.text() == "16,384"


@pytest.mark.parametrize("text", ["9", "-1", "abc", "", "nan", "1e400", "0.6.1", "٣"])
def test_a_wrong_number_says_what_is_expected_and_changes_nothing(panel, told, qtbot, text):
    row = panel.rows["temperature"]
    row.input.setText(text)
    row.input.committed.emit(text)
    assert told == []
    assert row.message == "Expected a number from 0.00 to 2.00."
    assert panel.settings.temperature == Settings().temperature


def test_the_slider_and_the_number_follow_each_other(panel, told, qtbot):
    row = panel.rows["temperature"]
    row.slider.setValue(row.slider.maximum())
    assert told[-1].temperature == 2.0
    assert row.input.text() == "2.00"
    type_into(qtbot, row, "0")
    assert row.slider.value() == 0


def test_a_long_range_leaves_room_for_small_values(panel):
    row = panel.rows["top_k"]
    assert row.slider.value() > row.slider.maximum() * 0.2
    for wanted in (0, 1, 20, 100, 1_000):
        row.show_value(wanted)
        assert row.input.text() == f"{wanted:,}"


def test_arrow_keys_step_and_stay_in_range(panel, told, qtbot):
    row = panel.rows["temperature"]
    qtbot.keyClick(row.input, Qt.Key.Key_Up)
    assert told[-1].temperature == 0.65
    for _ in range(40):
        qtbot.keyClick(row.input, Qt.Key.Key_Down)
    assert told[-1].temperature == 0.0


def test_escape_takes_the_typing_back(panel, told, qtbot):
    row = panel.rows["temperature"]
    row.input.setText("1.7")
    qtbot.keyClick(row.input, Qt.Key.Key_Escape)
    assert row.input.text() == "0.60"
    assert told == []


def test_an_empty_seed_is_random_and_a_seed_is_written_without_commas(panel, told, qtbot):
    row = panel.rows["seed"]
    assert row.input.placeholderText() == "Random"
    type_into(qtbot, row, "123456")
    assert told[-1].seed == 123_456
    assert row.input.text() == "123456"
    row.input.clear()
    qtbot.keyClick(row.input, Qt.Key.Key_Return)
    assert told[-1].seed is None


def test_temperature_zero_while_thinking_warns(panel, told, qtbot):
    type_into(qtbot, panel.rows["temperature"], "0")
    assert "repeat itself" in panel.rows["temperature"].message
    type_into(qtbot, panel.rows["temperature"], "0.6")
    assert panel.rows["temperature"].message == ""


def test_reset_brings_back_the_advised_values_of_the_section_only(panel, told, qtbot):
    type_into(qtbot, panel.rows["temperature"], "1.5")
    type_into(qtbot, panel.rows["context_tokens"], "4096")
    reset = panel._resets["Sampling"]
    assert reset.isVisibleTo(panel)
    qtbot.mouseClick(reset, Qt.MouseButton.LeftButton)
    assert told[-1].temperature == Settings().temperature
    assert told[-1].context_tokens == 4_096
    assert not reset.isVisibleTo(panel)


def test_the_system_prompt_is_told_after_a_pause_and_when_the_window_closes(
    window, panel, told, qtbot
):
    prompt = panel.rows["system_prompt"].input
    assert isinstance(prompt, QPlainTextEdit)
    with qtbot.waitSignal(window.settings_changed, timeout=30_000):
        qtbot.keyClicks(prompt, "Be brief.")
    assert told[-1].system_prompt == "Be brief."
    qtbot.keyClicks(prompt, " Please.")
    window.close()
    assert told[-1].system_prompt == "Be brief. Please."


def test_typing_is_not_disturbed_when_the_settings_come_back(window, panel, qtbot):
    prompt = panel.rows["system_prompt"].input
    qtbot.keyClicks(prompt, "abc")
    prompt.moveCursor(prompt.textCursor().MoveOperation.Start)
    panel.flush()
    window.show_settings(panel.settings)
    assert prompt.textCursor().position() == 0
    assert prompt.toPlainText() == "abc"


def test_the_memory_that_is_needed_stands_under_the_context(window, panel):
    window.show_memory_plan("Needs 13.1 GB; 10.3 GB are free.", False)
    assert panel.memory_text == "Needs 13.1 GB; 10.3 GB are free."
    assert panel._memory.property("role") == "danger"
    window.show_memory_plan("Needs 2.4 GB; 10.3 GB are free.", True)
    assert panel._memory.property("role") == "quiet"


def test_theme_and_font_size_take_effect_at_once(window, panel, theme, qtbot):
    panel.rows["theme"].input.chosen.emit("dark")
    assert theme.is_dark
    scenes.scene_done(window)
    before = window.transcript.exchange_widget("e1").answer.body.segments[0]
    type_into(qtbot, panel.rows["font_size"], "22")
    assert theme.px("text") == 22
    assert theme.px("thinking") == 21
    after = window.transcript.exchange_widget("e1").answer.body.segments[0]
    assert after.height_for(400) > before.height_for(400) or before is not after


def test_each_kind_has_its_own_input(panel):
    kinds = {"bool": Switch, "choice": ChoiceButton, "text": QPlainTextEdit}
    for row in panel.rows.values():
        assert isinstance(row.input, kinds.get(row.field.kind, NumberEdit))
        assert row.input.accessibleName()


def test_settings_from_elsewhere_are_shown_without_being_told_back(window, panel, told):
    window.show_settings(with_value(Settings(), "top_k", 40))
    assert panel.rows["top_k"].input.text() == "40"
    assert told == []


def shown_rows(panel):
    return {name for name, row in panel.rows.items() if not row.isHidden()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("temp", {"temperature"}),
        ("TOP-K", {"top_k"}),
        ("minutes model", {"idle_unload_minutes"}),
        ("dark", {"theme"}),
        ("appearance size", {"font_size"}),
        ("qqq", set()),
    ],
)
def test_search_shows_the_settings_that_have_every_word(panel, text, found):
    panel.search.setText(text)
    assert found <= shown_rows(panel)
    assert len(shown_rows(panel)) < len(panel.rows) / 2
    assert bool(found) is bool(shown_rows(panel))


def test_an_empty_search_shows_everything_and_esc_empties_it(panel, qtbot):
    panel.search.setText("temperature")
    qtbot.keyClick(panel.search, Qt.Key.Key_Escape)
    assert panel.search.text() == ""
    assert shown_rows(panel) == set(panel.rows)


def test_a_setting_that_is_asked_for_is_shown_in_spite_of_the_search(panel):
    panel.search.setText("temperature")
    panel.reveal("font_size")
    assert "font_size" in shown_rows(panel)


def choice(**changes):
    return replace(PresetChoice(("", "Creative"), "Creative", False), **changes)


def menu_words(bar):
    bar.fill_menu()
    return {action.text(): action for action in bar.menu.actions() if action.text()}


def test_the_bar_says_which_preset_and_whether_the_chat_differs(window, panel):
    bar = panel.presets
    window.show_presets(choice())
    assert bar.button.text() == "Creative"
    assert bar.changes.isHidden()
    window.show_presets(choice(edited=True))
    assert not bar.changes.isHidden()


def test_presets_are_chosen_saved_taken_back_and_deleted(window, panel):
    told = []
    window.preset_chosen.connect(lambda name: told.append(("choose", name)))
    window.preset_saved.connect(lambda name: told.append(("save", name)))
    window.preset_reverted.connect(lambda: told.append(("revert",)))
    window.preset_deleted.connect(lambda name: told.append(("delete", name)))
    window.show_presets(choice(edited=True))
    bar = panel.presets
    bar.save.click()
    bar.revert.click()
    menu_words(bar)["Default"].trigger()
    menu_words(bar)["Delete"].trigger()
    assert told == [("save", "Creative"), ("revert",), ("choose", ""), ("delete", "Creative")]


def test_a_new_name_is_typed_in_place(window, panel, qtbot):
    saved, renamed = [], []
    window.preset_saved.connect(saved.append)
    window.preset_renamed.connect(lambda old, new: renamed.append((old, new)))
    window.show_presets(choice())
    bar = panel.presets
    menu_words(bar)["Save as a new preset…"].trigger()
    qtbot.keyClicks(bar.name_edit, "Exact")
    qtbot.keyClick(bar.name_edit, Qt.Key.Key_Return)
    menu_words(bar)["Rename…"].trigger()
    assert bar.name_edit.text() == "Creative"
    qtbot.keyClicks(bar.name_edit, "Wild")
    qtbot.keyClick(bar.name_edit, Qt.Key.Key_Return)
    assert saved == ["Exact"]
    assert renamed == [("Creative", "Wild")]
    assert bar.naming.isHidden()


def test_esc_gives_a_name_up_and_a_blank_one_is_not_taken(window, panel, qtbot):
    saved = []
    window.preset_saved.connect(saved.append)
    bar = panel.presets
    bar.begin_naming()
    qtbot.keyClick(bar.name_edit, Qt.Key.Key_Return)
    assert not bar.naming.isHidden()
    qtbot.keyClick(bar.name_edit, Qt.Key.Key_Escape)
    assert bar.naming.isHidden()
    assert saved == []


def test_the_default_preset_offers_neither_rename_nor_delete(window, panel):
    window.show_presets(choice(chosen=""))
    words = menu_words(panel.presets)
    assert not words["Delete"].isEnabled()
    assert not words["Rename…"].isEnabled()
