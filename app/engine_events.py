"""What passes between the engine thread and the controllers besides the engine's own events."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from engine.api import (
    ChatMessage,
    Delta,
    EngineInfo,
    Failed,
    Finished,
    GenerationControl,
    GenerationRequest,
    LoadProgress,
    PrefillProgress,
)
from engine.errors import EngineError

logger = logging.getLogger(__name__)


class UnexpectedFailure(EngineError):
    """Something that no engine raises on purpose (`details` is a traceback for the log)."""

    def __init__(self, what: str, details: str) -> None:
        super().__init__(what)
        self.details = details


def as_engine_error(error: BaseException) -> EngineError:
    """What to report for whatever was raised on a thread of ours; logs what nobody expected.

    Panics of Rust libraries come here too; they are no `Exception`.
    """
    if isinstance(error, EngineError):
        return error
    logger.error("unexpected failure", exc_info=error)
    details = "".join(traceback.format_exception(error))
    return UnexpectedFailure(f"{type(error).__name__}: {error}", details)


@dataclass(frozen=True, slots=True)
class LoadRequest:
    """Which model to open, and how; `load_id` comes back in every event of it."""

    load_id: str
    model_id: str
    path: Path
    device: str
    capacity_tokens: int


@dataclass(frozen=True, slots=True)
class LoadAdvanced:
    """Some of the weights are there."""

    load_id: str
    progress: LoadProgress


@dataclass(frozen=True, slots=True)
class ModelLoaded:
    """The model can answer."""

    load_id: str
    info: EngineInfo


@dataclass(frozen=True, slots=True)
class LoadFailed:
    """The model could not be loaded; no model is loaded now."""

    load_id: str
    error: EngineError


@dataclass(frozen=True, slots=True)
class ModelUnloaded:
    """No model is loaded now, and its memory is free."""


@dataclass(frozen=True, slots=True)
class GraphRefused:
    """The GPU cannot replay its work as a graph (`EngineInfo.graph_refused`); told once."""


WorkerEvent = (
    PrefillProgress
    | Delta
    | Finished
    | Failed
    | LoadAdvanced
    | ModelLoaded
    | LoadFailed
    | ModelUnloaded
    | GraphRefused
)
"""Everything the worker emits."""


class EnginePort(Protocol):
    """What controllers may ask of the engine thread; implemented by `EngineThread`."""

    def load(self, request: LoadRequest) -> GenerationControl:
        """Load a model in place of the current one; the control cancels it."""
        ...

    def generate(self, request: GenerationRequest) -> GenerationControl:
        """Answer a request; the control cancels it or ends its thinking."""
        ...

    def unload(self) -> None:
        """Free the model's memory once the running request has ended."""
        ...

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int | None:
        """Tokens of a conversation, from any thread; None where no model is loaded."""
        ...
