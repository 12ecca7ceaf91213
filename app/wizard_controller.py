"""Leads through the first run: check, choose, download, verify, first answer.

Holds which step the wizard is in and what it knows; the window only shows. Long work happens
elsewhere: checks and opened files in jobs, download and hashing in the model store's thread,
loading and answering in the engine's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from app.engine_events import EnginePort, WorkerEvent
from app.language import translate
from app.model_records import DEMO_MODEL_ID
from app.model_store_thread import (
    DeleteFailed,
    ModelDeleted,
    ModelStored,
    StoreAdvanced,
    StoreEvent,
    StoreFailed,
)
from app.wizard_answer import FirstAnswer
from app.wizard_buttons import wizard_button
from app.wizard_choices import PATH_ID, CheckOutcome, Choices, LocalOutcome, WizardServices
from app.wizard_download import DownloadBoard
from app.wizard_failures import answer_failure, store_failure
from app.wizard_view import WizardAction, WizardButton, WizardPage, WizardView
from engine.errors import DownloadCancelled
from engine.models.model_catalog import CatalogModel

T = TypeVar("T")
_ALL_STEPS = tuple(WizardPage)
_STEPS_WITHOUT_DOWNLOAD = (WizardPage.CHECK, WizardPage.CHOOSE, WizardPage.ANSWER)


class JobsPort(Protocol):
    """Work off the GUI thread; implemented by `app.background.JobRunner`."""

    def run(self, job: Callable[[], T], on_done: Callable[[T], None]) -> None:
        """Do `job` elsewhere, then `on_done(result)` on the GUI thread."""
        ...


class StorePort(Protocol):
    """What the wizard asks of the downloads; implemented by `ModelStoreThread`."""

    def ensure(self, model: CatalogModel) -> None:
        """Fetch what is missing and check it."""
        ...

    def stop(self, model: CatalogModel) -> None:
        """Pause or cancel; what has arrived is kept."""
        ...

    def delete(self, model: CatalogModel) -> None:
        """Remove all files of the model."""
        ...

    def is_running(self, model: CatalogModel) -> bool:
        """Whether it is being fetched or checked."""
        ...

    def is_on_disk(self, model: CatalogModel) -> bool:
        """Whether it is complete and was checked."""
        ...

    def held_bytes(self, model: CatalogModel) -> int:
        """Bytes that are here already."""
        ...

    def folder(self, model: CatalogModel) -> Path:
        """Where it lies."""
        ...


class WizardController(QObject):
    """The wizard's state; all slots run on the GUI thread.

    Signals:
        model_ready(object, str): path and model_id (`DEMO_MODEL_ID`, a catalog id, or the path
            itself); the receiver loads it, and forwards the engine's events to `on_engine_event`.
        closed(): the wizard's window is gone; a download goes on.
    """

    model_ready = Signal(object, str)
    closed = Signal()

    def __init__(
        self,
        view: WizardView,
        store: StorePort,
        jobs: JobsPort,
        engine: EnginePort,
        services: WizardServices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.view = view
        self._store = store
        self._jobs = jobs
        self._engine = engine
        self._services = services
        self._page = WizardPage.CHECK
        self._is_open = False
        self._choices = Choices(services, store)
        self._model: CatalogModel | None = None
        self._board: DownloadBoard | None = None
        self._ready: tuple[Path, str, str] | None = None
        self._answer: FirstAnswer | None = None

    @property
    def is_open(self) -> bool:
        """Whether the window is there."""
        return self._is_open

    def start(self) -> None:
        """Open the window: at the running or paused download if there is one, else at the check."""
        self._is_open = True
        running = self._model is not None and self._store.is_running(self._model)
        if running or (self._board is not None and self._board.paused):
            self._show_download()
        else:
            self._open_check()
        self.view.open_window()

    def pause_download(self) -> None:
        """Pause what is being fetched, from outside of the wizard."""
        self._stop_download()
        self._show_download_if_open()

    def resume_download(self, model: CatalogModel) -> None:
        """Fetch the rest of a model, from outside of the wizard."""
        if self._board is None or self._model is not model:
            self._prepare_download(model)
        else:
            self._board.start_again()
        self._store.ensure(model)
        self._show_download_if_open()

    def _show_download_if_open(self) -> None:
        if self._is_open and self._page in (WizardPage.DOWNLOAD, WizardPage.VERIFY):
            self._show_download()

    @Slot(str)
    def on_action(self, action: str) -> None:
        """A button was pressed."""
        match WizardAction(action):
            case WizardAction.NEXT:
                self._next()
            case WizardAction.BACK:
                self._open_check() if self._is_choosing() else self._open_choose()
            case WizardAction.CANCEL:
                self._stop_download()
                self._board = None
                self._open_choose()
            case WizardAction.PAUSE:
                self._stop_download()
                self._show_download()
            case WizardAction.RESUME | WizardAction.RETRY:
                self._retry()
            case WizardAction.CHECK_AGAIN:
                self._open_check()
            case WizardAction.TRY_DEMO:
                self._try_demo()
            case WizardAction.DELETE_PARTIAL:
                if (model := self._choices.model) is not None:
                    self._store.delete(model)
            case WizardAction.START_CHATTING:
                self.view.close_window()
                self.on_closing()

    @Slot(str)
    def on_option_chosen(self, option_id: str) -> None:
        """Another way to get a model was picked."""
        self._choices.chosen_id = option_id
        if self._is_choosing():
            self._open_choose()

    @Slot(str)
    def on_path_chosen(self, path: str) -> None:
        """A folder or file of the user was picked: open and check it."""
        self._choices.begin_path(Path(path))
        self._open_choose()
        self._jobs.run(self._choices.local_job(), self._on_local_planned)

    @Slot()
    def on_closing(self) -> None:
        """The window closes; a download goes on, and is shown again by `start`."""
        if not self._is_open:
            return
        self._is_open = False
        if self._answer is not None:
            self._answer.cancel()
            self._answer = None
        self.closed.emit()

    @Slot(object)
    def on_store_event(self, event: StoreEvent) -> None:
        """Something happened in the model store."""
        if isinstance(event, ModelDeleted | DeleteFailed):
            if self._is_choosing():
                self._open_choose()
            return
        if self._model is None or event.model_id != self._model.model_id:
            return
        match event:
            case StoreAdvanced(progress=progress):
                # After a stop, events that were on their way no longer count.
                if self._board is not None and self._store.is_running(self._model):
                    self._board.take(progress)
                    self._refresh_download()
            case ModelStored(path=path):
                if self._is_open and self._page in (WizardPage.DOWNLOAD, WizardPage.VERIFY):
                    self._open_answer(path, event.model_id, self._model.label)
            case StoreFailed(error=DownloadCancelled()):
                pass  # asked for here, or by the end of the app
            case StoreFailed(error=error):
                if self._is_open and self._page in (WizardPage.DOWNLOAD, WizardPage.VERIFY):
                    held_bytes = self._store.held_bytes(self._model)
                    self.view.show_failure(store_failure(error, self._model, held_bytes))
                    self._show_failure_buttons()

    def on_engine_event(self, event: WorkerEvent) -> None:
        """An event of the engine thread; all may be given, others than ours are ignored."""
        answer = self._answer
        if answer is None or not answer.take(event):
            return
        if answer.error is not None:
            self.view.show_failure(answer_failure(answer.error))
            self._show_failure_buttons()
        else:
            self._show_answer(answer)

    def _is_choosing(self) -> bool:
        return self._page is WizardPage.CHOOSE and self._is_open

    def _set_page(self, page: WizardPage) -> None:
        self._page = page
        steps = _ALL_STEPS if self._choices.model is not None else _STEPS_WITHOUT_DOWNLOAD
        self.view.show_page(page, steps)

    def _next(self) -> None:
        if self._page is WizardPage.CHECK:
            self._open_choose()
            return
        model = self._choices.model
        if model is not None and not self._store.is_on_disk(model):
            self._begin_download(model)
        elif model is not None:
            self._open_answer(self._store.folder(model), model.model_id, model.label)
        elif self._choices.chosen_id == DEMO_MODEL_ID and self._services.demo_dir is not None:
            self._open_answer(
                self._services.demo_dir, DEMO_MODEL_ID, translate("Wizard", "The demo model")
            )
        elif self._choices.chosen_id == PATH_ID and (local := self._choices.local) is not None:
            self._open_answer(local.path, str(local.path), local.label)

    # --- check and choose

    def _open_check(self) -> None:
        self._set_page(WizardPage.CHECK)
        report = self._choices.report
        self.view.show_checks(report.items if report is not None else (), running=True)
        again = wizard_button(WizardAction.CHECK_AGAIN, enabled=False)
        self.view.show_buttons(
            (
                *self._demo_buttons(),
                again,
                wizard_button(WizardAction.NEXT, enabled=False, primary=True),
            )
        )
        self._jobs.run(self._choices.check_job(), self._on_checked)

    def _on_checked(self, outcome: CheckOutcome) -> None:
        self._choices.take_check(outcome)
        if self._page is not WizardPage.CHECK:
            return
        can_continue = outcome.report.can_continue
        self.view.show_checks(outcome.report.items, running=False)
        again = wizard_button(WizardAction.CHECK_AGAIN, primary=not can_continue)
        onward = wizard_button(WizardAction.NEXT, enabled=can_continue, primary=can_continue)
        self.view.show_buttons((*self._demo_buttons(), again, onward))

    def _demo_buttons(self) -> tuple[WizardButton, ...]:
        """The demo model needs nothing that the check looks for, so it can be tried at once."""
        if self._services.demo_dir is None:
            return ()
        return (wizard_button(WizardAction.TRY_DEMO),)

    def _open_choose(self) -> None:
        self._set_page(WizardPage.CHOOSE)
        self.view.show_options(self._choices.options(), self._choices.chosen_id)
        self.view.show_buttons(
            (
                wizard_button(WizardAction.BACK),
                WizardButton(
                    WizardAction.NEXT,
                    self._choices.next_label(),
                    enabled=self._choices.can_go_on(),
                    primary=True,
                ),
            )
        )

    def _on_local_planned(self, outcome: LocalOutcome) -> None:
        self._choices.take_local(outcome)
        if self._is_choosing():
            self._open_choose()

    # --- download and verify

    def _begin_download(self, model: CatalogModel) -> None:
        self._prepare_download(model)
        self._store.ensure(model)
        self._show_download()

    def _prepare_download(self, model: CatalogModel) -> None:
        report = self._choices.report
        missing_bytes = model.total_bytes - self._store.held_bytes(model)
        after_bytes = None if report is None else report.free_disk_bytes - missing_bytes
        has_demo = self._services.demo_dir is not None
        self._model = model
        self._board = DownloadBoard(model, after_bytes, offers_demo=has_demo)

    def _stop_download(self) -> None:
        if self._model is not None and self._board is not None:
            self._store.stop(self._model)
            self._board.paused = True

    def _retry(self) -> None:
        if self._page is WizardPage.ANSWER and self._ready is not None:
            self._open_answer(*self._ready)
        elif self._model is not None and self._board is not None:
            self._board.start_again()
            self._store.ensure(self._model)
            self._show_download()

    def _show_download(self) -> None:
        board = self._board
        if board is None:
            return
        self._set_page(WizardPage.VERIFY if board.is_verifying else WizardPage.DOWNLOAD)
        stop = wizard_button(WizardAction.PAUSE)
        if board.paused:
            stop = wizard_button(WizardAction.RESUME, primary=True)
        onward = wizard_button(WizardAction.NEXT, enabled=False, primary=not board.paused)
        self.view.show_buttons((wizard_button(WizardAction.CANCEL), stop, onward))
        self._fill_download(board)

    def _refresh_download(self) -> None:
        board = self._board
        if board is None:
            return
        wanted = WizardPage.VERIFY if board.is_verifying else WizardPage.DOWNLOAD
        if self._page is wanted:
            self._fill_download(board)
        elif self._page in (WizardPage.DOWNLOAD, WizardPage.VERIFY):
            self._show_download()

    def _fill_download(self, board: DownloadBoard) -> None:
        if self._page is WizardPage.VERIFY:
            self.view.show_verify(board.verify_page())
        else:
            self.view.show_download(board.download_page())

    def _show_failure_buttons(self) -> None:
        self.view.show_buttons(
            (
                wizard_button(WizardAction.BACK),
                wizard_button(WizardAction.RETRY, primary=True),
            )
        )

    def _try_demo(self) -> None:
        if self._services.demo_dir is not None:
            self.model_ready.emit(self._services.demo_dir, DEMO_MODEL_ID)
            self.view.close_window()
            self.on_closing()

    # --- first answer

    def _open_answer(self, path: Path, model_id: str, label: str) -> None:
        self._ready = (path, model_id, label)
        self._answer = FirstAnswer(self._engine, label)
        self._set_page(WizardPage.ANSWER)
        self._show_answer(self._answer)
        self.model_ready.emit(path, model_id)

    def _show_answer(self, answer: FirstAnswer) -> None:
        self.view.show_answer(answer.page())
        # Never a dead end: the chat can be opened while the model still loads.
        start = wizard_button(WizardAction.START_CHATTING, primary=answer.done)
        self.view.show_buttons((start,))
