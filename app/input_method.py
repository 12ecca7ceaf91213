"""Which input method plugin Qt is to use on Linux, for Chinese, Japanese and Korean.

PySide6 ships the plugins "ibus" and "compose", and none for fcitx. Desktops with fcitx set
QT_IM_MODULE=fcitx, and Qt then finds no plugin at all. fcitx 5 also answers to ibus' protocol, so
there the plugin for ibus is the way to it; but that plugin gives up where no program "ibus-daemon"
is installed, unless it is told to ask by the portal's name, which fcitx 5 answers to as well. On
Wayland Qt asks the compositor and needs no plugin.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QLibraryInfo

VARIABLE = "QT_IM_MODULE"
PORTAL = "IBUS_USE_PORTAL"
_LIST = "QT_IM_MODULES"
_PLUGIN = re.compile(r"lib(.+?)(?:platforminputcontext)?plugin\.so$")
_SPEAKS_IBUS = re.compile(r"\b(ibus|fcitx5?)\b")


def installed_plugins() -> frozenset[str]:
    """Names of the input method plugins that came with Qt."""
    folder = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)) / "platforminputcontexts"
    names = (_PLUGIN.match(path.name) for path in folder.glob("lib*plugin.so"))
    return frozenset(name[1] for name in names if name)


def input_method_environment(
    environment: Mapping[str, str],
    plugins: Collection[str],
    platform: str,
    *,
    has_ibus_daemon: bool,
) -> dict[str, str]:
    """Variables to set before Qt starts; none where everything is right as it is.

    Args:
        environment: of the process.
        plugins: those that Qt can load.
        platform: `sys.platform`.
        has_ibus_daemon: whether the program of that name is installed.
    """
    if platform != "linux" or _on_wayland(environment):
        return {}
    asked = [*environment.get(_LIST, "").split(";"), environment.get(VARIABLE, "")]
    asked = [name.strip() for name in asked if name.strip()]
    found = [name for name in asked if name in plugins]
    changes: dict[str, str] = {}
    if not found:
        chosen = _choice(asked, environment, plugins)
        if not chosen:
            return {}
        found, changes[VARIABLE] = [chosen], chosen
        if environment.get(_LIST):
            changes[_LIST] = chosen  # Qt looks at this one first
    if found[0] == "ibus" and not has_ibus_daemon and PORTAL not in environment:
        changes[PORTAL] = "1"
    return changes


def _choice(asked: Sequence[str], environment: Mapping[str, str], plugins: Collection[str]) -> str:
    hints = (*asked, environment.get("XMODIFIERS", ""), environment.get("GTK_IM_MODULE", ""))
    if "ibus" in plugins and any(_SPEAKS_IBUS.search(hint) for hint in hints):
        return "ibus"
    # Qt's own choice, which knows dead keys, unless a plugin is asked for that is not there.
    return "compose" if asked and "compose" in plugins else ""


def _on_wayland(environment: Mapping[str, str]) -> bool:
    wanted = environment.get("QT_QPA_PLATFORM", "")
    if wanted:
        return wanted.startswith("wayland")
    return bool(environment.get("WAYLAND_DISPLAY"))
