"""What the downloads mean for the models: progress, pauses, failures, and the one that arrived."""

from __future__ import annotations

from app.chat_view import ChatView, ModelState, Notice
from app.error_text import RETRY, error_text
from app.language import translate
from app.model_controller import ModelController
from engine.errors import DownloadCancelled, EngineError


class ModelDownloads:
    """Told by whoever owns the downloads; changes the shelf of the models."""

    def __init__(self, view: ChatView, models: ModelController) -> None:
        self._view = view
        self._models = models

    def on_progress(self, model_id: str, share: float, detail: str) -> None:
        """A model is arriving; `share` of it is here."""
        self._view.hide_notice("download")
        self._models.shelf.change(model_id, ModelState.DOWNLOADING, share, detail)

    def on_verify_progress(self, model_id: str, share: float) -> None:
        """A model is being checked."""
        self._models.shelf.change(model_id, ModelState.VERIFYING, share)

    def on_stopped(self, model_id: str, share: float) -> None:
        """It was paused, or given up; `share` of it is kept and can be gone on from."""
        self._models.shelf.change(model_id, ModelState.ABSENT, share)

    def on_failed(self, model_id: str, share: float, error: EngineError, *, shown: bool) -> None:
        """It ended early; told here unless another window has `shown` why."""
        self.on_stopped(model_id, share)
        if shown or isinstance(error, DownloadCancelled):
            return
        actions = ((f"resume_download:{model_id}", RETRY[1]),)
        self._view.show_notice(Notice("download", error_text(error).text, "error", actions))

    def on_complete(self, model_id: str) -> None:
        """The model is there: loaded where no other one is in use, else offered in the header."""
        models = self._models
        in_use = models.info is not None or models.loading is not None
        others = in_use and model_id != models.active_id
        models.shelf.change(model_id, ModelState.ON_DISK, is_new=others)
        if not in_use:
            models.select(model_id)
        elif others:
            self._view.notify(
                models.shelf.label(model_id), translate("Models", "The model is ready to be used.")
            )
