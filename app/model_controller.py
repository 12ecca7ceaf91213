"""The models: where each stands, which one is in use, loading, unloading, memory.

Qt-free. Where each model stands is kept by `shelf`, which `app.model_downloads` changes too; chats
ask `ensure_ready` before a reply and hear of the outcome through `ready` and `failed`. Replacing
the engine leaves chats alone.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from app.chat_view import ChatView, ModelState, Notice
from app.engine_events import (
    EnginePort,
    GraphRefused,
    LoadAdvanced,
    LoadFailed,
    LoadRequest,
    ModelLoaded,
    ModelUnloaded,
)
from app.error_text import CHOOSE_MODEL, RETRY, size_text
from app.gpu_memory import GpuMemory
from app.language import QT_TRANSLATE_NOOP, translate
from app.memory_estimate import MemoryEstimate
from app.model_notices import load_failed, moved_away, why_failed
from app.model_records import LoadMarker, ModelRecord, ModelsOnDisk
from app.model_shelf import LOADABLE, ModelShelf
from app.settings import Settings
from app.settings_controller import Jobs, SettingsController
from app.status_board import StatusBoard
from engine.api import Capability, EngineInfo, GenerationControl
from engine.errors import EngineError, LoadCancelled

NO_MODEL = QT_TRANSLATE_NOOP(
    "Models", "There is no model on this computer yet. Your question is kept."
)
GRAPH_REFUSED = QT_TRANSLATE_NOOP(
    "Models", "The GPU cannot replay its work as a graph here; answers come a little slower."
)
Estimator = Callable[[Path, str, int, EngineInfo | None], MemoryEstimate]


@dataclass(frozen=True, slots=True)
class ModelPorts:
    """What the controller works with besides the window."""

    engine: EnginePort
    settings: SettingsController
    status: StatusBoard
    jobs: Jobs
    marker: LoadMarker
    estimate: Estimator
    gpu_memory: Callable[[], GpuMemory | None]
    offer_download: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic


class ModelController:
    """Holds one ModelState per model and the one loaded engine.

    `ready(info)` is called when a model can answer, `failed(text)` when the one asked for cannot,
    `advanced()` when `loading` tells something new.
    """

    def __init__(self, view: ChatView, ports: ModelPorts) -> None:
        self._view = view
        self._ports = ports
        self.shelf = ModelShelf(view, ports.settings.profile.active_model_id)
        self._disk_known = False
        self._load_id = ""
        self._loading_id = ""
        self._load_control: GenerationControl | None = None
        self._info: EngineInfo | None = None
        self._capabilities: dict[str, frozenset[Capability]] = {}
        self._users = 0
        self._asks_gpu_memory = False
        self._loaded_with = ("", 0)
        self._last_used_at = ports.clock()
        self.ready: Callable[[EngineInfo], None] = lambda info: None
        self.failed: Callable[[str], None] = lambda text: None
        self.advanced: Callable[[], None] = lambda: None

    @property
    def active_id(self) -> str:
        """The model that answers, or will once it is there."""
        return self.shelf.active_id

    @property
    def info(self) -> EngineInfo | None:
        """The loaded model; None while none can answer."""
        return self._info if self._load_id == "" else None

    @property
    def loading(self) -> tuple[str, float] | None:
        """Label of the model that is being loaded, and how far that is (0..1)."""
        if not self._load_id:
            return None
        return self.shelf.label(self._loading_id), self.shelf.progress(self._loading_id)

    def state(self, model_id: str) -> ModelState:
        """Where one model stands."""
        return self.shelf.state(model_id)

    def set_models(self, records: Iterable[ModelRecord], disk: ModelsOnDisk) -> None:
        """Take over what the disk holds; running downloads and the loaded model stay."""
        self._disk_known = True
        self.shelf.set_models(records, disk.present, disk.held)
        if self.state(self.active_id) is ModelState.ABSENT:
            self._replace_absent()
        self.shelf.show()
        self.refresh_estimate()

    def _replace_absent(self) -> None:
        """Use a model that is here; say so where the missing one is the user's own."""
        missing = self.shelf.record(self.active_id)
        self.shelf.active_id = (
            self.shelf.first_usable()
            or ("" if missing is None else missing.model_id)
            or next(iter(self.shelf), "")
        )
        if missing is not None and missing.is_added:
            self._view.show_notice(moved_away(missing))

    def show_again(self) -> None:
        """Show everything to a window that has forgotten it."""
        self.shelf.show()
        if self.info is not None:
            self._ports.status.change(model=self.shelf.label(self.active_id))
        self._view.show_capabilities(self._possible(self.active_id))
        self.refresh_estimate()

    def load_at_start(self) -> None:
        """Load the model of last time, unless the app died of loading it."""
        died_of = self._ports.marker.left_over()
        self._ports.marker.clear()
        if died_of and died_of == self.active_id:
            label = self.shelf.label(died_of)
            text = translate(
                "Models",
                "Thinkpane ended unexpectedly while it loaded {label}, so it was not loaded "
                "again by itself. Your chats are untouched; try again, or choose another "
                "model.",
            ).format(label=label)
            self._view.show_notice(Notice("model", text, "warn", (RETRY, CHOOSE_MODEL)))
            self.failed(text)
        elif self.state(self.active_id) in LOADABLE:
            self._load(self.active_id)
        elif self.state(self.active_id) is ModelState.ABSENT:
            self.failed(translate("Models", NO_MODEL))

    def select(self, model_id: str) -> None:
        """Use this model: load it, or offer its download where it is absent."""
        if self.shelf.record(model_id) is None:
            return
        state = self.state(model_id)
        if state is ModelState.ABSENT:
            self._offer(model_id)
            self.shelf.show()
            return
        self.shelf.active_id = model_id
        self._ports.settings.set_active_model(model_id)
        if state in LOADABLE:
            self._load(model_id)
        self.shelf.show()
        self.refresh_estimate()

    def use(self, model_id: str) -> None:
        """Select a model whose files are new or newly named; one that is loaded is loaded again.

        Not the demo model: its files came with the app, and it may be answering already.
        """
        was_ready = self.state(model_id) is ModelState.READY
        self.select(model_id)
        record = self.shelf.record(model_id)
        if was_ready and record is not None and not record.is_demo:
            self.reload()

    def ensure_ready(self) -> bool:
        """Whether the active model can answer now; if not it is loaded, or the user is told why."""
        if not self._disk_known:
            return False  # a quick user asks before the disk was looked at; load_at_start follows
        state = self.state(self.active_id)
        if state is ModelState.READY and self._load_id == "":
            return True
        if state in LOADABLE:
            self._load(self.active_id)
        elif state is ModelState.ABSENT:
            self.failed(translate("Models", NO_MODEL))
            self._offer(self.active_id)
        return False

    def reload(self) -> None:
        """Load the active model again, for example with another context length."""
        if self.state(self.active_id) in (*LOADABLE, ModelState.READY):
            self._load(self.active_id)

    def free_memory(self) -> None:
        """Give the memory back; the next question loads the model again."""
        if self._load_control is not None:
            self._load_control.cancel()
        self._ports.engine.unload()

    def begin_use(self) -> None:
        """A reply begins: the model stays."""
        self._users += 1

    def end_use(self) -> None:
        """A reply has ended: the idle time counts from here."""
        self._users = max(0, self._users - 1)
        self._last_used_at = self._ports.clock()

    def tick(self) -> None:
        """Called every second or so: free what has been idle long enough, read GPU memory."""
        idle_s = self._ports.settings.settings.idle_unload_minutes * 60
        idle = self._ports.clock() - self._last_used_at
        if self.info is not None and not self._users and idle_s and idle >= idle_s:
            self._last_used_at = self._ports.clock()
            self._ports.engine.unload()
        if self._info is not None and self._info.on_gpu and not self._asks_gpu_memory:
            # A driver that hangs must not fill the queue that settings are saved by.
            self._asks_gpu_memory = True
            self._ports.jobs.run(self._ports.gpu_memory, self._on_gpu_memory)

    def on_settings_changed(self, old: Settings, new: Settings) -> None:
        """Context length and device take effect at the next load."""
        if (old.device, old.context_tokens) == (new.device, new.context_tokens):
            return
        self.refresh_estimate()
        if (new.device, new.context_tokens) == self._loaded_with:
            self._view.hide_notice("reload")  # changed back: what is loaded is what is wanted
        elif self._info is not None:
            text = translate("Models", "The change takes effect when the model is loaded again.")
            actions = (("reload_model", QT_TRANSLATE_NOOP("Actions", "Reload model")),)
            self._view.show_notice(Notice("reload", text, actions=actions))

    def refresh_estimate(self) -> None:
        """Show what the active model needs with the current settings."""
        record = self.shelf.record(self.active_id)
        absent = self.state(self.active_id) in (ModelState.ABSENT, ModelState.DOWNLOADING)
        if record is None or absent:
            self._view.show_memory_plan("", True)
            return
        settings = self._ports.settings.settings
        wanted = (record.path, settings.device, settings.context_tokens)
        job = partial(self._ports.estimate, *wanted, self._info)
        self._ports.jobs.run(job, partial(self._on_estimate, self.active_id))

    def remove(self, model_id: str) -> None:
        """Take a model of the user off the list; its files stay."""
        record = self.shelf.record(model_id)
        if record is None or not record.is_added:
            return
        if model_id == self.active_id:
            if self._users:
                text = translate(
                    "Models", "{label} is answering. Stop the reply first, then remove it."
                ).format(label=record.label)
                self._view.show_notice(Notice("removed", text, "warn"))
                return
            if self._info is not None or self._load_id:
                self.free_memory()
        self._ports.settings.remove_model(model_id)
        self.shelf.forget(model_id)
        if model_id == self.active_id:
            self.shelf.active_id = self.shelf.first_usable() or next(iter(self.shelf), "")
            self._ports.settings.set_active_model(self.active_id)
            self.shelf.show()
            self.refresh_estimate()
        text = translate("Models", "{label} is off the list. Its files stay at {path}.").format(
            label=record.label, path=record.path
        )
        self._view.show_notice(Notice("removed", text))

    def on_worker_event(
        self, event: LoadAdvanced | ModelLoaded | LoadFailed | ModelUnloaded | GraphRefused
    ) -> None:
        """Follow the engine; events of a load that was replaced are dropped."""
        match event:
            case ModelUnloaded():
                # A load that was asked for after the unload has forgotten the old model already.
                if not self._load_id:
                    self._forget_loaded()
            case LoadAdvanced() if event.load_id == self._load_id:
                done, total = event.progress.done_bytes, event.progress.total_bytes
                words = translate("Models", "{done} of {total}")
                detail = words.format(done=size_text(done), total=size_text(total))
                self.shelf.change(
                    self._loading_id, ModelState.LOADING, done / max(1, total), detail
                )
                self.advanced()
            case ModelLoaded() if event.load_id == self._load_id:
                self._on_loaded(event.info)
            case LoadFailed() if event.load_id == self._load_id:
                self._on_load_failed(event.error)
            case GraphRefused():
                self._view.show_notice(Notice("graph", translate("Models", GRAPH_REFUSED)))

    def _offer(self, model_id: str) -> None:
        """Help to a model that is not on the disk."""
        record = self.shelf.record(model_id)
        if record is None or record.in_catalog:
            self._ports.offer_download(model_id)
            return
        self._view.show_notice(moved_away(record))

    def _load(self, model_id: str) -> None:
        record = self.shelf.record(model_id)
        assert record is not None, "only a model of the shelf is loaded"
        if self._load_control is not None:
            self._load_control.cancel()
        self._forget_loaded()
        self._load_id, self._loading_id = uuid.uuid4().hex, model_id
        settings = self._ports.settings.settings
        self._loaded_with = (settings.device, settings.context_tokens)
        self._view.hide_notice("model")
        self._view.hide_notice("reload")
        self.shelf.change(model_id, ModelState.LOADING)
        self._ports.marker.set(model_id)
        self._view.show_capabilities(self._possible(model_id))
        self._load_control = self._ports.engine.load(
            LoadRequest(
                self._load_id,
                model_id,
                record.path,
                settings.device,
                settings.context_tokens,
            )
        )
        self.advanced()

    def _possible(self, model_id: str) -> frozenset[Capability]:
        """What an earlier load found; of a new model nothing is known yet."""
        return self._capabilities.get(model_id, frozenset(Capability))

    def _forget_loaded(self) -> None:
        """No model can answer now; whichever could is on disk again."""
        for model_id in self.shelf:
            if self.state(model_id) is ModelState.READY:
                self.shelf.change(model_id, ModelState.ON_DISK)
        if self._load_id:
            self.shelf.change(self._loading_id, ModelState.ON_DISK)
        self._end_load()
        self._info = None
        self._ports.status.forget_model()
        self.shelf.show()

    def _end_load(self) -> None:
        self._load_id, self._loading_id, self._load_control = "", "", None
        self._ports.marker.clear()

    def _on_loaded(self, info: EngineInfo) -> None:
        model_id = self._loading_id
        self._end_load()
        self._info = info
        self._capabilities[model_id] = info.capabilities
        self._view.show_capabilities(info.capabilities)
        self._last_used_at = self._ports.clock()
        self.shelf.change(model_id, ModelState.READY)
        self._ports.status.change(
            model=self.shelf.label(model_id),
            device=info.device,
            capacity_tokens=info.capacity_tokens,
        )
        self.ready(info)

    def _on_load_failed(self, error: EngineError) -> None:
        model_id = self._loading_id
        self._end_load()
        if isinstance(error, LoadCancelled):
            self.shelf.change(model_id, ModelState.ON_DISK)
        else:
            self.shelf.change(model_id, ModelState.FAILED, detail=partial(why_failed, error))
            self._view.show_notice(load_failed(error, self.shelf.record(model_id)))
        self.failed(why_failed(error))

    def _on_estimate(self, model_id: str, estimate: MemoryEstimate) -> None:
        if model_id == self.active_id:
            self._view.show_memory_plan(estimate.text, estimate.fits)

    def _on_gpu_memory(self, memory: GpuMemory | None) -> None:
        self._asks_gpu_memory = False
        if memory is not None and self._info is not None:
            self._ports.status.show_gpu(memory, self._info.memory.total_bytes)
