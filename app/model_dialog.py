"""Asks for a model of the user's own."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from app.language import translate


def ask_for_model(parent: QWidget) -> Path | None:
    """A GGUF file, or the folder of a chosen config.json; None where nothing was chosen."""
    path, _ = QFileDialog.getOpenFileName(
        parent,
        translate("App", "Choose a GGUF file, or config.json of a model folder"),
        str(Path.home()),
        translate("App", "Models (*.gguf config.json)"),
    )
    if not path:
        return None
    chosen = Path(path)
    return chosen.parent if chosen.name == "config.json" else chosen
