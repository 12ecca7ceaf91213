"""The one place that knows the whole status line, so that several parts can each change theirs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.chat_view import ChatState, ChatView, Status
from app.gpu_memory import GpuMemory
from app.language import translate


def phase_text(state: ChatState) -> str:
    """What the status bar calls it."""
    phases = {
        ChatState.PREFILLING: translate("Chat", "Reading the chat"),
        ChatState.THINKING: translate("Chat", "Thinking"),
        ChatState.ANSWERING: translate("Chat", "Answering"),
        ChatState.STOPPING: translate("Chat", "Stopping"),
    }
    return phases.get(state, "")


class StatusBoard:
    """Holds the current `Status` and shows it when it changes."""

    def __init__(self, view: ChatView) -> None:
        self._view = view
        self._status = Status()

    @property
    def status(self) -> Status:
        """What is shown now."""
        return self._status

    def change(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of Status, checked there
        """Change some fields of the status."""
        status = replace(self._status, **changes)
        if status != self._status:
            self._status = status
            self._view.show_status(status)

    def show_gpu(self, memory: GpuMemory, planned_bytes: int) -> None:
        """Show the GPU's memory; `planned_bytes` is what the model was to take of it."""
        self.change(
            gpu_used_bytes=memory.used_bytes,
            gpu_total_bytes=memory.total_bytes,
            gpu_others_bytes=memory.others_bytes(planned_bytes),
        )

    def forget_model(self) -> None:
        """No model is loaded now."""
        self.change(
            model="",
            device="",
            capacity_tokens=0,
            gpu_used_bytes=None,
            gpu_total_bytes=None,
            gpu_others_bytes=None,
        )

    def show_again(self) -> None:
        """Show it to a window that has forgotten it."""
        self._view.show_status(self._status)
