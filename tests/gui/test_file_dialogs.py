"""Dialogs for files: where they begin, what a name gets, and which language they speak."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QComboBox, QFileDialog, QListView, QTreeView

from app.chat_view import ExportFormat
from app.language import CHINESE, ENGLISH, Language
from app.paths import resource_dir
from app.settings import with_value
from app.ui import file_dialogs
from app.ui.chat_dialogs import ask_what_to_import, ask_where_to_export
from app.ui.file_dialogs import documents_folder, file_dialog


@pytest.fixture
def opened(monkeypatch):
    """The dialogs that were opened; each chooses what is typed into it."""
    seen: list[QFileDialog] = []
    typed: list[str] = []

    def choose(dialog: QFileDialog) -> int:
        dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
        seen.append(dialog)
        if typed:
            dialog.selectFile(typed[0])
        return QFileDialog.DialogCode.Accepted if typed else QFileDialog.DialogCode.Rejected

    monkeypatch.setattr(QFileDialog, "exec", choose)
    return seen, typed


@pytest.mark.parametrize(
    ("kind", "ending"), [(ExportFormat.JSON, "json"), (ExportFormat.MARKDOWN, "md")]
)
def test_an_export_gets_the_ending_that_was_not_typed(window, tmp_path, opened, kind, ending):
    seen, typed = opened
    typed.append(str(tmp_path / "mine"))
    assert ask_where_to_export(window, "A chat", kind) == str(tmp_path / f"mine.{ending}")
    [dialog] = seen
    assert dialog.acceptMode() is QFileDialog.AcceptMode.AcceptSave


def test_a_folder_for_documents_that_is_not_there_is_not_taken_for_a_file(
    window, tmp_path, monkeypatch, opened
):
    """A home without it is common on a server, and the name of the file was "Documents" then."""
    missing = tmp_path / "Documents"
    monkeypatch.setattr(
        file_dialogs.QStandardPaths, "writableLocation", lambda _place: str(missing)
    )
    assert documents_folder() == str(Path.home())
    assert ask_what_to_import(window) == ""
    assert opened[0][0].directory().absolutePath() == str(Path.home())
    missing.mkdir()
    assert documents_folder() == str(missing)


def test_qts_own_dialog_speaks_chinese_throughout(window, qtbot):
    language = Language(resource_dir() / "translations")
    language.use(CHINESE)
    try:
        dialog = file_dialog(window, "导入", QFileDialog.FileMode.ExistingFile)
        qtbot.addWidget(dialog)
        dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
        for kind in (QFileDialog.DialogLabel.LookIn, QFileDialog.DialogLabel.FileType):
            assert not dialog.labelText(kind).isascii()
    finally:
        language.use(ENGLISH)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_files_can_be_read_in_qts_own_dialog_in_both_colours(window, qtbot, scheme):
    """In the dark the names stood almost white on the white of the system."""
    window.show_settings(with_value(window.settings, "theme", scheme))
    dialog = file_dialog(window, "Open", QFileDialog.FileMode.ExistingFile)
    qtbot.addWidget(dialog)
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
    dialog.show()
    qtbot.waitExposed(dialog)
    surface = window.theme.color("surface")
    for kind in (QTreeView, QListView):
        for view in dialog.findChildren(kind):
            if view.isVisible():
                picture = view.viewport().grab().toImage()
                corner = picture.pixelColor(picture.width() - 3, picture.height() - 3)
                assert corner.name() == surface.name(), view.objectName()
    boxes = [box for box in dialog.findChildren(QComboBox) if box.isVisible()]
    assert boxes
    for box in boxes:
        picture = box.grab().toImage()
        place = QPoint(picture.width() * 2 // 3, picture.height() - 5)
        assert picture.pixelColor(place).name() == surface.name(), box.objectName()
