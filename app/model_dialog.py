"""Asks for a model of the user's own."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from app.language import translate
from app.ui.file_dialogs import chosen_in, file_dialog


def ask_for_model(parent: QWidget) -> Path | None:
    """A GGUF file, or the folder of a chosen config.json; None where nothing was chosen."""
    dialog = file_dialog(
        parent,
        translate("App", "Choose a GGUF file, or config.json of a model folder"),
        QFileDialog.FileMode.ExistingFile,
        name_filter=translate("App", "Models (*.gguf config.json)"),
    )
    paths = chosen_in(dialog)
    if not paths:
        return None
    chosen = Path(paths[0])
    return chosen.parent if chosen.name == "config.json" else chosen
