"""The language changes while the app runs: every word does, nothing else is lost."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QLocale, QObject, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QLabel,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.application import Application
from app.chat_view import Notice
from app.language import CHINESE, ENGLISH, Language, language_of_system, translate
from app.language_switch import AGAIN_MS
from app.model_records import known_models
from app.paths import resource_dir
from app.ui.attachment_row import AttachmentRow
from app.ui.inline_editor import InlineEditor
from app.ui.theme import Theme
from app.ui.warm_up import WarmUp
from app.ui.wizard import WizardWindow
from app.wizard_view import WizardPage
from engine.scripted_engine import reply_of_texts
from tests.app.test_application import Runner

TABLE = resource_dir() / "translations" / "thinkpane_zh_CN.ts"
ANSWER = "四十二。"


@pytest.fixture
def runner(qtbot: QtBot, tmp_path: Path) -> Iterator[Runner]:
    made = Runner(qtbot, tmp_path)
    yield made
    for application in list(made.running):
        application.language.use(ENGLISH)
        made.close(application)


def words_of(widget: QWidget) -> Iterator[str]:
    """Everything that a widget shows or says."""
    yield from (widget.toolTip(), widget.accessibleName(), widget.accessibleDescription())
    yield widget.windowTitle()
    if isinstance(widget, QAbstractButton | QLabel):
        yield widget.text()
    if isinstance(widget, QLineEdit | QPlainTextEdit | QTextEdit):
        yield widget.placeholderText()


def english_sources() -> set[str]:
    """Sources whose translation differs from them; those say for sure which language it is."""
    return {
        source
        for message in ET.parse(TABLE).getroot().iter("message")
        if (source := message.findtext("source", "")) != message.findtext("translation", "")
    }


def english_words_in(root: QWidget) -> set[str]:
    sources = english_sources()
    pieces = tuple(part for s in sources if len(part := s.partition("{")[0].strip()) > 10)
    return {
        f"{type(widget).__name__}: {text}"
        for widget in (root, *root.findChildren(QWidget))
        for text in words_of(widget)
        if text in sources or text.startswith(pieces)
    }


def chinese_words_in(root: QWidget) -> list[str]:
    return [
        text
        for widget in root.findChildren(QWidget)
        for text in words_of(widget)
        if any("\u4e00" <= char <= "\u9fff" for char in text) and text != "简体中文"
    ]


def wait_for_no_english(runner: Runner, window: QWidget) -> None:
    """What was worked out before the switch, such as the memory needed, is so once more after."""
    runner.wait(lambda: not english_words_in(window))


def switch(runner: Runner, application: Application, language: str) -> None:
    """As a user does: in the menu of the setting."""
    old = application.window.composer
    application.window.settings_panel.rows["language"].input.chosen.emit(language)
    runner.wait(lambda: application.window.composer is not old)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_after_the_switch_no_word_of_the_window_is_english(runner: Runner) -> None:
    application = runner.start(reply_of_texts("想一想。", ANSWER))
    window = application.window
    runner.ask(application, "六乘七？")
    runner.wait_done(application)
    assert english_words_in(window)  # the search can find something
    switch(runner, application, CHINESE)
    runner.wait(lambda: window.transcript.exchange_ids != ())
    wait_for_no_english(runner, window)
    assert window.composer.send.text() == "发送"
    exchange = application.chats.shown.exchanges[-1]
    assert exchange.reply is not None
    assert exchange.reply.answer == ANSWER
    assert window.transcript.exchange_ids == (exchange.exchange_id,)


def test_switching_back_is_english_again(runner: Runner) -> None:
    application = runner.start()
    switch(runner, application, CHINESE)
    switch(runner, application, ENGLISH)
    assert application.window.composer.send.text() == "Send"
    runner.wait(lambda: not chinese_words_in(application.window))


def test_draft_search_panels_and_focus_stay(runner: Runner) -> None:
    application = runner.start()
    window = application.window
    window.resize(1440, 900)
    window.panels.restore("right", 0, collapsed=False)
    window.composer.edit.setPlainText("half a question")
    window.chats.search.setText("needle")
    window._share.set_share(0.5)
    window.settings_panel.rows["language"].input.setFocus()
    switch(runner, application, CHINESE)
    assert window.composer.text == "half a question"
    assert window.chats.search.text() == "needle"
    assert window.panels.is_shown("right")
    assert window.window_state().thinking_share == 0.5
    runner.wait(lambda: window.focusWidget() is window.settings_panel.rows["language"].input)
    assert application.chats.shown.draft == "half a question"


def test_a_running_reply_goes_on_in_the_new_window(runner: Runner) -> None:
    long = reply_of_texts("思考" * 50, "回答" * 200)
    application = runner.start(long, tokens_per_s=400.0)
    runner.ask(application, "问题")
    runner.wait(lambda: application.chat._running is not None)
    switch(runner, application, CHINESE)
    reply = runner.wait_done(application)
    assert reply.answer == "回答" * 200
    runner.wait(lambda: application.window.composer.send.isVisible())
    wait_for_no_english(runner, application.window)


def test_the_choice_holds_after_a_restart(runner: Runner) -> None:
    application = runner.start()
    switch(runner, application, CHINESE)
    runner.close(application)
    application.language.use(ENGLISH)
    again = runner.start()
    assert again.window.composer.send.text() == "发送"


@pytest.mark.parametrize(
    ("names", "language"),
    [
        (["zh-Hans-CN", "zh-CN"], CHINESE),
        (["zh-SG"], CHINESE),
        (["zh-Hant-TW"], ENGLISH),
        (["en-GB", "zh-CN"], ENGLISH),
        (["de-DE"], ENGLISH),
        ([], ENGLISH),
    ],
)
def test_the_systems_first_language_decides(
    names: list[str], language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class System:
        def uiLanguages(self) -> list[str]:
            return names

    monkeypatch.setattr(QLocale, "system", lambda: System())
    QLocale.setDefault(QLocale("en_GB"))
    assert language_of_system() == language


def test_qts_own_words_follow(qapp: QCoreApplication) -> None:
    language = Language(resource_dir() / "translations")
    assert language.use(CHINESE)
    assert not language.use(CHINESE)
    try:
        assert QCoreApplication.translate("QWidgetTextControl", "&Paste") != "&Paste"
        assert translate("Composer", "Send") == "发送"
        assert translate("Composer", "no such text") == "no such text"
    finally:
        language.use(ENGLISH)
    assert translate("Composer", "Send") == "Send"


def test_the_wizard_speaks_the_language_it_is_opened_in(qtbot: QtBot) -> None:
    language = Language(resource_dir() / "translations")
    language.use(CHINESE)
    try:
        wizard = WizardWindow(Theme(resource_dir()))
        qtbot.addWidget(wizard)
        for page in WizardPage:
            wizard.show_page(page, tuple(WizardPage))
            assert not english_words_in(wizard)
    finally:
        language.use(ENGLISH)


def test_an_open_wizard_changes_too(runner: Runner) -> None:
    application = runner.start()
    application.open_wizard()
    runner.wait(lambda: bool(application.wizard._window.buttons))
    switch(runner, application, CHINESE)
    window = application.wizard._window
    assert window.isVisible()
    # Until the new check ends, the words of the last one are shown.
    runner.wait(lambda: not english_words_in(window))
    window.close_window()
    application.language.use(ENGLISH)
    runner.close(application)
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_a_text_that_is_edited_in_its_place_is_not_taken_away(runner: Runner) -> None:
    application = runner.start(reply_of_texts("想一想。", ANSWER))
    window = application.window
    runner.ask(application, "六乘七？")
    runner.wait_done(application)
    (exchange_id,) = window.transcript.exchange_ids
    bubble = window.transcript.exchange_widget(exchange_id).bubble
    bubble.begin_edit()
    (editor,) = (e for e in window.findChildren(InlineEditor) if e.isVisible())
    editor.setPlainText("half a change")
    composer = window.composer
    window.settings_panel.rows["language"].input.chosen.emit(CHINESE)
    QTest.qWait(3 * AGAIN_MS)
    assert editor.toPlainText() == "half a change"
    assert window.composer is composer
    QTest.keyClick(editor, Qt.Key.Key_Escape)
    runner.wait(lambda: window.composer is not composer)
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    wait_for_no_english(runner, window)


def test_settings_are_found_by_either_language(runner: Runner) -> None:
    application = runner.start()
    switch(runner, application, CHINESE)
    panel = application.window.settings_panel
    for words in ("温度", "temperature"):
        panel.search.setText(words)
        assert not panel.rows["temperature"].isHidden()
        assert panel.rows["theme"].isHidden()


def test_attached_files_and_notices_stay(runner: Runner, tmp_path: Path) -> None:
    application = runner.start()
    window = application.window
    note = tmp_path / "笔记.txt"
    note.write_text("你好", encoding="utf-8")
    application.attachments.on_files_dropped([str(note)])

    def named() -> bool:
        rows = window.findChildren(AttachmentRow)
        labels = [each.text() for row in rows for each in row.findChildren(QLabel)]
        return any("笔记" in text for text in labels)

    runner.wait(named)
    window.show_notice(Notice("kept", "一条通知", "warn", (("retry", "Try again"),)))
    switch(runner, application, CHINESE)
    assert named()
    assert [notice.text for notice in window.notices.notices] == ["一条通知"]
    assert window.notices.action_button("kept", 0).text() == "重试"


def test_switching_to_and_fro_leaves_nothing_behind(runner: Runner) -> None:
    application = runner.start(reply_of_texts("想一想。", ANSWER))
    runner.ask(application, "六乘七？")
    runner.wait_done(application)

    def is_drawn() -> bool:
        view = application.window.transcript
        return bool(view.built_ids) and view.built_ids == view.exchange_ids and not view.is_behind

    # What is drawn once, unseen, to warm up is gone when that is over.
    runner.wait(lambda: all(each.is_over for each in application.window.findChildren(WarmUp)))
    counts = []
    for _ in range(4):
        switch(runner, application, CHINESE)
        switch(runner, application, ENGLISH)
        runner.wait(is_drawn)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        counts.append(len(application.window.findChildren(QObject)))
    assert max(counts) - min(counts) < 5, counts


def test_the_demo_model_and_what_it_is_asked_follow_the_language(
    runner: Runner, tmp_path: Path
) -> None:
    records = known_models(tmp_path / "models", resource_dir() / "demo_model", ())
    demo = tuple(record for record in records if record.is_demo)
    application = runner.start(reply_of_texts("", ANSWER), models=demo)
    window = application.window
    runner.wait(lambda: application._status.status.model == "Demo model")
    english = [button.text() for button in window.empty.buttons]
    assert english[0] == "What is 47 × 86?"
    switch(runner, application, CHINESE)
    assert window.empty.buttons[0].text() == "47乘86等于多少？"
    assert window.empty._title.text() == "演示模型"
    assert application._status.status.model == "演示模型"
    switch(runner, application, ENGLISH)
    assert [button.text() for button in window.empty.buttons] == english
