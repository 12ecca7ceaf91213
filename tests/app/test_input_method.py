"""The plugin for input methods: fcitx through ibus, and nobody's own choice overridden."""

from __future__ import annotations

import sys

import pytest

from app.input_method import input_method_for, installed_plugins

SHIPPED = {"ibus", "compose", "qtvirtualkeyboard"}


@pytest.mark.parametrize(
    ("environment", "chosen"),
    [
        ({}, None),
        ({"QT_IM_MODULE": "ibus"}, None),
        ({"QT_IM_MODULE": "compose", "XMODIFIERS": "@im=fcitx"}, None),
        ({"QT_IM_MODULE": "qtvirtualkeyboard"}, None),
        ({"QT_IM_MODULE": "fcitx"}, "ibus"),
        ({"QT_IM_MODULE": "fcitx5"}, "ibus"),
        ({"XMODIFIERS": "@im=fcitx"}, "ibus"),
        ({"XMODIFIERS": "@im=ibus"}, "ibus"),
        ({"GTK_IM_MODULE": "fcitx", "QT_IM_MODULE": ""}, "ibus"),
        ({"QT_IM_MODULE": "xim"}, "compose"),
        ({"QT_IM_MODULE": "scim", "XMODIFIERS": "@im=SCIM"}, "compose"),
        ({"QT_IM_MODULES": "wayland;fcitx;ibus"}, None),
        ({"QT_IM_MODULES": "wayland;fcitx"}, "ibus"),
        ({"QT_IM_MODULE": "fcitx", "WAYLAND_DISPLAY": "wayland-0"}, None),
        (
            {"QT_IM_MODULE": "fcitx", "WAYLAND_DISPLAY": "w", "QT_QPA_PLATFORM": "xcb"},
            "ibus",
        ),
        ({"QT_IM_MODULE": "fcitx", "QT_QPA_PLATFORM": "wayland-egl"}, None),
    ],
)
def test_which_plugin_is_asked_for(environment: dict[str, str], chosen: str | None) -> None:
    assert input_method_for(environment, SHIPPED, "linux") == chosen


def test_a_fcitx_plugin_that_is_there_is_used_as_it_is() -> None:
    assert input_method_for({"QT_IM_MODULE": "fcitx"}, SHIPPED | {"fcitx"}, "linux") is None


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_other_systems_are_left_alone(platform: str) -> None:
    assert input_method_for({"QT_IM_MODULE": "fcitx"}, SHIPPED, platform) is None


def test_without_any_plugin_nothing_is_set() -> None:
    assert input_method_for({"QT_IM_MODULE": "fcitx"}, set(), "linux") is None


@pytest.mark.skipif(sys.platform != "linux", reason="the plugins of PySide6 for Linux")
def test_the_installed_qt_has_what_the_choice_rests_on() -> None:
    assert {"ibus", "compose"} <= installed_plugins()
