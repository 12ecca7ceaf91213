"""The models side by side: where each one stands, which one is in use; shows them in the picker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from app.chat_view import ChatView, ModelChoice, ModelState
from app.language import translate
from app.model_records import ModelRecord

LOADABLE = (ModelState.ON_DISK, ModelState.FAILED)


@dataclass(frozen=True, slots=True)
class _Known:
    record: ModelRecord
    state: ModelState
    progress: float = 0.0
    detail: str | Callable[[], str] = ""
    is_new: bool = False

    @property
    def choice(self) -> ModelChoice:
        """What the picker is told."""
        absent = self.state is ModelState.ABSENT
        missing = absent and self.record.is_added
        detail = self.detail if isinstance(self.detail, str) else self.detail()
        return ModelChoice(
            self.record.model_id,
            self.record.shown_label,
            self.state,
            self.progress,
            str(self.record.path) if missing else detail,
            is_demo=self.record.is_demo,
            is_added=self.record.is_added,
            is_paused=absent and self.progress > 0,
            is_new=self.is_new,
            suggestions=self.record.shown_suggestions,
        )


class ModelShelf:
    """Holds one ModelState per model; every change is shown at once."""

    def __init__(self, view: ChatView, active_id: str) -> None:
        self._view = view
        self._models: dict[str, _Known] = {}
        self.active_id = active_id
        """The model that answers, or will once it is there; `show` after a change."""

    def __iter__(self) -> Iterator[str]:
        """The ids in the order of the picker."""
        return iter(self._models)

    def state(self, model_id: str) -> ModelState:
        """Where one model stands."""
        known = self._models.get(model_id)
        return known.state if known is not None else ModelState.ABSENT

    def record(self, model_id: str) -> ModelRecord | None:
        """What is known of one model."""
        known = self._models.get(model_id)
        return None if known is None else known.record

    def label(self, model_id: str) -> str:
        """Its name for people."""
        record = self.record(model_id)
        return translate("Models", "the model") if record is None else record.shown_label

    def progress(self, model_id: str) -> float:
        """How far it is downloaded, checked or loaded: 0..1."""
        known = self._models.get(model_id)
        return 0.0 if known is None else known.progress

    def set_models(
        self, records: Iterable[ModelRecord], present: Iterable[str], held: Mapping[str, float]
    ) -> None:
        """Take over what the disk holds; whatever is on its way or loaded stays.

        Args:
            records: all models in the order of the picker.
            present: ids of those on the disk.
            held: how much of a download is here (0..1), for those that are not.
        """
        on_disk = set(present)
        models: dict[str, _Known] = {}
        for record in records:
            old = self._models.get(record.model_id)
            if old is not None and old.state not in (ModelState.ABSENT, ModelState.ON_DISK):
                models[record.model_id] = old
            elif record.model_id in on_disk:
                is_new = old is not None and old.is_new
                models[record.model_id] = _Known(record, ModelState.ON_DISK, is_new=is_new)
            else:
                share = held.get(record.model_id, 0.0)
                models[record.model_id] = _Known(record, ModelState.ABSENT, share)
        self._models = models

    def first_usable(self) -> str:
        """The first model that is here; "" for none."""
        here = (*LOADABLE, ModelState.LOADING, ModelState.READY)
        return next((id_ for id_ in self._models if self.state(id_) in here), "")

    def change(
        self,
        model_id: str,
        state: ModelState,
        progress: float = 0.0,
        detail: str | Callable[[], str] = "",
        *,
        is_new: bool = False,
    ) -> None:
        """Set where a model stands; `is_new` offers it in the header. A `detail` in words of a
        language is called for each time it is shown.
        """
        known = self._models.get(model_id)
        if known is not None:
            self._models[model_id] = replace(
                known, state=state, progress=progress, detail=detail, is_new=is_new
            )
            self.show()

    def forget(self, model_id: str) -> None:
        """Take a model off the shelf."""
        self._models.pop(model_id, None)
        self.show()

    def show(self) -> None:
        """Fill the picker."""
        choices = [known.choice for known in self._models.values()]
        self._view.show_models(choices, self.active_id or None)
