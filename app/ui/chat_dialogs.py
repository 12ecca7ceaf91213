"""Where an export goes and an import comes from: the desktop's own dialogs."""

from __future__ import annotations

import re
from pathlib import Path

from PySide6.QtCore import QStandardPaths
from PySide6.QtWidgets import QFileDialog, QWidget

from app.chat_view import ExportFormat
from app.language import translate

_NOT_IN_NAMES = re.compile(r'[\x00-\x1f<>:"/\\|?*]+')
_MAX_NAME = 80


def file_name_for(title: str, kind: ExportFormat) -> str:
    """A name that every file system takes."""
    ending = "json" if kind is ExportFormat.JSON else "md"
    stem = _NOT_IN_NAMES.sub(" ", title)[:_MAX_NAME].strip(" .")
    return f"{' '.join(stem.split()) or 'chat'}.{ending}"


def ask_where_to_export(parent: QWidget, title: str, kind: ExportFormat) -> str:
    """The chosen path, or "" where the user gave up; the dialog asks before it replaces a file."""
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    is_json = kind is ExportFormat.JSON
    path, _ = QFileDialog.getSaveFileName(
        parent,
        translate("Export", "Export to"),
        str(Path(folder or Path.home()) / file_name_for(title, kind)),
        translate("Export", "JSON (*.json)") if is_json else translate("Export", "Markdown (*.md)"),
    )
    return path


def ask_what_to_import(parent: QWidget) -> str:
    """The chosen path, or ""."""
    folder = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)
    path, _ = QFileDialog.getOpenFileName(
        parent,
        translate("Export", "Import chats"),
        folder or str(Path.home()),
        translate("Export", "Exports of Thinkpane (*.json)"),
    )
    return path


def ask_what_to_attach(parent: QWidget) -> list[str]:
    """The chosen paths, or none."""
    paths, _ = QFileDialog.getOpenFileNames(
        parent, translate("Attach", "Attach text files"), str(Path.home())
    )
    return list(paths)
