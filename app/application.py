"""Builds the app from its parts and connects them; nothing is decided here.

The window is shown before the engine is imported; threads end before what they write to is closed.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from app.attachments import Attachments
from app.background import Deadline, GuiCalls, JobRunner
from app.chat_controller import ChatController, ChatPorts
from app.chat_files import ChatFiles
from app.chat_view import Notice
from app.context_room import ContextRoom
from app.conversation import Conversation
from app.conversation_list import ConversationList
from app.engine_events import (
    GraphRefused,
    LoadAdvanced,
    LoadFailed,
    ModelLoaded,
    ModelUnloaded,
    WorkerEvent,
)
from app.engine_thread import EngineFactory, EngineThread
from app.error_text import COPY_DETAILS, USE_CPU, error_details
from app.exchange_edits import ExchangeEdits
from app.free_memory import return_free_memory
from app.gpu_memory import read_gpu_memory
from app.language import Language, translate
from app.language_switch import LanguageSwitch
from app.logging_setup import UncaughtErrors
from app.memory_estimate import estimate_memory
from app.model_controller import Estimator, ModelController, ModelPorts
from app.model_dialog import ask_for_model
from app.model_downloads import ModelDownloads
from app.model_records import (
    LoadMarker,
    ModelRecord,
    ModelsOnDisk,
    added_model,
    known_models,
    look_at_disk,
)
from app.notice_actions import AppActions, ChatActions, NoticeActions
from app.paths import Paths, resource_dir
from app.preset_controller import PresetController
from app.render.drawing_process import DrawingProcess, child_command
from app.settings_controller import SettingsController
from app.settings_file import LoadedProfile
from app.status_board import StatusBoard
from app.store_thread import StoreOpened, StoreThread, StoreTrouble
from app.ui.main_window import MainWindow
from app.ui.theme import Theme
from app.ui.warm_up import WarmUp
from app.window_wiring import connect_window
from app.wizard_host import WizardHost
from engine.api import Failed, Finished

TICK_MS = 1000
MAX_RESTARTS = 2
"""A GPU that is lost again after this many restarts needs more than another one."""

_OnModels = Callable[[tuple[ModelRecord, ...], ModelsOnDisk], None]
_END_S = 2.0
_STORE_END_S = 5.0


@dataclass(frozen=True, slots=True)
class StartOptions:
    """What the command line asked for; `only_models` replaces the picker's list (demo, tests)."""

    open_chat: str = ""
    model_path: Path | None = None
    only_models: tuple[ModelRecord, ...] | None = None
    estimate: Estimator = estimate_memory
    restarts: int = 0
    """How many times the app was restarted after a lost GPU without a reply since."""


class Application(QObject):
    """The running app; lives in the GUI thread.

    `relaunch(chat_id, restarts)` replaces the process, `leave(exit_code)` ends the event loop.
    """

    def __init__(
        self,
        paths: Paths,
        loaded: LoadedProfile,
        factory: EngineFactory,
        options: StartOptions,
        errors: UncaughtErrors,
        language: Language | None = None,
    ) -> None:
        super().__init__()
        self._paths = paths
        self._options = options
        self._errors = errors
        self._closed = False
        self._restarts = options.restarts
        self._restart_wanted = False
        self._seen_id = self._wanted_id = ""
        self.relaunch: Callable[[str, int], None] = lambda chat_id, restarts: None
        self.leave: Callable[[int], None] = QApplication.exit
        self.language = language or Language(resource_dir() / "translations")
        self.language.use(loaded.profile.settings.language)
        self.theme = Theme(resource_dir(), self)
        self.window = MainWindow(self.theme)
        self._calls = GuiCalls(self)
        self._jobs = JobRunner(self._calls.post)
        self._drawing = JobRunner(self._calls.post, "drawing")
        self._drawn_by = DrawingProcess(child_command())
        self.theme.formulas.draw_with(self._drawing.run, self._drawn_by.formula)
        self.theme.code_colors.color_with(self._drawing.run, self._drawn_by.colors)
        self._store = StoreThread(paths.database_file, self._calls.post, self._on_store_event)
        self.engine = EngineThread(factory, self._on_worker_event, self)
        self._build_controllers(loaded)
        self._connect_window()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_tick)
        for number, text in enumerate(loaded.notices):
            self.window.show_notice(Notice(f"profile-{number}", text, "warn"))

    def _build_controllers(self, loaded: LoadedProfile) -> None:
        view = self.window
        self._status = StatusBoard(view)
        self.settings = SettingsController(
            view, self._jobs, self._paths.settings_file, loaded.profile
        )
        model_ports = ModelPorts(
            engine=self.engine,
            settings=self.settings,
            status=self._status,
            jobs=self._jobs,
            marker=LoadMarker(self._paths.load_marker_file),
            estimate=self._options.estimate,
            gpu_memory=read_gpu_memory,
            offer_download=lambda model_id: self.open_wizard(),
        )
        self.models = ModelController(view, model_ports)
        self.chats = ConversationList(view, self._store)
        self.files = ChatFiles(view, self.chats, self._jobs)
        ports = ChatPorts(
            engine=self.engine,
            chats=self.chats,
            models=self.models,
            settings=self.settings,
            status=self._status,
            later=self._calls.later,
        )
        self.chat = ChatController(view, ports)
        self.edits = ExchangeEdits(view, ports, self.chat)
        self.room = ContextRoom(view, ports, self.chat, self.edits, self._jobs)
        self.attachments = Attachments(view, ports, self._jobs, submit=self.chat.on_submitted)
        self.settings.listen(self.models.on_settings_changed)
        self.presets = PresetController(view, self.settings)
        self.presets.chat_changed = self.chats.on_settings
        self.chats.settings_shown = self._on_settings_shown
        self.downloads = ModelDownloads(view, self.models)
        app_actions = AppActions(
            self.restart, self._copy_details, self.open_wizard, self._on_resume_download
        )
        chat_actions = ChatActions(self.chat, self.edits, self.room, self.attachments, view)
        self._actions = NoticeActions(self.models, chat_actions, self.settings, app_actions)
        self.wizard = WizardHost(
            self.window,
            self.theme,
            self._paths.models_dir,
            resource_dir(),
            self.downloads,
            self.engine,
            self._jobs,
            self,
        )
        self.wizard.model_ready = self._on_wizard_model
        tellers = (self.models, self._status, self.chats, self.chat, self.presets)
        show_again = [teller.show_again for teller in tellers]
        switch = LanguageSwitch(self.language, view, show_again, self.wizard.speak_anew, self)
        self.settings.listen(switch.on_settings_changed)

    def _connect_window(self) -> None:
        window = self.window
        connect_window(self)
        window.add_model_requested.connect(self._on_add_model)
        window.pause_download_requested.connect(self.wizard.pause)
        window.resume_download_requested.connect(self._on_resume_download)
        window.action_requested.connect(self._actions.on_action)
        window.closing.connect(self._on_window_closing)

    def show(self) -> None:
        """Show the window, then start the threads; the engine is not imported before that."""
        state = self.settings.profile.window
        self.window.restore_window_state(state)
        if not state.geometry:
            self.window.place_first(self.window.screen().availableGeometry())
        self.window.show_settings(self.settings.settings)
        self.chats.start(self._options.open_chat, self.settings.profile.shown_chat_id)
        self.window.show()
        QTimer.singleShot(0, self._on_shown)

    @Slot()
    def _on_shown(self) -> None:
        if self._closed:
            return  # closed by a quick hand before anything was started
        self._store.start()
        self.engine.start()
        self._timer.start(TICK_MS)
        self._drawing.run(self._drawn_by.warm_up, lambda _: None)
        self._look_for_models(self._on_first_models)
        WarmUp(self.theme, self.window)
        # What is there by now stays to the end: no full collection need go through it, 60 ms each.
        gc.freeze()

    def _records(self) -> tuple[ModelRecord, ...]:
        if self._options.only_models is not None:
            return self._options.only_models
        added = self.settings.profile.added_models
        if self._options.model_path is not None:
            added = (*added, added_model(self._options.model_path))
        return known_models(self._paths.models_dir, resource_dir() / "demo_model", added)

    def _look_for_models(self, then: _OnModels) -> None:
        records = self._records()
        folder = self._paths.models_dir
        self._jobs.run(partial(look_at_disk, records, folder), partial(then, records))

    def _on_first_models(self, records: tuple[ModelRecord, ...], disk: ModelsOnDisk) -> None:
        self.models.set_models(records, disk)
        if self._options.model_path is not None:
            self.models.select(added_model(self._options.model_path).model_id)
            return
        self.models.load_at_start()
        demo_only = all(record.is_demo for record in records if record.model_id in disk.present)
        # The demo answers meanwhile; the wizard comes by itself at the first start only.
        if not disk.present or (demo_only and not self.settings.profile.active_model_id):
            self.open_wizard()

    @Slot(str)
    def _on_resume_download(self, model_id: str) -> None:
        self.wizard.resume(model_id, self.settings.settings.context_tokens)

    def open_wizard(self) -> None:
        """Show the first-run wizard, which also adds and downloads models later on."""
        self.wizard.open(self.settings.settings.context_tokens)

    def _on_settings_shown(self, chat: Conversation) -> None:
        self.presets.show_chat(chat.settings, is_new=not chat.exchanges)

    def _on_wizard_model(self, path: Path, model_id: str) -> None:
        if self.models.shelf.record(model_id) is None:
            model = added_model(path)
            self.settings.add_model(model)
            model_id = model.model_id
        self._wanted_id = model_id
        self._look_for_models(partial(self._use_model, model_id))

    def _use_model(
        self, model_id: str, records: tuple[ModelRecord, ...], disk: ModelsOnDisk
    ) -> None:
        self.models.set_models(records, disk)
        if self._wanted_id == model_id:
            self.models.use(model_id)

    @Slot(str)
    def on_model_selected(self, model_id: str) -> None:
        """Use this model, whatever was wanted before and is still being looked for."""
        self._wanted_id = ""
        self.models.select(model_id)

    def _on_add_model(self) -> None:
        path = ask_for_model(self.window)
        if path is not None:
            self._on_wizard_model(path, "")

    def _on_worker_event(self, event: WorkerEvent) -> None:
        if isinstance(event, Failed | LoadFailed):
            self._errors.details = error_details(event.error)
        match event:
            case LoadAdvanced() | ModelLoaded() | LoadFailed() | ModelUnloaded() | GraphRefused():
                self.models.on_worker_event(event)
            case _:
                if isinstance(event, Finished):
                    self._restarts = 0
                self.chat.on_engine_event(event)
        self.wizard.on_engine_event(event)

    def _on_store_event(self, event: StoreOpened | StoreTrouble) -> None:
        match event:
            case StoreOpened():
                for number, text in enumerate(event.notices):
                    kind = "info" if event.on_disk else "error"
                    self.window.show_notice(Notice(f"store-{number}", text, kind))
            case StoreTrouble(text=""):
                self.window.hide_notice("saving")
            case StoreTrouble():
                self.window.show_notice(Notice("saving", event.text, "error"))

    @Slot()
    def _on_tick(self) -> None:
        self.settings.set_shown_chat(self.shown_chat_id)
        self.settings.tick()
        self.models.tick()
        self.attachments.tick()
        if self.chats.shown_id != self._seen_id:
            self._seen_id = self.chats.shown_id
            self._jobs.run(return_free_memory, lambda _: None)

    def on_uncaught_error(self) -> None:
        """Say that something went wrong; may be called on any thread."""
        self._calls.post(self._show_uncaught_error)

    def _show_uncaught_error(self) -> None:
        text = translate(
            "App",
            "Something went wrong that Thinkpane did not expect. Your chats are kept; if "
            "it happens again, restart it and report the details.",
        )
        self.window.show_notice(Notice("uncaught", text, "error", (COPY_DETAILS,)))

    def _copy_details(self) -> None:
        QGuiApplication.clipboard().setText(self._errors.details)

    def raise_window(self) -> None:
        """Bring the window to the front, for a second start."""
        self.window.show()
        self.window.raise_()
        self.window.activateWindow()

    def restart(self) -> None:
        """Close and start again in the same chat; not without end."""
        if self._restarts >= MAX_RESTARTS:
            text = translate(
                "App",
                "Thinkpane was restarted {max_restarts} times and the GPU still does not "
                "answer. Your chats are kept; restart the computer, or use the processor.",
            ).format(max_restarts=MAX_RESTARTS)
            self.window.show_notice(Notice("restart", text, "error", (USE_CPU,)))
            return
        self._restart_wanted = True
        self.window.close()

    @property
    def shown_chat_id(self) -> str:
        """The chat to come back to at the next start; "" for one without a question."""
        shown = self.chats.shown
        if shown.exchanges and not shown.temporary:
            return shown.conversation_id
        return self.chats.coming_id  # closed before the chat of last time was there

    @Slot()
    def _on_window_closing(self) -> None:
        # The window goes at once; threads end after this event.
        QTimer.singleShot(0, self.shut_down)

    @Slot()
    def shut_down(self) -> None:
        """Stop the threads in order, keep every word, leave the event loop."""
        if self._closed:
            return
        self._closed = True
        exit_code = 1
        try:
            exit_code = self._end_threads()
        finally:
            self.leave(exit_code)

    def _end_threads(self) -> int:
        """The steps of `shut_down`; the exit code is 1 where something could not be stored."""
        self._timer.stop()
        self.settings.set_window(self.window.window_state())
        self.settings.set_shown_chat(self.shown_chat_id)
        deadline = Deadline(_END_S)
        engine_ended = self.engine.shutdown(deadline.left_s)
        self.chat.close()
        downloads_ended = self.wizard.shutdown(deadline.left_s)
        self._jobs.close(deadline.left_s)
        self._drawn_by.close()
        self._drawing.close(deadline.left_s)
        self.chats.close()
        stored = self._store.close(_STORE_END_S)
        self._calls.close()
        self.settings.save_now()
        exit_code = 0 if stored else 1
        if self._restart_wanted:
            self.relaunch(self.shown_chat_id, self._restarts + 1)
        if not (engine_ended and downloads_ended):
            # A thread hangs in a driver or a disk call; destroying it would abort the process.
            os._exit(exit_code)
        return exit_code
