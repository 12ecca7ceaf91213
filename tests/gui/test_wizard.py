"""The wizard's real widgets: what they show, what they ask, and that every language fits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QPoint, Qt, QTranslator
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.model_records import DEMO_MODEL_ID
from app.paths import resource_dir
from app.ui.theme import Theme
from app.ui.wizard import WizardWindow
from app.wizard_choices import PATH_ID
from app.wizard_download import DownloadBoard
from app.wizard_view import (
    CheckItem,
    CheckState,
    DownloadPage,
    FailurePage,
    ModelOption,
    WizardAction,
    WizardButton,
    WizardPage,
)
from tests.gui.wizard_samples import ANSWERS, CHINESE_ROW, FAILURES, MODEL
from tests.gui.wizard_screenshots import board_half_way, wizard_screenshots

STEPS = tuple(WizardPage)
OPTIONS = [
    ModelOption(
        "qwen", "Qwen3-0.6B", "Download 1.51 GB.", "Needs 2.31 GB.", partial_text="412 MB."
    ),
    ModelOption(PATH_ID, "A model that I have", "A folder or a file.", takes_path=True),
    ModelOption(DEMO_MODEL_ID, "The demo model", "Very small.", problem="It is broken."),
]


@pytest.fixture
def window(qtbot: QtBot) -> Iterator[WizardWindow]:
    theme = Theme(resource_dir())
    theme.set_look("light", 15)
    wizard = WizardWindow(theme)
    qtbot.addWidget(wizard)
    wizard.show()
    yield wizard
    wizard.close_window()


def texts(widget: QWidget) -> list[str]:
    """All words that can be seen in the widget."""
    settle()
    shown = [label.text() for label in widget.findChildren(QLabel) if label.isVisible()]
    return shown + [b.text() for b in widget.findChildren(QPushButton) if b.isVisible()]


def settle() -> None:
    """Let Qt show what was added; it does so when its event loop runs next."""
    for _ in range(3):
        QCoreApplication.processEvents()


def step_texts(window: WizardWindow) -> list[str]:
    return [label.text() for label in window.steps.labels.values()]


def test_steps_behind_carry_a_tick_and_the_present_one_is_marked(window: WizardWindow) -> None:
    window.show_page(WizardPage.DOWNLOAD, STEPS)
    assert step_texts(window) == [
        "✓ Check this computer",
        "✓ Choose a model",
        "Download",
        "Verify",
        "First answer",
    ]
    places = [label.property("place") for label in window.steps.labels.values()]
    assert places == ["done", "done", "now", "later", "later"]


def test_own_model_has_no_download_step(window: WizardWindow) -> None:
    window.show_page(WizardPage.CHECK, STEPS)
    window.show_page(WizardPage.ANSWER, (WizardPage.CHECK, WizardPage.CHOOSE, WizardPage.ANSWER))
    assert step_texts(window) == ["✓ Check this computer", "✓ Choose a model", "First answer"]
    assert window.pages.currentWidget() is window.answer


def test_buttons_ask_for_their_action(window: WizardWindow, qtbot: QtBot) -> None:
    asked: list[str] = []
    window.action_requested.connect(asked.append)
    window.show_buttons(
        [
            WizardButton(WizardAction.CANCEL, "Cancel"),
            WizardButton(WizardAction.PAUSE, "Pause", enabled=False),
            WizardButton(WizardAction.NEXT, "Next", primary=True),
        ]
    )
    for button in window.buttons.values():
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert asked == ["cancel", "next"]
    places = [button.mapTo(window, QPoint(0, 0)).x() for button in window.buttons.values()]
    assert places == sorted(places)


def test_enter_presses_the_primary_button_when_it_may(window: WizardWindow, qtbot: QtBot) -> None:
    asked: list[str] = []
    window.action_requested.connect(asked.append)
    back = WizardButton(WizardAction.BACK, "Back")
    window.show_buttons([back, WizardButton(WizardAction.NEXT, "Next", False, primary=True)])
    qtbot.keyClick(window, Qt.Key.Key_Return)
    assert asked == []
    window.show_buttons([back, WizardButton(WizardAction.NEXT, "Next", True, primary=True)])
    qtbot.keyClick(window, Qt.Key.Key_Return)
    assert asked == ["next"]


def test_buttons_that_stay_keep_the_focus(window: WizardWindow, qtbot: QtBot) -> None:
    buttons = [
        WizardButton(WizardAction.CANCEL, "Cancel"),
        WizardButton(WizardAction.PAUSE, "Pause"),
    ]
    window.show_buttons(buttons)
    settle()
    window.buttons[WizardAction.PAUSE].setFocus()
    window.show_buttons(buttons)
    assert window.focusWidget() is window.buttons[WizardAction.PAUSE]


def test_checks_show_found_and_advice_and_replace_the_old(window: WizardWindow) -> None:
    window.show_page(WizardPage.CHECK, STEPS)
    window.show_checks((), running=True)
    assert "Looking at this computer." in texts(window.check)
    window.show_checks(
        (
            CheckItem("gpu", "GPU", "None", CheckState.WARN, "Slow."),
            CheckItem("folder", "Folder", "/m", CheckState.FAIL, "Make it writable."),
        ),
        running=False,
    )
    shown = texts(window.check)
    assert {"GPU", "None", "Slow.", "/m", "Make it writable."} <= set(shown)
    assert "Looking at this computer." not in shown
    window.show_checks((CheckItem("gpu", "GPU", "NVIDIA H200"),), running=False)
    shown = texts(window.check)
    assert "NVIDIA H200" in shown
    assert "Slow." not in shown
    assert "/m" not in shown


def test_options_show_memory_problem_and_what_is_here(window: WizardWindow) -> None:
    window.show_page(WizardPage.CHOOSE, STEPS)
    window.show_options(OPTIONS, "qwen")
    shown = texts(window.choose)
    assert {"Needs 2.31 GB.", "412 MB.", "It is broken.", "Delete it"} <= set(shown)
    assert "Choose a folder" not in shown
    checked = {card.option_id: card.radio.isChecked() for card in window.choose.cards}
    assert checked == {"qwen": True, PATH_ID: False, DEMO_MODEL_ID: False}
    window.show_options(OPTIONS, PATH_ID)
    assert "Choose a folder" in texts(window.choose)
    assert "Choose a GGUF file" in texts(window.choose)


def test_whole_card_and_radio_button_choose(window: WizardWindow, qtbot: QtBot) -> None:
    chosen: list[str] = []
    window.option_chosen.connect(chosen.append)
    window.show_page(WizardPage.CHOOSE, STEPS)
    window.show_options(OPTIONS, "qwen")
    settle()
    qtbot.mouseClick(window.choose.cards[1].detail, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(window.choose.cards[2], Qt.MouseButton.LeftButton)
    qtbot.mouseClick(window.choose.cards[0].radio, Qt.MouseButton.LeftButton, pos=QPoint(9, 9))
    assert chosen == [PATH_ID, DEMO_MODEL_ID, "qwen"]


def test_delete_and_demo_ask_for_their_actions(window: WizardWindow, qtbot: QtBot) -> None:
    asked: list[str] = []
    window.action_requested.connect(asked.append)
    window.show_page(WizardPage.CHOOSE, STEPS)
    window.show_options(OPTIONS, "qwen")
    settle()
    qtbot.mouseClick(window.choose.cards[0].delete, Qt.MouseButton.LeftButton)
    window.show_page(WizardPage.DOWNLOAD, STEPS)
    window.show_download(board_half_way().download_page())
    qtbot.mouseClick(window.download.try_demo, Qt.MouseButton.LeftButton)
    assert asked == ["delete_partial", "try_demo"]


def test_download_page_shows_rows_total_speed_and_offer(window: WizardWindow) -> None:
    window.show_page(WizardPage.DOWNLOAD, STEPS)
    window.show_download(board_half_way().download_page())
    shown = texts(window.download)
    assert {
        "Downloading Qwen3-0.6B",
        "648 of 1,503 MB",
        "11.4 MB, checked",
        "11 KB, checked",
        "659 of 1,515 MB",
        "4.8 MB/s, about 3 minutes left.",
    } <= set(shown)
    shares = [row.meter.share for row in window.download.rows]
    assert shares == pytest.approx([0.431, 1.0, 1.0], abs=1e-3)
    window.show_download(DownloadBoard(MODEL, 1, offers_demo=False).download_page())
    assert "Try it now" not in texts(window.download)
    assert "Connecting." in texts(window.download)


def test_bars_grow_with_the_window(window: WizardWindow, qtbot: QtBot) -> None:
    window.show_page(WizardPage.DOWNLOAD, STEPS)
    window.show_download(board_half_way().download_page())
    narrow = window.download.rows[0].meter.width()
    window.resize(1200, 600)
    qtbot.waitUntil(lambda: window.download.rows[0].meter.width() > narrow + 200, timeout=30_000)


@pytest.mark.parametrize("name", ANSWERS)
def test_answer_page(name: str, window: WizardWindow) -> None:
    page = ANSWERS[name]
    window.show_page(WizardPage.ANSWER, STEPS)
    window.show_answer(page)
    shown = texts(window.answer)
    assert page.title in shown
    assert (page.question in shown) is (page.share is None)
    if page.answer:
        assert page.answer in shown
    if page.numbers_text:
        assert page.numbers_text in shown
    assert window.answer.meter.isVisible() is (page.share is not None)


def test_waiting_for_the_first_word_is_said(window: WizardWindow) -> None:
    window.show_page(WizardPage.ANSWER, STEPS)
    window.show_answer(ANSWERS["answering"].__class__("t", "d", "q"))
    assert "Reading the question." in texts(window.answer)


@pytest.mark.parametrize("name", FAILURES)
def test_failure_page_says_all_three_and_copies_details(
    name: str, window: WizardWindow, qtbot: QtBot
) -> None:
    page = FAILURES[name]
    window.show_page(WizardPage.DOWNLOAD, STEPS)
    window.show_failure(page)
    shown = texts(window.failure)
    assert {page.title, page.happened, page.kept, page.advice} <= set(shown)
    assert {"What happened", "What was kept", "What to do"} <= set(shown)
    qtbot.mouseClick(window.failure.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text() == page.details
    window.show_page(WizardPage.DOWNLOAD, STEPS)
    assert window.pages.currentWidget() is window.download


def test_no_markup_of_a_file_or_host_is_rendered(window: WizardWindow) -> None:
    evil = "<b>bold</b><img src='file:///etc/passwd'>"
    window.show_page(WizardPage.DOWNLOAD, STEPS)
    window.show_failure(FailurePage(evil, evil, evil, evil))
    window.show_options([ModelOption("a", evil, evil, evil, evil, partial_text=evil)], "a")
    window.show_checks([CheckItem("a", evil, evil, CheckState.FAIL, evil)], running=False)
    with_words = [label for label in window.findChildren(QLabel) if label.text()]
    assert len(with_words) > 10
    for label in with_words:
        assert label.textFormat() is Qt.TextFormat.PlainText


def test_closing_by_the_user_is_told_and_by_the_controller_not(window: WizardWindow) -> None:
    told: list[bool] = []
    window.closing.connect(lambda: told.append(True))
    window.close_window()
    assert told == []
    assert not window.isVisible()
    window.open_window()
    window.close()
    assert told == [True]


def test_escape_closes_the_wizard(window: WizardWindow, qtbot: QtBot) -> None:
    told: list[bool] = []
    window.closing.connect(lambda: told.append(True))
    window.open_window()
    qtbot.keyClick(window, Qt.Key.Key_Escape)
    assert told == [True]
    assert not window.isVisible()


class ChineseTranslator(QTranslator):
    """Gives every text of the wizard as many Chinese characters as it has words, and more."""

    def translate(
        self, context: str, text: str, disambiguation: str | None = None, n: int = -1
    ) -> str:
        marks = "{step}" if "{step}" in text else ""
        return f"{marks}{'汉字' * max(2, len(text.split()))}"


@pytest.fixture
def chinese(qtbot: QtBot) -> Iterator[None]:
    translator = ChineseTranslator()
    QCoreApplication.installTranslator(translator)
    yield
    QCoreApplication.removeTranslator(translator)


def chinese_download() -> DownloadPage:
    return DownloadPage(
        "正在下载通义千问三零点六",
        "从模型主机下载约一点五吉字节。可以暂停、关闭窗口或断开网络，之后会从同一个字节继续。" * 2,
        (CHINESE_ROW,) * 3,
        CHINESE_ROW,
        "每秒四点八兆，大约还需要三分钟。",
        "完成后磁盘剩余空间：一百一十二吉字节。",
        offers_demo=True,
    )


@pytest.mark.parametrize("text_px", [15, 22])
def test_chinese_fits_on_every_page(text_px: int, chinese: None, qtbot: QtBot) -> None:
    theme = Theme(resource_dir())
    theme.set_look("light", text_px)
    window = WizardWindow(theme)
    qtbot.addWidget(window)
    window.show()
    window.show_page(WizardPage.DOWNLOAD, STEPS)
    assert all("汉字" in text for text in step_texts(window)), "the translation is not in use"
    long_text = "模型文件已经下载完成，但是内容与发布者公布的不一致，因此没有使用。" * 3
    window.show_buttons([WizardButton(WizardAction.NEXT, "继续下载并使用此模型", primary=True)])
    shows = {
        WizardPage.CHECK: lambda: window.show_checks(
            [CheckItem("a", "英伟达显卡驱动程序版本", long_text, CheckState.WARN, long_text)] * 3,
            running=True,
        ),
        WizardPage.CHOOSE: lambda: window.show_options(
            [ModelOption("a", "通义千问", long_text, long_text, long_text, True, long_text)], "a"
        ),
        WizardPage.DOWNLOAD: lambda: window.show_download(chinese_download()),
        WizardPage.VERIFY: lambda: window.show_failure(
            FailurePage("下载已停止", long_text, long_text, long_text, "x")
        ),
        WizardPage.ANSWER: lambda: window.show_answer(ANSWERS["done"]),
    }
    for page, show in shows.items():
        window.show_page(page, STEPS)
        show()
        settle()
        for label in window.findChildren(QLabel):
            if label.isVisible() and label.text() and not label.accessibleName():
                assert_fits(label, page)


def assert_fits(label: QLabel, page: WizardPage) -> None:
    """The label is as wide and as high as its text needs, and lies inside its page."""
    needed = label.heightForWidth(label.width()) if label.wordWrap() else label.sizeHint().height()
    assert label.height() >= needed, f"{page}: {label.text()} is cut below"
    if not label.wordWrap():
        assert label.width() >= label.sizeHint().width(), f"{page}: {label.text()} is cut"
    right = label.mapTo(label.window(), label.rect().topRight()).x()
    assert right < label.window().width(), f"{page}: {label.text()} runs out of the window"


@pytest.mark.slow
def test_screenshots_of_every_page_and_failure_are_written(qtbot: QtBot, tmp_path: Path) -> None:
    written = wizard_screenshots(tmp_path)
    assert len({path.name for path in written}) == len(written) >= 2 * (7 + len(FAILURES))
    assert all(path.stat().st_size > 1000 for path in written)


def test_window_and_steps_grow_with_large_text(qtbot: QtBot) -> None:
    theme = Theme(resource_dir())
    theme.set_look("light", 28)
    wizard = WizardWindow(theme)
    qtbot.addWidget(wizard)
    wizard.show_page(WizardPage.CHECK, STEPS)
    wizard.show()
    settle()
    assert wizard.width() > theme.metrics.wizard_width * 3 // 2
    for line in wizard.steps.labels.values():
        words = line.fontMetrics().height()
        assert line.height() > words * 4 // 3, f"no space around {line.text()!r}"
    wizard.close_window()
