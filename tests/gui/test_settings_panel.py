"""Settings are made from their declarations; a wrong value says what was expected."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPlainTextEdit

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
    with qtbot.waitSignal(window.settings_changed, timeout=3000):
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
