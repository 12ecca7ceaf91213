"""The Tab key goes through the window as one reads it, also through what was made late."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.chat_view import Notice
from tests.gui import scenes


@pytest.fixture
def walk(window, qtbot):
    """Presses Tab or Shift+Tab a number of times, and tells where it led each time."""
    scenes.show_chat(window, scenes.exchange("e1"), scenes.exchange("e2"))
    window.show_notice(Notice("a", "Something happened.", "info", (("retry", "Try again"),)))
    window.activateWindow()
    window.composer.edit.setFocus()
    scenes.settle(window)

    def press(key, times):
        led_to = []
        for _ in range(times):
            QTest.keyClick(window.focusWidget(), key)
            led_to.append(window.focusWidget())
        return led_to

    return press


def test_back_from_the_composer_come_notices_and_the_last_answer(window, walk):
    answer = window.transcript.exchange_widget("e2").answer
    buttons = [answer.action(name) for name in ("seed", "edit", "regenerate", "copy")]
    led_to = walk(Qt.Key.Key_Backtab, 10)
    notices = [widget for widget in led_to if window.notices.isAncestorOf(widget)]
    assert notices
    assert led_to[: len(notices)] == notices
    assert [widget for widget in led_to if widget in buttons] == buttons
    assert all(answer.isAncestorOf(w) for w in led_to[len(notices) : led_to.index(buttons[-1])])


def test_one_round_meets_every_stop_once_in_the_order_of_reading(window, walk):
    first = window.focusWidget()
    met = [first]
    while (widget := walk(Qt.Key.Key_Tab, 1)[0]) is not first:
        assert widget not in met
        met.append(widget)
    earlier, later = (window.transcript.exchange_widget(name) for name in ("e1", "e2"))
    wanted = [
        window.composer.send if window.composer.send.isEnabled() else window.composer.thinking,
        window.settings_panel.rows["temperature"].input,
        window.header.list_button,
        window.header.picker.button,
        window.header.settings_button,
        window.chats.new_chat,
        window.chats.search,
        window.chats.list,
        earlier.thinking.view,
        earlier.answer.body.segments[0],
        earlier.answer.action("copy"),
        later.thinking.view,
        later.answer.action("copy"),
    ]
    places = [met.index(widget) for widget in wanted]
    assert places == sorted(places)


def test_what_the_tab_key_leads_to_is_scrolled_into_view(window, walk):
    window.resize(1440, 500)
    QTest.qWait(60)
    button = window.transcript.exchange_widget("e1").answer.action("copy")
    for _ in range(60):
        if walk(Qt.Key.Key_Backtab, 1)[0] is button:
            break
    view = window.transcript.viewport()
    assert QApplication.focusWidget() in (button, None)
    assert view.rect().contains(button.mapTo(view, button.rect().center()))
