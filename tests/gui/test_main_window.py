"""The window as a whole: the contract, panels, widths, status, models, notices, accessibility."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QMetaMethod, Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSlider,
    QLineEdit,
    QListView,
    QPlainTextEdit,
    QScrollBar,
    QTextEdit,
)

import app.chat_view as contract
from app.chat_view import ChatView, ModelChoice, ModelState, Notice, Status
from app.language import CHINESE, ENGLISH, Language
from app.settings import WindowState
from app.ui.main_window import MainWindow
from app.ui.window_notices import seed_notice
from tests.gui import scenes
from tests.gui.conftest import RESOURCES

ROOT = Path(__file__).resolve().parents[2]


def test_the_window_has_every_signal_and_method_of_the_contract(window):
    listed = re.findall(r"^    (\w+)\(([^)]*)\)", contract.__doc__ or "", re.MULTILINE)
    assert len(listed) >= 20
    meta = window.metaObject()
    methods = [meta.method(index) for index in range(meta.methodCount())]
    signals = {
        bytes(method.name().data()).decode(): method.parameterCount()
        for method in methods
        if method.methodType() == QMetaMethod.MethodType.Signal
    }
    for name, arguments in listed:
        assert signals.get(name) == (len(arguments.split(",")) if arguments else 0), name
    for name in (name for name in vars(ChatView) if name.startswith(("show", "append", "remove"))):
        assert callable(getattr(window, name)), name
    view: ChatView = window
    assert view is window


def test_panels_collapse_by_key_and_button_and_are_remembered(window, qtbot):
    control = Qt.KeyboardModifier.ControlModifier
    qtbot.keyClick(window, Qt.Key.Key_B, control)
    assert not window.chats.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_Comma, control)
    assert not window.settings_panel.isVisible()
    state = window.window_state()
    assert (state.list_collapsed, state.settings_collapsed) == (True, True)
    qtbot.mouseClick(window.header.list_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(window.header.settings_button, Qt.MouseButton.LeftButton)
    assert window.chats.isVisible()
    assert window.settings_panel.isVisible()
    window.restore_window_state(state)
    assert not window.chats.isVisible()
    assert not window.settings_panel.isVisible()


def test_widths_of_the_panels_are_remembered_and_kept_in_bounds(window):
    window.restore_window_state(WindowState(list_width=300, settings_collapsed=False))
    assert window.chats.width() == 300
    assert window.window_state().list_width == 300
    window.restore_window_state(WindowState(list_width=5_000, settings_width=3))
    assert window.chats.width() == 420
    window.restore_window_state(WindowState())
    assert window.chats.width() == 240


def test_under_900_the_panels_lie_over_the_chat_and_go_away_by_escape(window, qtbot):
    window.resize(860, 700)
    QTest.qWait(30)
    assert not window.chats.isVisible()
    assert window.composer.width() > 700
    width = window.transcript.width()
    qtbot.mouseClick(window.header.list_button, Qt.MouseButton.LeftButton)
    assert window.chats.isVisible()
    assert window.transcript.width() == width
    qtbot.mouseClick(window.header.settings_button, Qt.MouseButton.LeftButton)
    assert window.settings_panel.isVisible()
    assert not window.chats.isVisible()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert not window.settings_panel.isVisible()
    window.resize(1440, 900)
    QTest.qWait(30)
    assert window.chats.isVisible()


def test_under_640_thinking_is_a_header_that_opens_on_a_key(window, qtbot):
    window.resize(600, 800)
    scenes.scene_done(window)
    QTest.qWait(80)
    widget = window.transcript.exchange_widget("e1")
    assert widget.thinking.isVisible()
    assert not widget.thinking.view.isVisible()
    assert widget.answer.y() >= widget.thinking.geometry().bottom()
    assert widget.answer.width() > 500
    closed = widget.thinking.height()
    qtbot.keyClick(window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    QTest.qWait(30)
    assert widget.thinking.view.isVisible()
    assert widget.thinking.height() > closed
    assert window.settings_panel.settings.show_thinking is True


@pytest.mark.parametrize("width", [360, 480, 640, 899, 900, 1_000, 2_200])
def test_at_every_width_all_text_of_the_answer_is_inside_the_window(window, width):
    window.resize(width, 700)
    scenes.scene_rich(window)
    QTest.qWait(60)
    widget = window.transcript.exchange_widget("e1")
    right = widget.answer.mapTo(window, widget.answer.rect().topRight()).x()
    assert right <= window.width()
    assert widget.card.width() <= window.transcript.width()
    assert window.composer.send.mapTo(window, window.composer.send.rect().topRight()).x() <= width
    for segment in widget.answer.body.segments:
        assert segment.geometry().right() <= widget.answer.body.width()


def test_answer_lines_are_at_most_76_characters_wide(window):
    window.resize(2_200, 900)
    scenes.show_chat(window, scenes.exchange(answer="word " * 200))
    QTest.qWait(60)
    (prose,) = window.transcript.exchange_widget("e1").answer.body.segments
    line = prose.document().begin().layout().lineAt(0)
    assert line.textLength() < 110
    zero = prose.fontMetrics().horizontalAdvance("0")
    assert prose.width() <= 76 * zero + 1


def test_the_status_bar_shows_what_is_known_and_nothing_else(window):
    window.show_status(Status())
    assert window.status.texts == ()
    window.show_status(
        Status(
            "q", "NVIDIA RTX 3060", "", 4812.4, 9.46, 0.009, 1474, 8192, 1_700_000_000, 12 * 10**9
        )
    )
    assert window.status.texts == (
        "NVIDIA RTX 3060",
        "prefill 4,812 tok/s",
        "decode 9.5 tok/s",
        "first token 9 ms",
        "context 1,474 of 8,192",
        "GPU memory 1.7 of 12 GB",
    )


def test_a_first_token_that_took_longer_is_told_in_seconds(window):
    window.show_status(Status(first_token_s=2.024))
    assert window.status.texts == ("first token 2.0 s",)


@pytest.mark.parametrize(
    ("used", "color"),
    [(0, "accent"), (699, "accent"), (700, "warn"), (899, "warn"), (900, "danger")],
)
def test_the_context_meter_warns_at_70_and_alarms_at_90_percent(window, used, color):
    window.show_status(Status(context_tokens=used, capacity_tokens=1_000))
    assert window.status.meter.color_name == color
    assert window.status.meter.share == used / 1_000


def test_a_narrow_status_bar_keeps_the_context_longest(window):
    window.resize(360, 600)
    QTest.qWait(30)
    assert window.status._context.isVisible()
    assert not window.status._prefill.isVisible()
    last = window.status.meter
    assert last.mapTo(window, last.rect().topRight()).x() <= 360


def test_the_picker_names_the_model_its_progress_and_all_others(window, qtbot):
    window.show_models(
        [
            ModelChoice("d", "Demo", ModelState.READY, is_demo=True),
            ModelChoice("q", "Qwen3-0.6B", ModelState.DOWNLOADING, 0.43, "3 min left"),
            ModelChoice("s", "SmolLM2", ModelState.ON_DISK),
        ],
        "d",
    )
    picker = window.header.picker
    assert picker.button.text() == "Demo model: only small tasks"
    assert picker.detail_text == "Qwen3-0.6B downloading 43 % · 3 min left"
    assert picker.meter.share == 0.43
    picker._fill_menu()
    texts = [action.text() for action in picker.menu.actions() if action.text()]
    assert texts == [
        "Demo · ready",
        "Qwen3-0.6B · downloading 43 % · 3 min left",
        "SmolLM2 · on disk",
        "Add a model…",
        "Free memory",
    ]
    with qtbot.waitSignal(window.model_selected) as told:
        picker.menu.actions()[2].trigger()
    assert told.args == ["s"]
    with qtbot.waitSignals([window.add_model_requested, window.free_memory_requested]):
        picker.menu.actions()[-2].trigger()
        picker.menu.actions()[-1].trigger()


@pytest.mark.parametrize(
    ("choice", "text", "offer", "asked"),
    [
        (
            ModelChoice("q", "Qwen3", ModelState.DOWNLOADING, 0.43, "about 3 minutes left"),
            "Qwen3 downloading 43 % · about 3 minutes left",
            "Pause",
            "pause_download_requested",
        ),
        (
            ModelChoice("q", "Qwen3", ModelState.ABSENT, 0.43, is_paused=True),
            "Qwen3 download paused at 43 %",
            "Resume",
            "resume_download_requested",
        ),
        (
            ModelChoice("q", "Qwen3", ModelState.ON_DISK, is_new=True),
            "Qwen3 is ready",
            "Use it now",
            "model_selected",
        ),
    ],
)
def test_the_header_offers_what_can_be_done_about_a_download(
    window, qtbot, choice, text, offer, asked
):
    demo = ModelChoice("d", "Demo", ModelState.READY, is_demo=True)
    window.show_models([demo, choice], "d")
    picker = window.header.picker
    assert picker.detail_text == text
    assert picker.meter.isVisible() is (choice.progress > 0)
    assert picker.offer.isVisible()
    assert picker.offer.text() == offer
    with qtbot.waitSignal(getattr(window, asked)) as told:
        qtbot.mouseClick(picker.offer, Qt.MouseButton.LeftButton)
    assert told.args == ["q"]
    window.show_models([demo], "d")
    assert not picker.offer.isVisible()


def test_a_model_of_the_user_is_removed_by_the_menu_and_a_missing_one_is_named(window, qtbot):
    window.show_models(
        [
            ModelChoice("d", "Demo", ModelState.READY, is_demo=True),
            ModelChoice("a", "Mine", ModelState.ABSENT, detail="/x/mine.gguf", is_added=True),
        ],
        "d",
    )
    picker = window.header.picker
    picker._fill_menu()
    assert "Mine · not found · /x/mine.gguf" in [action.text() for action in picker.menu.actions()]
    assert picker.removals.menuAction() in picker.menu.actions()
    [remove] = picker.removals.actions()
    with qtbot.waitSignal(window.remove_model_requested) as told:
        remove.trigger()
    assert told.args == ["a"]


def test_why_a_model_failed_stands_beside_its_name_and_does_not_widen_the_menu(window):
    why = "A model file is damaged, or is not what its name says: /home/me/broken/config.json."
    window.show_models([ModelChoice("b", "broken", ModelState.FAILED, detail=why)], "b")
    picker = window.header.picker
    picker._fill_menu()
    assert picker.detail_text == f"broken failed · {why}"
    assert picker.menu.actions()[0].text() == "broken · failed"


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("width", [700, 1440])
def test_a_closed_panel_hands_the_keyboard_to_the_question(window, side, width):
    """Qt would give it to the next in line: a cursor blinked in the text of an old question."""
    window.resize(width, 800)
    scenes.scene_done(window)
    window.activateWindow()
    window.panels.open(side)
    panel = window.chats if side == "left" else window.settings_panel
    (panel.search if side == "left" else panel.rows["seed"].input).setFocus()
    window.panels.toggle(side)
    assert window.focusWidget() is window.composer.edit


def test_a_notice_is_replaced_by_key_acted_on_and_taken_away(window, qtbot):
    window.show_notice(Notice("gpu", "First", "error", (("restart", "Restart"),)))
    window.show_notice(Notice("gpu", "Second", "error", (("restart", "Restart"),)))
    assert [notice.text for notice in window.notices.notices] == ["Second"]
    with qtbot.waitSignal(window.action_requested) as told:
        qtbot.mouseClick(window.notices.action_button("gpu", 0), Qt.MouseButton.LeftButton)
    assert told.args == ["restart"]
    assert window.notices.notices == ()
    window.show_notice(Notice("a", "Soon gone", timeout_s=0.05))
    qtbot.waitUntil(lambda: window.notices.notices == (), timeout=30_000)
    window.hide_notice("unknown")


def test_an_empty_chat_names_the_model_and_suggests_ten_questions(window, qtbot):
    scenes.scene_empty(window)
    assert window.empty.isVisible()
    assert window.empty._title.text() == "Qwen3-0.6B"
    assert len({button.text() for button in window.empty.buttons}) == 10
    qtbot.mouseClick(window.empty.buttons[0], Qt.MouseButton.LeftButton)
    assert window.composer.text == window.empty.buttons[0].text()
    window.show_exchange(scenes.running())
    assert window.transcript.isVisible()


def test_every_control_has_a_name_and_every_icon_a_tooltip(window):
    scenes.scene_versions(window)
    QTest.qWait(80)
    kinds = (QAbstractButton, QLineEdit, QPlainTextEdit, QTextEdit, QListView, QAbstractSlider)
    nameless = [
        control
        for kind in kinds
        for control in window.findChildren(kind)
        if not isinstance(control, QScrollBar)
        and not control.accessibleName()
        and not (isinstance(control, QAbstractButton) and control.text())
    ]
    assert nameless == []
    silent = [
        button
        for button in window.findChildren(QAbstractButton)
        if not button.text() and not button.toolTip()
    ]
    assert silent == []


def test_the_keyboard_reaches_composer_send_list_and_settings(window, qtbot):
    scenes.scene_done(window)
    qtbot.keyClicks(window.composer.edit, "x")
    QTest.qWait(60)
    answer = window.transcript.exchange_widget("e1").answer
    reached = set()
    widget = window.composer.edit
    while (widget := widget.nextInFocusChain()) is not window.composer.edit:
        if widget.focusPolicy() & Qt.FocusPolicy.TabFocus and widget.isVisible():
            reached.add(widget)
    reached.add(window.composer.edit)
    for wanted in (
        window.composer.edit,
        window.composer.send,
        window.composer.thinking,
        window.chats.search,
        window.chats.list,
        window.header.picker.button,
        window.settings_panel.rows["temperature"].input,
        answer.action("copy"),
        answer.body.segments[0],
    ):
        assert wanted in reached, wanted


def test_a_background_window_is_brought_to_attention_without_a_tray(window, monkeypatch):
    alerts = []
    monkeypatch.setattr("PySide6.QtWidgets.QApplication.alert", lambda *_a: alerts.append(1))
    monkeypatch.setattr(MainWindow, "isActiveWindow", lambda _self: False)
    window.notify("Done", "The answer is ready")
    monkeypatch.setattr(MainWindow, "isActiveWindow", lambda _self: True)
    window.notify("Done", "The answer is ready")
    assert alerts == [1]


@pytest.mark.slow
def test_at_200_percent_pictures_are_twice_as_large_and_sharp(tmp_path):
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    subprocess.run(
        [sys.executable, "-m", "tests.gui.screenshots", str(tmp_path), "done-light-200"],
        cwd=ROOT,
        env=environment,
        check=True,
        timeout=100,
    )
    image = QImage(str(tmp_path / "done-light-200.png"))
    assert (image.width(), image.height()) == (1_800, 1_120)


def test_a_sentence_above_the_composer_follows_the_language_that_is_chosen(window):
    language = Language(RESOURCES / "translations")
    window.show_notice(seed_notice(7))
    language.use(CHINESE)
    try:
        window.speak_anew(lambda: None)
        [notice] = window.notices.notices
        assert "种子" in notice.text
    finally:
        language.use(ENGLISH)
    window.speak_anew(lambda: None)
    assert [each.text for each in window.notices.notices] == [seed_notice(7).text]


@pytest.mark.parametrize("width", [480, 1440, 2500])
def test_the_composer_is_as_wide_as_the_exchanges_above_it(window, width):
    """In a very wide window it ran from edge to edge below a column of 1,400 pixels."""
    window.resize(width, 900)
    window.panels.restore("left", 0, collapsed=True)
    scenes.scene_done(window)
    scenes.settle(window)
    exchange = window.transcript.exchange_widget("e1")
    places = [
        (widget.mapToGlobal(widget.rect().topLeft()).x(), widget.width())
        for widget in (exchange, window.composer)
    ]
    assert places[0] == places[1]
