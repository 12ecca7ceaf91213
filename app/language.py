"""The language of everything that people read: Qt's translators, switched while the app runs.

Wrap a sentence as `self.tr("...")` inside of a QObject, and as `translate("Context", "...")`
everywhere else; placeholders are filled in afterwards with `str.format`. What is declared as data
and shown later is marked with `QT_TRANSLATE_NOOP`. lupdate finds all three by these names.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

SYSTEM = "system"
ENGLISH = "en"
CHINESE = "zh_CN"
"""Values of the setting "language"; the last two are also names of locales."""

_OURS = "thinkpane"
_OF_QT = "qtbase"
_SPOKEN = "thinkpane_language"
"""Property of the application: translators are the application's too."""


def translate(context: str, text: str) -> str:
    """The text in the language in use, or as it stands where it has no translation; any thread."""
    return QCoreApplication.translate(context, text)


def QT_TRANSLATE_NOOP(context: str, text: str) -> str:
    """The text itself, marked for lupdate; whoever shows it calls `translate` with both."""
    return text


def language_of_system() -> str:
    """English, unless the first language that the desktop asks for is Chinese in its simplified
    script.
    """
    names = QLocale.system().uiLanguages()
    first = QLocale(names[0]) if names else QLocale()
    chinese = first.language() is QLocale.Language.Chinese
    simplified = first.script() is QLocale.Script.SimplifiedChineseScript
    return CHINESE if chinese and simplified else ENGLISH


def spoken() -> str:
    """The language in use, for what is not a sentence of the program: "en" or "zh_CN"."""
    app = QCoreApplication.instance()
    return (app is not None and app.property(_SPOKEN)) or ENGLISH


class Language:
    """The translators that are installed; built once by the composition root.

    Args:
        folder: holds `thinkpane_<locale>.qm`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._installed: list[QTranslator] = []
        self.current = ENGLISH

    def use(self, choice: str) -> bool:
        """Speak "system", "en" or "zh_CN" from now on; whether that is another language.

        Widgets that stand already keep their texts; make them anew.
        """
        wanted = language_of_system() if choice == SYSTEM else choice
        if wanted == self.current:
            return False
        for translator in self._installed:
            QCoreApplication.removeTranslator(translator)
        if (app := QCoreApplication.instance()) is not None:
            app.setProperty(_SPOKEN, wanted)
        self._installed = []
        self.current = wanted
        if wanted != ENGLISH:
            # Qt's own words, as in the menu of a text field, come with Qt.
            self._install(_OF_QT, QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath))
            self._install(_OURS, str(self._folder))
        return True

    def _install(self, stem: str, folder: str) -> None:
        translator = QTranslator()
        if translator.load(f"{stem}_{self.current}", folder):
            QCoreApplication.installTranslator(translator)
            self._installed.append(translator)
