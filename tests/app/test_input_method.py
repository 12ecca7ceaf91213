"""The plugin for input methods: fcitx through ibus, and nobody's own choice overridden."""

from __future__ import annotations

import sys

import pytest

from app.input_method import input_method_environment, installed_plugins

SHIPPED = {"ibus", "compose", "qtvirtualkeyboard"}


IBUS = {"QT_IM_MODULE": "ibus"}
PORTAL = {"IBUS_USE_PORTAL": "1"}
COMPOSE = {"QT_IM_MODULE": "compose"}


def choose(
    environment: dict[str, str],
    plugins: set[str] = SHIPPED,
    platform: str = "linux",
    daemon: bool = True,
) -> dict[str, str]:
    return input_method_environment(environment, plugins, platform, has_ibus_daemon=daemon)


@pytest.mark.parametrize(
    ("environment", "chosen"),
    [
        ({}, {}),
        (IBUS, {}),
        ({"QT_IM_MODULE": "compose", "XMODIFIERS": "@im=fcitx"}, {}),
        ({"QT_IM_MODULE": "qtvirtualkeyboard"}, {}),
        ({"QT_IM_MODULE": "fcitx"}, IBUS),
        ({"QT_IM_MODULE": "fcitx5"}, IBUS),
        ({"XMODIFIERS": "@im=fcitx"}, IBUS),
        ({"XMODIFIERS": "@im=ibus"}, IBUS),
        ({"GTK_IM_MODULE": "fcitx", "QT_IM_MODULE": ""}, IBUS),
        ({"QT_IM_MODULE": "xim"}, COMPOSE),
        ({"QT_IM_MODULE": "scim", "XMODIFIERS": "@im=SCIM"}, COMPOSE),
        ({"QT_IM_MODULES": "wayland;fcitx;ibus"}, {}),
        ({"QT_IM_MODULES": "wayland;fcitx"}, IBUS | {"QT_IM_MODULES": "ibus"}),
        ({"QT_IM_MODULE": "fcitx", "WAYLAND_DISPLAY": "wayland-0"}, {}),
        (
            {"QT_IM_MODULE": "fcitx", "WAYLAND_DISPLAY": "w", "QT_QPA_PLATFORM": "xcb"},
            IBUS,
        ),
        ({"QT_IM_MODULE": "fcitx", "QT_QPA_PLATFORM": "wayland-egl"}, {}),
    ],
)
def test_which_plugin_is_asked_for(environment: dict[str, str], chosen: dict[str, str]) -> None:
    assert choose(environment) == chosen


@pytest.mark.parametrize(
    ("environment", "chosen"),
    [
        ({"QT_IM_MODULE": "fcitx"}, IBUS | PORTAL),
        (IBUS, PORTAL),
        ({"QT_IM_MODULE": "ibus", "IBUS_USE_PORTAL": ""}, {}),
        ({"QT_IM_MODULES": "fcitx;ibus"}, PORTAL),
        ({"QT_IM_MODULE": "xim"}, COMPOSE),
        ({}, {}),
    ],
)
def test_without_the_program_ibus_daemon_its_plugin_asks_by_the_portal(
    environment: dict[str, str], chosen: dict[str, str]
) -> None:
    assert choose(environment, daemon=False) == chosen


def test_a_fcitx_plugin_that_is_there_is_used_as_it_is() -> None:
    assert choose({"QT_IM_MODULE": "fcitx"}, SHIPPED | {"fcitx"}, daemon=False) == {}


@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_other_systems_are_left_alone(platform: str) -> None:
    assert choose({"QT_IM_MODULE": "fcitx"}, SHIPPED, platform) == {}


def test_without_any_plugin_nothing_is_set() -> None:
    assert choose({"QT_IM_MODULE": "fcitx"}, set()) == {}


@pytest.mark.skipif(sys.platform != "linux", reason="the plugins of PySide6 for Linux")
def test_the_installed_qt_has_what_the_choice_rests_on() -> None:
    assert {"ibus", "compose"} <= installed_plugins()
