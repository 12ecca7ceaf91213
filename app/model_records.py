"""The models that the app knows: of the catalog, shipped with the app, added by the user."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.language import QT_TRANSLATE_NOOP, spoken, translate
from app.settings_file import AddedModel
from engine.models.model_catalog import CATALOG, catalog_model

DEMO_MODEL_ID = "demo"
DEMO_LABEL = QT_TRANSLATE_NOOP("Models", "Demo model")


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model and where it lies or will lie; `in_catalog` ones can be downloaded, `is_added` ones
    were pointed at by the user and stay where they are. `suggestions` are questions that show it
    well, by language.
    """

    model_id: str
    label: str
    path: Path
    in_catalog: bool = False
    is_demo: bool = False
    is_added: bool = False
    suggestions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def shown_label(self) -> str:
        """Its name in the language in use; a model's own name is the same in all."""
        return translate("Models", DEMO_LABEL) if self.is_demo else self.label

    @property
    def shown_suggestions(self) -> tuple[str, ...]:
        """Those in the language in use; none: what any model is asked."""
        return self.suggestions.get(spoken(), ())


@dataclass(frozen=True, slots=True)
class ModelsOnDisk:
    """Ids of the models that are here, and how much (0..1) of a stopped download is."""

    present: tuple[str, ...]
    held: Mapping[str, float] = field(default_factory=dict)


def known_models(
    models_dir: Path, demo_dir: Path, added: Iterable[AddedModel]
) -> tuple[ModelRecord, ...]:
    """All models in the order of the picker; the demo only where it is part of the app."""
    records = [
        ModelRecord(model.model_id, model.label, models_dir / model.model_id, in_catalog=True)
        for model in CATALOG
    ]
    if (demo_dir / "config.json").is_file():
        suggestions = _suggestions(demo_dir / "suggestions.json")
        records.append(
            ModelRecord(
                DEMO_MODEL_ID,
                DEMO_LABEL,
                demo_dir,
                is_demo=True,
                suggestions=suggestions,
            )
        )
    records += [
        ModelRecord(model.model_id, model.label, Path(model.path), is_added=True) for model in added
    ]
    return tuple(records)


def _suggestions(path: Path) -> dict[str, tuple[str, ...]]:
    """The questions of the app's own file; none where it is damaged."""
    try:
        languages = json.loads(path.read_text(encoding="utf-8"))["prompts"]
        return {
            language: tuple(str(prompt["question"]) for prompt in prompts)
            for language, prompts in languages.items()
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def added_model(path: Path) -> AddedModel:
    """The entry for a folder or GGUF of the user; the same path gives the same id."""
    absolute = path.expanduser().absolute()
    digest = hashlib.sha256(str(absolute).encode("utf-8", "replace")).hexdigest()
    label = absolute.stem if absolute.suffix.lower() == ".gguf" else absolute.name
    return AddedModel(f"added-{digest[:12]}", label or str(absolute), str(absolute))


def look_at_disk(records: Iterable[ModelRecord], models_dir: Path) -> ModelsOnDisk:
    """What is here; of the catalog only complete and checked models count as present.

    Reads small files: runs on the job thread.
    """
    from engine.models.model_store import ModelStore

    store = ModelStore(models_dir)
    present: list[str] = []
    held: dict[str, float] = {}
    for record in records:
        if not record.in_catalog:
            if record.path.exists():
                present.append(record.model_id)
            continue
        model = catalog_model(record.model_id)
        if store.is_on_disk(model):
            present.append(record.model_id)
        elif held_bytes := store.held_bytes(model):
            held[record.model_id] = held_bytes / model.total_bytes
    return ModelsOnDisk(tuple(present), held)


class LoadMarker:
    """A file that exists while a model is being loaded.

    When it is there at start, the process died of loading that model (a driver's crash cannot be
    caught), so it is not loaded again without being asked.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def set(self, model_id: str) -> None:
        """Note that loading begins; a full disk only loses the protection."""
        try:
            self._path.write_text(json.dumps({"model_id": model_id}), encoding="utf-8")
        except OSError:
            self.clear()

    def clear(self) -> None:
        """Note that loading has ended, well or not."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            return

    def left_over(self) -> str:
        """The model whose loading ended the process, or ""."""
        try:
            tree = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return ""
        model_id = tree.get("model_id") if isinstance(tree, dict) else None
        return model_id if isinstance(model_id, str) else ""
