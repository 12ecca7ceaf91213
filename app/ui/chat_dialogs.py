"""Where an export goes and an import comes from: the desktop's own dialogs."""

from __future__ import annotations

import re

from PySide6.QtWidgets import QFileDialog, QWidget

from app.chat_view import ExportFormat
from app.language import translate
from app.ui.file_dialogs import chosen_in, documents_folder, file_dialog, save_dialog

_NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"/\\|?*]+')
_MAX_NAME = 80


def file_name_for(title: str, kind: ExportFormat) -> str:
    """A name that every file system takes."""
    ending = "json" if kind is ExportFormat.JSON else "md"
    stem = _NOT_IN_NAMES.sub(" ", title)[:_MAX_NAME].strip(" .")
    return f"{' '.join(stem.split()) or 'chat'}.{ending}"


def ask_where_to_export(parent: QWidget, title: str, kind: ExportFormat) -> str:
    """The chosen path, or "" where the user gave up; the dialog asks before it replaces a file."""
    is_json = kind is ExportFormat.JSON
    dialog = save_dialog(
        parent,
        translate("Export", "Export to"),
        documents_folder(),
        file_name_for(title, kind),
        translate("Export", "JSON (*.json)") if is_json else translate("Export", "Markdown (*.md)"),
    )
    return next(iter(chosen_in(dialog)), "")


def ask_what_to_import(parent: QWidget) -> str:
    """The chosen path, or ""."""
    dialog = file_dialog(
        parent,
        translate("Export", "Import chats"),
        QFileDialog.FileMode.ExistingFile,
        folder=documents_folder(),
        name_filter=translate("Export", "Exports of Thinkpane (*.json)"),
    )
    return next(iter(chosen_in(dialog)), "")


def ask_what_to_attach(parent: QWidget) -> list[str]:
    """The chosen paths, or none."""
    mode = QFileDialog.FileMode.ExistingFiles
    return chosen_in(file_dialog(parent, translate("Attach", "Attach text files"), mode))
