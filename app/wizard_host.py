"""Opens the first-run wizard when it is asked for, and owns the downloads it starts.

The wizard's modules are imported late: they bring NumPy, which the window must not wait for.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QWidget

from app.background import JobRunner
from app.engine_events import EnginePort, WorkerEvent
from app.model_downloads import ModelDownloads
from app.ui.theme import Theme
from engine.api import DownloadProgress

if TYPE_CHECKING:
    from app.model_store_thread import ModelStoreThread, StoreEvent
    from app.ui.wizard import WizardWindow
    from app.wizard_controller import WizardController


class WizardHost(QObject):
    """The wizard, its store thread, and the way of their news to the model controller.

    The wizard opens in the middle of `over`. `model_ready(path, model_id)` is called when the
    wizard has found a model to be loaded.
    """

    def __init__(
        self,
        over: QWidget,
        theme: Theme,
        models_dir: Path,
        resources: Path,
        downloads: ModelDownloads,
        engine: EnginePort,
        jobs: JobRunner,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._over = over
        self._theme = theme
        self._models_dir = models_dir
        self._resources = resources
        self._downloads = downloads
        self._engine = engine
        self._jobs = jobs
        self._store: ModelStoreThread | None = None
        self._window: WizardWindow | None = None
        self._wizard: WizardController | None = None
        self.model_ready: Callable[[Path, str], None] = lambda path, model_id: None

    def open(self, context_tokens: int) -> None:
        """Show the wizard, at the download that is running or paused if there is one."""
        self._built(context_tokens).start()

    def resume(self, model_id: str, context_tokens: int) -> None:
        """Go on with a download; the wizard need not be open."""
        from engine.models.model_catalog import catalog_model

        self._built(context_tokens).resume_download(catalog_model(model_id))
        # The first news from the network may take seconds.
        self._downloads.on_progress(model_id, self._held_share(model_id), "connecting")

    def pause(self) -> None:
        """Pause the running download; what has arrived is kept."""
        if self._wizard is not None:
            self._wizard.pause_download()

    def _built(self, context_tokens: int) -> WizardController:
        if self._wizard is None:
            self._wizard = self._build(context_tokens)
        return self._wizard

    def on_engine_event(self, event: WorkerEvent) -> None:
        """Let the wizard follow its first answer."""
        if self._wizard is not None:
            self._wizard.on_engine_event(event)

    def shutdown(self, timeout_s: float) -> bool:
        """End the downloads; what has arrived is kept. False where the thread hangs."""
        return self._store is None or self._store.shutdown(timeout_s)

    def _build(self, context_tokens: int) -> WizardController:
        from app.model_store_thread import ModelStoreThread
        from app.ui.wizard import WizardWindow
        from app.wizard_choices import wizard_services
        from app.wizard_controller import WizardController
        from engine.models.model_store import ModelStore

        self._store = ModelStoreThread(ModelStore(self._models_dir), self)
        self._store.event_emitted.connect(self._on_store_event)
        self._store.start()
        window = WizardWindow(self._theme, self._over)
        self._window = window
        services = wizard_services(self._models_dir, self._resources, context_tokens)
        wizard = WizardController(window, self._store, self._jobs, self._engine, services, self)
        self._connect(window, wizard)
        wizard.model_ready.connect(self._on_model_ready)
        return wizard

    def _connect(self, window: WizardWindow, wizard: WizardController) -> None:
        window.action_requested.connect(wizard.on_action)
        window.option_chosen.connect(wizard.on_option_chosen)
        window.path_chosen.connect(wizard.on_path_chosen)
        window.closing.connect(wizard.on_closing)

    def speak_anew(self) -> None:
        """Have a window in the language now in use; an open one shows its step from the start."""
        from app.ui.wizard import WizardWindow

        if self._wizard is None or self._window is None:
            return
        old, self._window = self._window, WizardWindow(self._theme, self._over)
        self._connect(self._window, self._wizard)
        self._wizard.view = self._window
        if self._wizard.is_open:
            old.close_window()
            self._wizard.start()
        old.deleteLater()

    @Slot(object)
    def _on_store_event(self, event: StoreEvent) -> None:
        from app.download_text import left_or_waiting_text
        from app.model_store_thread import ModelDeleted, ModelStored, StoreAdvanced, StoreFailed

        downloads = self._downloads
        match event:
            case StoreAdvanced(progress=DownloadProgress() as progress):
                share = progress.done_bytes / max(1, progress.total_bytes)
                downloads.on_progress(event.model_id, share, left_or_waiting_text(progress))
            case StoreAdvanced(progress=progress):
                share = progress.file_done_bytes / max(1, progress.file_total_bytes)
                downloads.on_verify_progress(event.model_id, share)
            case ModelStored():
                downloads.on_complete(event.model_id)
            case StoreFailed():
                shown = self._wizard is not None and self._wizard.is_open
                held = self._held_share(event.model_id)
                downloads.on_failed(event.model_id, held, event.error, shown=shown)
            case ModelDeleted():
                downloads.on_stopped(event.model_id, 0.0)
        if self._wizard is not None:
            self._wizard.on_store_event(event)

    def _held_share(self, model_id: str) -> float:
        from engine.models.model_catalog import catalog_model

        model = catalog_model(model_id)
        held_bytes = self._store.held_bytes(model) if self._store is not None else 0
        return held_bytes / model.total_bytes

    @Slot(object, str)
    def _on_model_ready(self, path: Path, model_id: str) -> None:
        self.model_ready(path, model_id)
