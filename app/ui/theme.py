"""Colours, sizes and fonts of the window; the only reader of `resources/style`.

A `Theme` is built once by the composition root and handed to every widget. It follows the system's
light or dark scheme unless told otherwise, and scales all text with the font size setting.
`changed` is emitted after any of it changed; the style sheet is then already in place on the
widgets given to `dress`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from pathlib import Path
from string import Template
from typing import Any, Literal, get_args

from PySide6.QtCore import QByteArray, QObject, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetrics,
    QGuiApplication,
    QIcon,
    QPainter,
    QPixmap,
)
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from app.ui.color_source import ColorSource
from app.ui.formula_source import FormulaSource
from app.ui.metrics import Metrics

Scheme = Literal["system", "light", "dark"]
Role = Literal["text", "thinking", "label", "group", "status", "code", "brand", "title", "heading"]

_ICON_SCALES = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Colors:
    """Every colour token, as `#RRGGBB`."""

    window: str
    surface: str
    thinking: str
    user: str
    code: str
    line: str
    control_line: str
    text: str
    quiet: str
    accent: str
    accent_hover: str
    accent_pressed: str
    on_accent: str
    danger: str
    warn: str
    hover: str
    pressed: str
    selection: str
    code_keyword: str
    code_string: str
    code_comment: str
    code_number: str
    code_name: str

    def named(self, name: str) -> str:
        """The colour of that token. Raises AttributeError for an unknown name."""
        return str(getattr(self, name))


def _read(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


class Theme(QObject):
    """What every widget asks for colours, sizes, fonts, icons, drawn formulas and colours of code.

    Args:
        resources: the folder that holds `style/` and `icons/`.
        parent: the owner, if any.
    """

    changed = Signal()

    def __init__(self, resources: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.formulas = FormulaSource(self)
        self.code_colors = ColorSource(self)
        style = resources / "style"
        self._colors = {name: Colors(**_read(style / f"{name}.json")) for name in ("light", "dark")}
        self.metrics = Metrics(**_read(style / "metrics.json"))
        self._fonts = _read(style / "fonts.json")
        self._sheet = Template((style / "base.qss").read_text(encoding="utf-8"))
        self._icon_sources = {
            path.stem: path.read_text(encoding="utf-8")
            for path in sorted((resources / "icons").glob("*.svg"))
        }
        self._icons: dict[tuple[str, str], QIcon] = {}
        self._scheme: Scheme = "system"
        self._text_px = int(self._fonts["base_px"])
        self._dressed: list[QWidget] = []
        installed = set(QFontDatabase.families())
        system = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont).families()
        fallback = [name for name in self._fonts["fallback"] if name in installed]
        self._ui_families = [n for n in self._fonts["ui"] if n in installed][:1] + system + fallback
        mono = [name for name in self._fonts["mono"] if name in installed][:1]
        self._mono_families = mono + fallback
        hints = QGuiApplication.styleHints()
        if hints is not None:
            hints.colorSchemeChanged.connect(self._on_system_scheme)
        QApplication.setFont(self.font("text"))

    @property
    def is_dark(self) -> bool:
        """Whether the dark colours are shown."""
        if self._scheme != "system":
            return self._scheme == "dark"
        hints = QGuiApplication.styleHints()
        return hints is not None and hints.colorScheme() == Qt.ColorScheme.Dark

    @property
    def colors(self) -> Colors:
        """The colours in use."""
        return self._colors["dark" if self.is_dark else "light"]

    def color(self, name: str) -> QColor:
        """The colour of a token, for painting."""
        return QColor(self.colors.named(name))

    def set_look(self, scheme: str, text_px: int) -> None:
        """Choose "system", "light" or "dark" and the pixel size of the answer's text."""
        wanted: Scheme = "light" if scheme == "light" else "dark" if scheme == "dark" else "system"
        if (wanted, text_px) == (self._scheme, self._text_px):
            return
        self._scheme, self._text_px = wanted, text_px
        self._refresh()

    def _on_system_scheme(self) -> None:
        if self._scheme == "system":
            self._refresh()

    def _refresh(self) -> None:
        self._icons.clear()
        # A style sheet's font-size starts from the application's font, not from the parent's.
        QApplication.setFont(self.font("text"))
        sheet = self.style_sheet()
        self._forget_closed()
        for widget in self._dressed:
            widget.setStyleSheet(sheet)
        self.changed.emit()

    def _forget_closed(self) -> None:
        self._dressed = [widget for widget in self._dressed if isValid(widget)]

    def dress(self, window: QWidget) -> None:
        """Give a top-level widget the style sheet, now and after each change."""
        self._forget_closed()
        self._dressed.append(window)
        window.setStyleSheet(self.style_sheet())

    def px(self, role: Role) -> int:
        """Pixel size of text of that role."""
        base = float(self._fonts["base_px"])
        own = base if role == "text" else float(self._fonts[f"{role}_px"])
        return max(1, round(own * self._text_px / base))

    def zoomed(self, size: int) -> int:
        """A size that grows with text that is larger than usual, and never shrinks."""
        return max(size, round(size * self._text_px / float(self._fonts["base_px"])))

    def font(self, role: Role, *, bold: bool = False) -> QFont:
        """Font of that role: tabular figures, and families that have Chinese and emoji."""
        font = QFont()
        font.setFamilies(self._mono_families if role == "code" else self._ui_families)
        if role == "code":
            font.setStyleHint(QFont.StyleHint.Monospace)
            font.setFixedPitch(True)
        font.setPixelSize(self.px(role))
        font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
        font.setFeature(QFont.Tag("tnum"), 1)
        return font

    def heading_px(self, level: int) -> int:
        """Pixel size of an answer's heading of level 1 to 6."""
        percents: list[int] = self._fonts["heading_percents"]
        return round(self.px("text") * percents[min(level, len(percents)) - 1] / 100)

    def line_height(self, role: Role) -> int:
        """Height of a line of text of that role in pixels."""
        code = role == "code"
        percent = (
            self.metrics.code_line_height_percent if code else self.metrics.line_height_percent
        )
        return round(self.px(role) * percent / 100)

    def height_for_words(self, usual: int, role: Role = "label") -> int:
        """That height, or more where a line of words with a ring needs it: large text, any font."""
        return max(usual, QFontMetrics(self.font(role)).height() + 2 * self.metrics.ring)

    def style_sheet(self) -> str:
        """The Qt style sheet with all tokens filled in."""
        values: dict[str, str] = {
            item.name: self.colors.named(item.name) for item in fields(Colors)
        }
        for item in fields(Metrics):
            values[f"m_{item.name}"] = str(getattr(self.metrics, item.name))
        roles: tuple[Role, ...] = get_args(Role)
        for role in roles:
            values[f"px_{role}"] = str(self.px(role))
        values["control_radius_inner"] = str(self.metrics.radius_control - 1)
        return self._sheet.substitute(values)

    def icon(self, name: str, color: str = "quiet") -> QIcon:
        """One of our outlines, in a colour token; brighter on hover, paler when disabled."""
        key = (name, color)
        if key not in self._icons:
            icon = QIcon()
            active = "text" if color == "quiet" else color
            for mode, token in (
                (QIcon.Mode.Normal, color),
                (QIcon.Mode.Active, active),
                (QIcon.Mode.Disabled, "line"),
            ):
                for scale in _ICON_SCALES:
                    icon.addPixmap(self._pixmap(name, token, scale), mode)
            self._icons[key] = icon
        return self._icons[key]

    def _pixmap(self, name: str, token: str, scale: int) -> QPixmap:
        source = self._icon_sources[name].replace("currentColor", self.colors.named(token))
        side = self.metrics.icon
        pixmap = QPixmap(QSize(side, side) * scale)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        QSvgRenderer(QByteArray(source.encode())).render(
            painter, QRectF(0, 0, side * scale, side * scale)
        )
        painter.end()
        pixmap.setDevicePixelRatio(scale)
        return pixmap
