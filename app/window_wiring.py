"""Connects what the window asks for to the controllers that do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.found_versions import FoundVersions

if TYPE_CHECKING:
    from app.application import Application


def connect_window(application: Application) -> None:
    """Connect every signal of `app.ui.intentions` that a controller answers."""
    window, chat, edits = application.window, application.chat, application.edits
    FoundVersions(window, application.chats)  # held by the chats, which tell it what is shown
    chats, models, presets = application.chats, application.models, application.presets
    window.submitted.connect(application.attachments.on_submitted)
    window.files_dropped.connect(application.attachments.on_files_dropped)
    window.long_text_pasted.connect(application.attachments.on_pasted)
    window.paste_undone.connect(application.attachments.on_paste_undone)
    window.attachment_removed.connect(application.attachments.on_removed)
    window.attachment_inlined.connect(application.attachments.on_inlined)
    window.send_held_back.connect(application.attachments.on_held_back)
    window.stop_requested.connect(chat.on_stop)
    window.answer_now_requested.connect(chat.on_answer_now)
    window.regenerate_requested.connect(edits.on_regenerate)
    window.edit_requested.connect(edits.on_edit)
    window.continue_requested.connect(edits.on_continue)
    window.reply_edited.connect(edits.on_reply_edited)
    window.reply_chosen.connect(edits.on_reply_chosen)
    window.question_chosen.connect(edits.on_question_chosen)
    window.new_chat_requested.connect(chats.on_new_chat)
    window.conversation_selected.connect(chats.on_conversation_selected)
    window.rename_requested.connect(chats.on_rename)
    window.delete_requested.connect(chats.on_delete)
    window.undo_delete_requested.connect(chats.on_undo_delete)
    window.erase_requested.connect(chats.on_erase)
    window.pin_requested.connect(chats.on_pin)
    window.duplicate_requested.connect(chats.on_duplicate)
    window.temporary_chat_requested.connect(chats.on_temporary_chat)
    window.export_requested.connect(application.files.on_export)
    window.import_requested.connect(application.files.on_import)
    window.search_changed.connect(chats.on_search)
    window.draft_changed.connect(chats.on_draft_changed)
    window.settings_changed.connect(application.settings.on_settings_changed)
    window.preset_chosen.connect(presets.on_chosen)
    window.preset_saved.connect(presets.on_saved)
    window.preset_renamed.connect(presets.on_renamed)
    window.preset_deleted.connect(presets.on_deleted)
    window.preset_reverted.connect(presets.on_reverted)
    window.model_selected.connect(application.on_model_selected)
    window.remove_model_requested.connect(models.remove)
    window.free_memory_requested.connect(models.free_memory)
