"""What the window asks for: its signals, as `app.chat_view` lists them."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget


class Intentions(QWidget):
    """Signals: see `app.chat_view`."""

    submitted = Signal(str)
    stop_requested = Signal()
    answer_now_requested = Signal()
    regenerate_requested = Signal(str)
    edit_requested = Signal(str, str)
    continue_requested = Signal(str)
    reply_edited = Signal(object)
    reply_chosen = Signal(str, int)
    question_chosen = Signal(str, int)
    new_chat_requested = Signal()
    conversation_selected = Signal(str)
    rename_requested = Signal(str, str)
    delete_requested = Signal(str)
    undo_delete_requested = Signal(str)
    erase_requested = Signal(object)
    pin_requested = Signal(str, bool)
    duplicate_requested = Signal(str)
    temporary_chat_requested = Signal()
    export_requested = Signal(str, object, str)
    import_requested = Signal(str)
    files_dropped = Signal(object)
    long_text_pasted = Signal(str)
    paste_undone = Signal()
    attachment_removed = Signal(int)
    attachment_inlined = Signal(int)
    send_held_back = Signal()
    search_changed = Signal(str)
    draft_changed = Signal(str)
    settings_changed = Signal(object)
    preset_chosen = Signal(str)
    preset_saved = Signal(str)
    preset_renamed = Signal(str, str)
    preset_deleted = Signal(str)
    preset_reverted = Signal()
    model_selected = Signal(str)
    add_model_requested = Signal()
    remove_model_requested = Signal(str)
    pause_download_requested = Signal(str)
    resume_download_requested = Signal(str)
    free_memory_requested = Signal()
    action_requested = Signal(str)
    closing = Signal()
