"""The desktop's own dialogs for files, or Qt's where it has none, in the language in use."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QFileDialog, QWidget

from app.language import translate


def file_dialog(
    parent: QWidget,
    title: str,
    mode: QFileDialog.FileMode,
    *,
    folder: str = "",
    name_filter: str = "",
) -> QFileDialog:
    """A dialog that is not open yet; without a folder it begins in the home of the user."""
    dialog = QFileDialog(parent, title, folder or str(Path.home()), name_filter)
    dialog.setFileMode(mode)
    # Of Qt's own dialog these two have no Chinese in Qt's translations.
    dialog.setLabelText(QFileDialog.DialogLabel.LookIn, translate("Files", "Look in:"))
    dialog.setLabelText(QFileDialog.DialogLabel.FileType, translate("Files", "Files of type:"))
    return dialog


def save_dialog(
    parent: QWidget, title: str, folder: str, name: str, name_filter: str
) -> QFileDialog:
    """A dialog for a new file; a name that is typed without its ending gets that of `name`.

    It asks before it replaces a file.
    """
    mode = QFileDialog.FileMode.AnyFile
    dialog = file_dialog(parent, title, mode, folder=folder, name_filter=name_filter)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(Path(name).suffix.removeprefix("."))
    dialog.selectFile(name)
    return dialog


def chosen_in(dialog: QFileDialog) -> list[str]:
    """Open the dialog and wait; the chosen paths, none where the user gave up."""
    accepted = dialog.exec()
    dialog.deleteLater()
    return dialog.selectedFiles() if accepted else []


def documents_folder() -> str:
    """Where a user keeps files: the folder for documents, or the home where that is not there.

    Qt takes a folder that is not there for the name of a file.
    """
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    return folder if folder and Path(folder).is_dir() else str(Path.home())
