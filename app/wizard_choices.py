"""The wizard's choose page: the ways to a model, what each needs here, and which may be taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from app.error_text import error_text
from app.language import translate
from app.model_plans import PlannedModel, plan_catalog_model, plan_local_model
from app.model_records import DEMO_MODEL_ID
from app.system_check import SystemReport, check_system, gigabytes
from app.wizard_view import ModelOption
from engine.errors import EngineError
from engine.models.model_catalog import CATALOG, CatalogModel
from engine.models.model_install import DISK_MARGIN_BYTES

PATH_ID = "path"

Planned = PlannedModel | EngineError


@dataclass(frozen=True, slots=True)
class WizardServices:
    """What the wizard has looked up for it; each callable may take seconds and runs in a job.

    `demo_dir` is None where the app came without the demo model.
    """

    catalog: tuple[CatalogModel, ...]
    demo_dir: Path | None
    check: Callable[[int], SystemReport]
    plan_catalog: Callable[[CatalogModel, SystemReport], PlannedModel]
    plan_local: Callable[[Path, SystemReport], PlannedModel]


def wizard_services(models_dir: Path, resources: Path, context_tokens: int) -> WizardServices:
    """The real services for a profile and a context length."""
    demo_dir = resources / "demo_model"
    return WizardServices(
        catalog=CATALOG,
        demo_dir=demo_dir if (demo_dir / "config.json").is_file() else None,
        check=partial(check_system, models_dir),
        plan_catalog=lambda model, report: plan_catalog_model(
            model, resources, context_tokens, report
        ),
        plan_local=lambda path, report: plan_local_model(path, context_tokens, report),
    )


class HeldBytes(Protocol):
    """The part of the model store that says what is here."""

    def is_on_disk(self, model: CatalogModel) -> bool:
        """Whether it is complete and was checked."""
        ...

    def held_bytes(self, model: CatalogModel) -> int:
        """Bytes that are here already."""
        ...


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """The report, and what each model of the catalog needs on this computer."""

    report: SystemReport
    plans: Mapping[str, Planned]


@dataclass(frozen=True, slots=True)
class LocalOutcome:
    """A path of the user, and what was found there."""

    path: Path
    planned: Planned


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of the user that can be used."""

    path: Path
    label: str


class Choices:
    """What can be chosen and what is; pure state, shown by the controller."""

    def __init__(self, services: WizardServices, store: HeldBytes) -> None:
        self._services = services
        self._store = store
        self._plans: Mapping[str, Planned] = {}
        self._path: Path | None = None
        self._local: Planned | None = None
        self.report: SystemReport | None = None
        self.chosen_id = services.catalog[0].model_id

    @property
    def model(self) -> CatalogModel | None:
        """The chosen model of the catalog, if it is one of those."""
        return next((m for m in self._services.catalog if m.model_id == self.chosen_id), None)

    @property
    def local(self) -> LocalModel | None:
        """The user's own model, once it was opened and can be used."""
        if self._path is None or not isinstance(self._local, PlannedModel):
            return None
        return LocalModel(self._path, self._local.label) if self._local.fits else None

    def check_job(self) -> Callable[[], CheckOutcome]:
        """The work of the check page; run it off the GUI thread."""
        services, store = self._services, self._store

        def job() -> CheckOutcome:
            report = services.check(_missing_bytes(services.catalog[0], store))
            plans: dict[str, Planned] = {}
            for model in services.catalog:
                try:
                    plans[model.model_id] = services.plan_catalog(model, report)
                except EngineError as error:
                    plans[model.model_id] = error
            return CheckOutcome(report, plans)

        return job

    def take_check(self, outcome: CheckOutcome) -> None:
        """Keep what the check found."""
        self.report, self._plans = outcome.report, outcome.plans

    def begin_path(self, path: Path) -> None:
        """The user picked a path; it is being opened."""
        self.chosen_id, self._path, self._local = PATH_ID, path, None

    def local_job(self) -> Callable[[], LocalOutcome]:
        """Open and check the picked path; run it off the GUI thread."""
        path, report, services = self._path, self.report, self._services
        assert path is not None
        assert report is not None

        def job() -> LocalOutcome:
            try:
                return LocalOutcome(path, services.plan_local(path, report))
            except EngineError as error:
                return LocalOutcome(path, error)

        return job

    def take_local(self, outcome: LocalOutcome) -> None:
        """Keep what was found at a path, if it is still the one asked for."""
        if outcome.path == self._path:
            self._local = outcome.planned

    def can_go_on(self) -> bool:
        """Whether the chosen option may be taken."""
        chosen = next(o for o in self.options() if o.option_id == self.chosen_id)
        return not chosen.problem and (self.chosen_id != PATH_ID or self.local is not None)

    def next_label(self) -> str:
        """What the primary button says."""
        if self.model is not None and not self._store.is_on_disk(self.model):
            return (
                translate("Wizard", "Go on downloading")
                if self._store.held_bytes(self.model)
                else translate("Wizard", "Download")
            )
        return translate("Wizard", "Use this model")

    def options(self) -> list[ModelOption]:
        """All options, in order."""
        options = [self._catalog_option(model) for model in self._services.catalog]
        options.append(self._path_option())
        if self._services.demo_dir is not None:
            options.append(
                ModelOption(
                    DEMO_MODEL_ID,
                    translate("Wizard", "The demo model"),
                    translate(
                        "Wizard",
                        "Comes with Thinkpane: very small, it thinks and answers small tasks.",
                    ),
                )
            )
        return options

    def _catalog_option(self, model: CatalogModel) -> ModelOption:
        size = gigabytes(model.total_bytes)
        detail = translate(
            "Wizard", "Download {size} from Hugging Face. Licence {license}."
        ).format(size=size, license=model.license)
        partial_text = ""
        if self._store.is_on_disk(model):
            detail = translate(
                "Wizard", "On this disk and checked ({size}). Licence {license}."
            ).format(size=size, license=model.license)
        elif held_bytes := self._store.held_bytes(model):
            partial_text = translate("Wizard", "{held} of it are already here.").format(
                held=gigabytes(held_bytes)
            )
        memory_text, problem = _texts(self._plans.get(model.model_id))
        missing_bytes = _missing_bytes(model, self._store)
        if self.report is not None and self.report.free_disk_bytes < missing_bytes:
            problem = translate(
                "Wizard",
                "The disk has {free_disk} free, and {missing} are needed. Free some space, "
                "go back and check again.",
            ).format(
                free_disk=gigabytes(self.report.free_disk_bytes), missing=gigabytes(missing_bytes)
            )
        return ModelOption(
            model.model_id, model.label, detail, memory_text, problem, partial_text=partial_text
        )

    def _path_option(self) -> ModelOption:
        detail = translate(
            "Wizard", "A Hugging Face folder or one GGUF file. It stays where it is."
        )
        memory_text, problem = _texts(self._local)
        if self._path is not None:
            detail = str(self._path)
            memory_text = memory_text or ("" if problem else translate("Wizard", "Opening it."))
        return ModelOption(
            PATH_ID,
            translate("Wizard", "A model that I have"),
            detail,
            memory_text,
            problem,
            takes_path=True,
        )


def _missing_bytes(model: CatalogModel, store: HeldBytes) -> int:
    """Room on the disk that the rest of the download takes; 0 once all is here."""
    if store.is_on_disk(model):
        return 0
    return model.total_bytes - store.held_bytes(model) + DISK_MARGIN_BYTES


def _texts(planned: Planned | None) -> tuple[str, str]:
    """(what it needs, why it cannot be taken)."""
    match planned:
        case None:
            return "", ""
        case PlannedModel(memory_text=text, fits=True):
            return text, ""
        case PlannedModel(memory_text=text):
            return "", text
        case _:
            return "", error_text(planned).text
