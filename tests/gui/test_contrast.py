"""Contrast of the text that is really drawn, on what it is really drawn on: 4.5 to 1 or more."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QLabel, QLineEdit, QPlainTextEdit, QWidget

from app.chat_view import Notice, PresetChoice
from app.settings import Settings, with_value
from app.ui.key_list import KeyList
from app.ui.setting_inputs import Switch
from tests.gui import scenes

SCALE = 3
"""Strokes of small text are then wide enough to have their own colour somewhere."""

LEAST = 4.5


def picture(root: QWidget) -> np.ndarray:
    """The widget as [height, width] of 0xRRGGBB, enlarged."""
    image = QImage(root.size() * SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(SCALE)
    root.render(image)
    rows = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)
    return rows[:, : image.width()] & 0xFFFFFF


def luminance(colors: np.ndarray) -> np.ndarray:
    """Relative luminance by WCAG 2, of 0xRRGGBB."""
    channels = np.stack([colors >> 16 & 255, colors >> 8 & 255, colors & 255]) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return np.array([0.2126, 0.7152, 0.0722]) @ linear


def contrast(area: np.ndarray) -> float:
    """Of the colour that stands out most against the one that there is most of."""
    colors, counts = np.unique(area, return_counts=True)
    bright = luminance(colors)
    ground = bright[counts.argmax()]
    high, low = np.maximum(bright, ground), np.minimum(bright, ground)
    return float(((high + 0.05) / (low + 0.05)).max())


def shown_text(widget: QWidget) -> str:
    """What the widget writes: its text, or what stands in for it."""
    if isinstance(widget, QLineEdit):
        return widget.text() or widget.placeholderText()
    if isinstance(widget, QPlainTextEdit):
        return widget.toPlainText() or widget.placeholderText()
    if isinstance(widget, QLabel | QAbstractButton):
        return widget.text()
    return ""


def texts(root: QWidget) -> Iterator[tuple[QWidget, QRect]]:
    """What can be read, and where; what is disabled need not be readable."""
    for widget in root.findChildren(QWidget):
        seen = widget.visibleRegion().boundingRect()
        if isinstance(widget, Switch) or not shown_text(widget).strip():
            continue
        whole = seen.height() > 0.8 * widget.height() and seen.width() > 0.8 * widget.width()
        if widget.isVisible() and widget.isEnabled() and whole:
            yield widget, seen.translated(widget.mapTo(root, QPoint(0, 0)))


def weak_texts(root: QWidget) -> dict[str, float]:
    drawn = picture(root)
    weak = {}
    for widget, place in texts(root):
        # Without the border, which may stand out by itself.
        inner = place.adjusted(3, 3, -3, -3)
        area = drawn[
            inner.top() * SCALE : inner.bottom() * SCALE,
            inner.left() * SCALE : inner.right() * SCALE,
        ]
        if area.size and (found := contrast(area)) < LEAST:
            weak[f"{type(widget).__name__}: {shown_text(widget)[:40]}"] = round(found, 2)
    return weak


@pytest.mark.parametrize(
    ("theme_name", "scene"),
    [
        # "": as the window starts, before any change of the look has reached its parts.
        *(("", "empty"), ("light", "empty"), ("dark", "empty")),
        *(("light", "failed"), ("dark", "failed"), ("light", "deleted"), ("dark", "deleted")),
    ],
)
def test_every_text_of_the_window_can_be_read(window, scene, theme_name):
    getattr(scenes, f"scene_{scene}")(window)
    if theme_name:
        window.show_settings(with_value(Settings(), "theme", theme_name))
    window.panels.restore("right", 0, collapsed=False)
    window.show_presets(PresetChoice(("", "A"), "A", True))
    window.settings_panel.presets.begin_naming()
    for kind in ("info", "warn", "error"):
        window.show_notice(Notice(kind, f"A {kind}.", kind, (("retry", "Try again"),)))
    scenes.settle(window)
    assert len(list(texts(window))) > 30
    assert weak_texts(window) == {}


@pytest.mark.parametrize("theme_name", ["light", "dark"])
def test_the_list_of_keys_can_be_read(window, theme_name):
    window.show_settings(with_value(Settings(), "theme", theme_name))
    keys = KeyList(window.theme, window)
    keys.show()
    assert weak_texts(keys) == {}


def test_weak_text_is_found(window):
    window.settings_panel.search.setStyleSheet("placeholder-text-color: #b0b0b0;")
    window.panels.restore("right", 0, collapsed=False)
    scenes.settle(window)
    assert any("Search settings" in name for name in weak_texts(window))
