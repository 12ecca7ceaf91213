"""Which input method plugin Qt is to use on Linux, for Chinese, Japanese and Korean.

PySide6 ships the plugins "ibus" and "compose", and none for fcitx. Desktops with fcitx set
QT_IM_MODULE=fcitx, and Qt then finds no plugin at all. fcitx 5 also answers to ibus' protocol, so
there the plugin for ibus is the way to it. On Wayland Qt asks the compositor and needs no plugin.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from PySide6.QtCore import QLibraryInfo

VARIABLE = "QT_IM_MODULE"
_LIST = "QT_IM_MODULES"
_PLUGIN = re.compile(r"lib(.+?)(?:platforminputcontext)?plugin\.so$")
_SPEAKS_IBUS = re.compile(r"\b(ibus|fcitx5?)\b")


def installed_plugins() -> frozenset[str]:
    """Names of the input method plugins that came with Qt."""
    folder = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)) / "platforminputcontexts"
    names = (_PLUGIN.match(path.name) for path in folder.glob("lib*plugin.so"))
    return frozenset(name[1] for name in names if name)


def input_method_for(
    environment: Mapping[str, str], plugins: Collection[str], platform: str
) -> str | None:
    """What to set QT_IM_MODULE to before Qt starts; None: it is right as it is.

    Args:
        environment: of the process.
        plugins: those that Qt can load.
        platform: `sys.platform`.
    """
    if platform != "linux" or _on_wayland(environment):
        return None
    asked = [*environment.get(_LIST, "").split(";"), environment.get(VARIABLE, "")]
    asked = [name.strip() for name in asked if name.strip()]
    if any(name in plugins for name in asked):
        return None
    hints = (*asked, environment.get("XMODIFIERS", ""), environment.get("GTK_IM_MODULE", ""))
    if "ibus" in plugins and any(_SPEAKS_IBUS.search(hint) for hint in hints):
        return "ibus"
    # Qt's own choice, which knows dead keys, unless a plugin is asked for that is not there.
    return "compose" if asked and "compose" in plugins else None


def _on_wayland(environment: Mapping[str, str]) -> bool:
    wanted = environment.get("QT_QPA_PLATFORM", "")
    if wanted:
        return wanted.startswith("wayland")
    return bool(environment.get("WAYLAND_DISPLAY"))
