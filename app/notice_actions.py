"""What the buttons of notices do: from an action id to a call.

Ids with arguments carry them after colons: "undo_edit:<chat>:<exchange>:<branch>".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from app.chat_view import ModelState
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


class NoticeActions:
    """Carries out actions; an unknown id does nothing."""

    def __init__(
        self,
        models: ModelController,
        edits: ExchangeEdits,
        settings: SettingsController,
        app: AppActions,
    ) -> None:
        self._models = models
        self._edits = edits
        self._settings = settings
        self._resume_download = app.resume_download
        self._plain: dict[str, Callable[[], None]] = {
            "retry": self._retry,
            "restart": app.restart,
            "copy_details": app.copy_details,
            "choose_model": app.choose_model,
            "download_model": app.choose_model,
            "leave_out_oldest": edits.on_leave_out_oldest,
            "reload_model": models.reload,
            "use_cpu": self._use_cpu,
            "halve_context": self._halve_context,
        }

    def on_action(self, action_id: str) -> None:
        """A button of a notice was pressed."""
        name, *arguments = action_id.split(":")
        if name == "undo_edit" and len(arguments) == 3:
            self._edits.on_undo_edit(*arguments)
        elif name == "resume_download" and len(arguments) == 1:
            self._resume_download(arguments[0])
        elif not arguments and name in self._plain:
            self._plain[name]()

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
