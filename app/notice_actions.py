"""What the buttons of notices do: from an action id to a call.

Ids with arguments carry them after colons: "undo_edit:<chat>:<exchange>:<branch>".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.attachments import Attachments
from app.chat_controller import ChatController
from app.chat_view import ChatView, ModelState
from app.context_room import ContextRoom
from app.exchange_edits import ExchangeEdits
from app.model_controller import ModelController
from app.settings import field_of, with_value
from app.settings_controller import SettingsController


@dataclass(frozen=True, slots=True)
class AppActions:
    """What only the composition root can do."""

    restart: Callable[[], None]
    copy_details: Callable[[], None]
    choose_model: Callable[[], None]
    resume_download: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ChatActions:
    """What works on the shown chat."""

    chat: ChatController
    edits: ExchangeEdits
    room: ContextRoom
    attachments: Attachments
    view: ChatView


class NoticeActions:
    """Carries out actions; an unknown id does nothing."""

    def __init__(
        self,
        models: ModelController,
        chat: ChatActions,
        settings: SettingsController,
        app: AppActions,
    ) -> None:
        self._models = models
        self._edits = chat.edits
        self._settings = settings
        self._named: dict[tuple[str, int], Callable[..., None]] = {
            ("undo_edit", 3): chat.edits.on_undo_edit,
            ("raise_presence", 2): chat.edits.on_raise_presence,
            ("resume_download", 1): app.resume_download,
            ("show_setting", 1): chat.view.reveal_setting,
            ("put_back", 1): chat.attachments.on_put_back,
            ("show_reply", 2): lambda id_, index: self._show_version(id_, index, is_reply=True),
            ("show_question", 2): lambda id_, index: self._show_version(id_, index),
        }
        self._take_back = chat.room.on_take_back
        self._view = chat.view
        self._plain: dict[str, Callable[[], None]] = {
            "retry": self._retry,
            "restart": app.restart,
            "copy_details": app.copy_details,
            "choose_model": app.choose_model,
            "download_model": app.choose_model,
            "stop": chat.chat.on_stop,
            "answer_now": chat.chat.on_answer_now,
            "leave_out_oldest": chat.room.on_leave_out_oldest,
            "reload_model": models.reload,
            "use_cpu": self._use_cpu,
            "halve_context": self._halve_context,
        }

    def on_action(self, action_id: str) -> None:
        """A button of a notice was pressed."""
        name, *arguments = action_id.split(":")
        call = self._named.get((name, len(arguments)))
        if call is not None:
            call(*arguments)
        elif name == "take_back" and arguments:
            self._take_back(*arguments)
        elif not arguments and name in self._plain:
            self._plain[name]()

    def _show_version(self, exchange_id: str, index: str, *, is_reply: bool = False) -> None:
        """Show the version in which something was found, and bring it into view."""
        if is_reply:
            self._edits.on_reply_chosen(exchange_id, int(index))
        else:
            self._edits.on_question_chosen(exchange_id, int(index))
        self._view.show_hit(exchange_id)

    def _retry(self) -> None:
        if self._models.state(self._models.active_id) is ModelState.FAILED:
            self._models.reload()
        self._edits.retry_last()

    def _use_cpu(self) -> None:
        self._settings.on_settings_changed(with_value(self._settings.settings, "device", "cpu"))
        self._models.reload()
        self._edits.retry_last()

    def _halve_context(self) -> None:
        settings = self._settings.settings
        half = max(int(field_of("context_tokens").low), settings.context_tokens // 2)
        self._settings.on_settings_changed(with_value(settings, "context_tokens", half))
        self._models.reload()
        self._edits.retry_last()
