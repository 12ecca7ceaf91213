"""Tokens: contrast, no literal outside resources/style, system scheme, icons, fonts."""

import json
import re
import weakref
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QFont
from PySide6.QtWidgets import QWidget
from shiboken6 import delete

from app.ui.theme import Colors, Theme

ROOT = Path(__file__).resolve().parents[2]
UI = sorted((ROOT / "app" / "ui").glob("*.py"))
SURFACES = ("window", "surface", "thinking", "user", "code")
TEXTS = ("text", "quiet", "accent", "danger", "warn")
CODE = ("code_keyword", "code_string", "code_comment", "code_number", "code_name")


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(params=["light", "dark"])
def colors(request):
    return json.loads((ROOT / "resources" / "style" / f"{request.param}.json").read_text())


def test_all_text_is_readable_on_every_surface(colors):
    pairs = [(text, surface) for text in TEXTS for surface in SURFACES]
    pairs += [(text, surface) for text in ("text", "quiet") for surface in ("hover", "pressed")]
    pairs += [(text, "code") for text in CODE]
    pairs += [("text", "selection")]
    pairs += [("on_accent", base) for base in ("accent", "accent_hover", "accent_pressed")]
    weak = {
        pair: round(contrast(colors[pair[0]], colors[pair[1]]), 2)
        for pair in pairs
        if contrast(colors[pair[0]], colors[pair[1]]) < 4.5
    }
    assert weak == {}


def test_the_text_tokens_reach_the_5_1_of_the_drawings(colors):
    lowest = min(contrast(colors[text], colors[surface]) for text in TEXTS for surface in SURFACES)
    assert lowest >= 5.1


def test_borders_of_controls_can_be_seen(colors):
    assert min(contrast(colors["control_line"], colors[surface]) for surface in SURFACES) >= 3.0


def test_no_colour_or_size_stands_outside_the_tokens():
    literal = re.compile(
        r"""["']\#[0-9A-Fa-f]{3,8}["']"""
        r"|\d+(\.\d+)?(px|pt)\b"
        r"|QColor\(\s*\d"
        r"|Qt\.GlobalColor\.(?!transparent)"
        r"|\.(setFixed(Width|Height|Size)|setM(in|ax)imum(Width|Height|Size)|resize|setSpacing"
        r"|setPixelSize|setPointSizeF?|addSpacing|setContentsMargins)\((?=[^)\n]*([2-9]|\d\d))[^a-zA-Z)\n]*\)"
    )
    found = [
        f"{path.name}:{number}: {line.strip()}"
        for path in UI
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if literal.search(line) and not line.strip().startswith(("#", '"""'))
    ]
    assert found == []
    assert literal.search('setStyleSheet("color: red; width: 3px")')
    assert literal.search("widget.setContentsMargins(8, 8, 8, 8)")
    assert literal.search('QColor("#123456")')


def test_every_placeholder_of_the_style_sheet_is_filled(theme):
    sheet = theme.style_sheet()
    assert "$" not in sheet
    assert theme.colors.accent in sheet


def test_both_schemes_name_the_same_tokens():
    style = ROOT / "resources" / "style"
    light, dark = (json.loads((style / f"{name}.json").read_text()) for name in ("light", "dark"))
    assert light.keys() == dark.keys() == set(Colors.__dataclass_fields__)


def test_the_system_scheme_is_followed_until_another_is_chosen(theme, monkeypatch):
    changes = []
    theme.changed.connect(lambda: changes.append(theme.is_dark))
    theme.set_look("dark", 15)
    assert theme.is_dark
    theme.set_look("light", 15)
    assert not theme.is_dark
    theme.set_look("light", 15)
    assert changes == [True, False]


def test_all_sizes_of_text_follow_the_setting(theme):
    roles = ("text", "thinking", "label", "status", "code")
    usual = [theme.px(role) for role in roles]
    theme.set_look("light", 28)
    large = [theme.px(role) for role in roles]
    assert all(new > 1.7 * old for new, old in zip(large, usual, strict=True))
    assert theme.px("thinking") < theme.px("text")


def test_figures_are_tabular_and_fonts_have_chinese_and_emoji(theme):
    font = theme.font("status")
    assert font.featureValue(QFont.Tag("tnum")) == 1
    families = " ".join(theme.font("text").families()) + " ".join(theme.font("code").families())
    assert "Emoji" in families
    assert any(
        name in families for name in ("CJK", "WenQuanYi", "YaHei", "PingFang", "Noto Sans SC")
    )


def test_icons_are_20_pixel_outlines_in_the_colour_of_the_theme(theme):
    icons = sorted((ROOT / "resources" / "icons").glob("*.svg"))
    assert len(icons) >= 15
    for path in icons:
        source = path.read_text()
        assert 'width="20"' in source
        assert 'stroke-width="1.5"' in source
        assert "currentColor" in source
    theme.set_look("light", 15)
    image = theme.icon("close", "danger").pixmap(20, 20).toImage()
    opaque = {
        image.pixelColor(x, y).name()
        for x in range(image.width())
        for y in range(image.height())
        if image.pixelColor(x, y).alpha() == 255
    }
    assert QColor(theme.colors.danger).name() in opaque


def test_a_window_that_is_gone_is_no_longer_dressed(qtbot, theme):
    gone = QWidget()
    theme.dress(gone)
    delete(gone)
    theme.set_look("dark", 15)
    assert isinstance(theme, Theme)


def test_a_window_that_is_gone_is_let_go_when_the_next_one_is_dressed(theme):
    gone = QWidget()
    theme.dress(gone)
    kept = weakref.ref(gone)
    delete(gone)
    del gone
    theme.dress(QWidget())
    assert kept() is None
