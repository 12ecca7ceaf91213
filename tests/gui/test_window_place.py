"""Where windows stand at first: on a large screen, on a small one, the wizard over the window."""

import pytest
from PySide6.QtCore import QPoint, QRect, QSize, Qt

from app.paths import resource_dir
from app.ui.theme import Theme
from app.ui.window_place import centred_inside, onto_a_screen
from app.ui.wizard import WizardWindow


@pytest.mark.parametrize(
    ("room", "size", "filled", "settings_open"),
    [
        (QRect(0, 0, 2560, 1400), QSize(1440, 900), False, True),
        (QRect(0, 0, 1488, 948), QSize(1440, 900), False, True),
        (QRect(0, 0, 1440, 900), QSize(1392, 852), True, True),
        (QRect(0, 0, 1488, 947), QSize(1440, 899), True, True),
        (QRect(0, 0, 1200, 800), QSize(1152, 752), True, True),
        (QRect(0, 0, 1199, 800), QSize(1151, 752), True, False),
    ],
)
def test_the_first_window_lies_inside_the_screen(window, room, size, filled, settings_open):
    window.hide()
    window.place_first(room)
    assert window.size() == size
    assert window.isMaximized() is filled
    assert window.panels.is_collapsed("right") is not settings_open


@pytest.mark.parametrize(
    ("size", "over", "expected"),
    [
        (QSize(920, 600), QRect(100, 100, 1440, 900), QRect(360, 250, 920, 600)),
        (QSize(920, 600), QRect(-700, -500, 800, 600), QRect(0, 20, 920, 600)),
        (QSize(920, 600), QRect(1800, 1000, 800, 600), QRect(1000, 480, 920, 600)),
        (QSize(3000, 2000), QRect(100, 100, 800, 600), QRect(0, 20, 1920, 1060)),
    ],
)
def test_a_window_is_centred_over_another_but_never_off_the_screen(size, over, expected):
    assert centred_inside(size, over, QRect(0, 20, 1920, 1060)) == expected


def test_the_wizard_opens_in_the_middle_of_the_window_and_stays_where_it_was_moved(qtbot, window):
    wizard = WizardWindow(Theme(resource_dir()), window)
    qtbot.addWidget(wizard)
    window.setGeometry(40, 20, 760, 700)
    wizard.resize(660, 500)
    wizard.open_window()
    assert (wizard.geometry().center() - window.geometry().center()).manhattanLength() <= 2
    assert wizard.windowHandle().transientParent() is window.windowHandle()
    assert wizard.windowFlags() & Qt.WindowType.Window
    wizard.move(QPoint(5, 6))
    wizard.open_window()
    assert wizard.pos() == QPoint(5, 6)
    wizard.close_window()


TWO_SCREENS = [QRect(0, 30, 1920, 1050), QRect(1920, 0, 1280, 1024)]


@pytest.mark.parametrize(
    ("frame", "screens", "expected"),
    [
        (QRect(100, 100, 1440, 900), TWO_SCREENS, QRect(100, 100, 1440, 900)),
        (QRect(2000, 50, 1000, 700), TWO_SCREENS, QRect(2000, 50, 1000, 700)),
        # The second screen is gone: back onto the first one.
        (QRect(2000, 50, 1000, 700), TWO_SCREENS[:1], QRect(920, 50, 1000, 700)),
        # The title bar was above the screen, the window wider than it, far to the left.
        (QRect(200, -40, 1440, 900), TWO_SCREENS, QRect(200, 30, 1440, 900)),
        (QRect(-300, 100, 4000, 3000), TWO_SCREENS, QRect(0, 30, 1920, 1050)),
        (QRect(-9000, -9000, 800, 600), TWO_SCREENS, QRect(0, 30, 800, 600)),
        # Half on each screen: the one that shows more of it.
        (QRect(1500, 100, 1000, 700), TWO_SCREENS, QRect(1920, 100, 1000, 700)),
        (QRect(5, 5, 10, 10), [], QRect(5, 5, 10, 10)),
    ],
)
def test_a_remembered_place_becomes_one_on_a_screen_that_is_there(frame, screens, expected):
    assert onto_a_screen(frame, screens) == expected


@pytest.mark.parametrize("place", [QRect(5000, 4000, 900, 700), QRect(-800, -600, 2000, 1500)])
def test_a_window_restored_far_away_comes_back_into_sight(window, place):
    window.setGeometry(place)
    state = window.window_state()
    window.setGeometry(0, 0, 760, 600)
    window.restore_window_state(state)
    room = window.screen().availableGeometry()
    # On this platform frames have no width; the smallest size may be more than the screen.
    assert room.contains(window.frameGeometry().topLeft())
    assert room.intersected(window.frameGeometry()).width() >= min(room.width(), 760)
