"""The one place that knows the whole status line, so that several parts can each change theirs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from app.chat_view import ChatState, ChatView, Status
from app.gpu_memory import GpuMemory
from app.language import translate

COUNT_S = 0.25
"""Figures that count are shown anew this often: each time is a drawing of the window."""


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

    def __init__(self, view: ChatView, clock: Callable[[], float] = time.monotonic) -> None:
        self._view = view
        self._clock = clock
        self._status = self._shown = Status()
        self._counted_at = clock() - COUNT_S

    @property
    def status(self) -> Status:
        """What is known now."""
        return self._status

    def change(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of Status, checked there
        """Change some fields of the status."""
        self._status = replace(self._status, **changes)
        if self._status != self._shown:
            self.show_again()

    def count(self, **changes: Any) -> None:  # noqa: ANN401 - the fields of Status, checked there
        """Change what changes with every token; shown in a while, or with the next `change`."""
        now = self._clock()
        if now - self._counted_at >= COUNT_S:
            self._counted_at = now
            self.change(**changes)
        else:
            self._status = replace(self._status, **changes)

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
        self._shown = self._status
        self._view.show_status(self._status)
