"""Links in a model's text: opened only after a click and a yes that shows the whole address."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QMessageBox, QWidget

from app.language import translate
from app.render.links import openable_url


def ask_to_open(parent: QWidget, address: str) -> None:
    """Ask, with the address in full; does nothing for an address that may not be opened."""
    url = openable_url(address)
    if url is None:
        return
    box = QMessageBox(parent.window())
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle(translate("LinkGuard", "Open link"))
    box.setText(translate("LinkGuard", "Open this address in your browser?"))
    box.setInformativeText(url)
    open_button = box.addButton(translate("LinkGuard", "Open"), QMessageBox.ButtonRole.AcceptRole)
    cancel = box.addButton(translate("LinkGuard", "Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(cancel)
    box.exec()
    if box.clickedButton() is open_button:
        QDesktopServices.openUrl(QUrl(url))
