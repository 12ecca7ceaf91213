"""Files on their way into a question: dropped, pasted, chosen, shown as chips, taken out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication

from app.chat_view import Attached, Attachment
from app.ui import file_drop
from tests.gui import chat_scenes, scenes


def mime_of(*urls: str, text: str = "") -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl(url) for url in urls])
    if text:
        data.setText(text)
    return data


def drop_on(widget, data):
    """A drag that enters and is dropped; whether it was taken."""
    enter = QDragEnterEvent(
        QPoint(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(widget, enter)
    if not enter.isAccepted():
        return False
    drop = QDropEvent(
        QPointF(5, 5),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
        QEvent.Type.Drop,
    )
    QApplication.sendEvent(widget, drop)
    return drop.isAccepted()


@pytest.fixture
def dropped(window):
    told = []
    window.files_dropped.connect(told.append)
    return told


def test_files_dropped_on_the_question_or_anywhere_else_are_told(window, dropped):
    data = mime_of("file:///tmp/a.txt", "file:///tmp/b%20c.md")
    assert drop_on(window.composer.edit.viewport(), data)
    assert drop_on(window, data)
    scenes.scene_done(window)
    answer = window.transcript.exchange_widget("e1").answer.body.segments[0]
    assert drop_on(answer.viewport(), data)
    assert dropped == [["/tmp/a.txt", "/tmp/b c.md"]] * 3
    assert window.composer.text == "", "the paths are not written into the question"


def test_pasted_files_are_told_too(window, dropped):
    window.composer.edit.insertFromMimeData(mime_of("file:///tmp/a.txt", text="file:///tmp/a.txt"))
    assert dropped == [["/tmp/a.txt"]]


def test_a_link_or_text_is_no_file(window, dropped):
    data = mime_of("https://example.org/a.txt", text="https://example.org/a.txt")
    assert not drop_on(window, data)
    window.composer.edit.insertFromMimeData(data)
    assert dropped == []
    assert window.composer.text == "https://example.org/a.txt"


def test_the_button_asks_for_files(window, dropped, monkeypatch, qtbot):
    monkeypatch.setattr(file_drop, "ask_what_to_attach", lambda parent: ["/tmp/a.txt"])
    window.activateWindow()
    window.chats.search.setFocus()
    qtbot.mouseClick(window.composer.attach, Qt.MouseButton.LeftButton)
    assert window.focusWidget() is window.composer.edit, "the next key would press nothing else"
    monkeypatch.setattr(file_drop, "ask_what_to_attach", lambda parent: [])
    qtbot.mouseClick(window.composer.attach, Qt.MouseButton.LeftButton)
    assert dropped == [["/tmp/a.txt"]]


def test_a_note_on_the_files_never_lies_over_the_question_not_even_for_a_frame(window):
    file = Attachment("Pasted text", 479_652, 1_000_000)
    window.show_attachments(Attached((file,)))
    scenes.settle(window)
    note = "This is 479,652 tokens, and the model can see 2,048 at once. Take something out."
    window.show_attachments(Attached((file,), note, can_send=False))
    composer = window.composer
    assert composer.attachments.note.isVisible()
    assert composer.attachments.geometry().bottom() < composer.edit.geometry().top()
    assert composer.edit.geometry().bottom() < composer.height()


def test_chips_show_name_and_tokens_above_the_question(window, qtbot):
    chat_scenes.scene_files(window)
    row = window.composer.attachments
    assert [chip.text for chip in row.chips] == [
        "readings-2026-11.csv 9.8 KB, 3,204 tokens",
        "how the sensor was calibrated.md 2.4 KB, 611 tokens",
        "notes.txt 1.2 KB, tokens not counted yet",
    ]
    edit = window.composer.edit
    qtbot.waitUntil(lambda: row.geometry().bottom() < edit.geometry().top(), timeout=30_000)
    assert all(row.rect().contains(chip.geometry()) for chip in row.chips)


def test_chips_break_into_lines_where_the_window_is_narrow(window, qtbot):
    chat_scenes.scene_files(window)
    row = window.composer.attachments
    wide = row.height()
    window.resize(600, 800)
    qtbot.waitUntil(lambda: row.height() > wide, timeout=30_000)
    assert all(row.rect().contains(chip.geometry()) for chip in row.chips)
    tops = [chip.geometry().top() for chip in row.chips]
    assert tops == sorted(tops)


def test_a_chip_is_taken_out_by_its_cross_and_the_keyboard_stays(window, qtbot):
    window.activateWindow()
    chat_scenes.scene_files(window)
    row = window.composer.attachments
    removed = []

    def remove(index):
        removed.append(index)
        files = tuple(c.attachment for n, c in enumerate(row.chips) if n != index)
        window.show_attachments(Attached(files))

    window.attachment_removed.connect(remove)
    row.chips[1].close_button.setFocus()
    qtbot.keyClick(row.chips[1].close_button, Qt.Key.Key_Space)
    assert removed == [1]
    assert window.focusWidget() is row.chips[-1].close_button
    for _ in range(2):
        qtbot.keyClick(row.chips[-1].close_button, Qt.Key.Key_Space)
    assert removed == [1, 1, 0]
    assert not row.isVisible()
    assert window.focusWidget() is window.composer.edit


def test_files_alone_can_be_sent(window, qtbot):
    sent = []
    window.submitted.connect(sent.append)
    assert not window.composer.send.isEnabled()
    window.show_attachments(Attached((Attachment("a.txt", 5, 20),)))
    assert window.composer.send.isEnabled()
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
    assert sent == [""]
    window.show_attachments(Attached())
    assert not window.composer.send.isEnabled()


def test_what_is_too_long_for_the_model_warns(window):
    chat_scenes.scene_files_too_long(window)
    [chip] = window.composer.attachments.chips
    assert chip._size.property("role") == "warn"
    row = window.composer.attachments
    assert "91,204 tokens" in row.note.text()
    assert "8,192" in row.note.text()
    assert row.note.geometry().top() >= chip.geometry().bottom()
    assert row.rect().contains(row.note.geometry())


def test_what_does_not_fit_is_not_sent_and_stays(window, qtbot):
    sent, held_back = [], []
    window.submitted.connect(sent.append)
    window.send_held_back.connect(lambda: held_back.append(True))
    chat_scenes.scene_files_too_long(window)
    window.composer.set_text("Read this.")
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
    qtbot.mouseClick(window.composer.send, Qt.MouseButton.LeftButton)
    assert (sent, held_back) == ([], [True, True])
    assert window.composer.text == "Read this."
    window.show_attachments(Attached((Attachment("a.txt", 5, 20),)))
    qtbot.keyClick(window.composer.edit, Qt.Key.Key_Return)
    assert sent == ["Read this."]


def test_a_count_that_goes_on_is_shown_and_leaves_the_keyboard_where_it_is(window, qtbot):
    window.activateWindow()
    chat_scenes.scene_long_paste(window)
    row = window.composer.attachments
    first, second = row.chips
    assert second.text == "Pasted text 2 1.0 MB, counting tokens: 38 %"
    second.close_button.setFocus()
    files = (first.attachment, replace(second.attachment, tokens=262_144, counted=None))
    window.show_attachments(Attached(files))
    assert window.focusWidget() is second.close_button
    assert second.text == "Pasted text 2 1.0 MB, 262,144 tokens"
    assert row.rect().contains(second.geometry())


def test_a_pasted_text_can_be_put_into_the_question_where_it_is_short_enough(window, qtbot):
    inlined = []
    window.attachment_inlined.connect(inlined.append)
    chat_scenes.scene_long_paste(window)
    first, second = window.composer.attachments.chips
    assert second.inline_button.isHidden()
    qtbot.mouseClick(first.inline_button, Qt.MouseButton.LeftButton)
    assert inlined == [0]
    window.composer.set_text("before")
    window.insert_into_question(" after")
    assert window.composer.text == "before after"
    window.composer.edit.undo()
    assert window.composer.text == "before"


def test_every_cross_names_its_file(window):
    chat_scenes.scene_files(window)
    for chip in window.composer.attachments.chips:
        assert chip.close_button.accessibleName() == f"Remove {chip.attachment.name}"
