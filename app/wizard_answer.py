"""The wizard's last step: the model loads and says its first sentence, with its speed."""

from __future__ import annotations

import uuid

from app.engine_events import EnginePort, LoadAdvanced, LoadFailed, ModelLoaded, WorkerEvent
from app.language import translate
from app.wizard_view import AnswerPage
from engine.api import (
    ChatMessage,
    Delta,
    EngineInfo,
    Failed,
    Finished,
    GenerationControl,
    GenerationRequest,
    GenerationStats,
    Role,
    SamplingParams,
    ThinkingParams,
)
from engine.errors import EngineError, LoadCancelled

QUESTION = "Hello, who are you?"
_MAX_NEW_TOKENS = 80


class FirstAnswer:
    """Waits for a model to load, asks it `QUESTION`, and keeps what the page shows.

    The loading itself is asked for by whoever owns the models; this one only listens.
    """

    def __init__(self, engine: EnginePort, label: str) -> None:
        self._engine = engine
        self._label = label
        self._request_id = f"first-answer-{uuid.uuid4()}"
        self._control: GenerationControl | None = None
        self._info: EngineInfo | None = None
        self._share: float | None = 0.0
        self._answer = ""
        self._numbers = ""
        self.error: EngineError | None = None

    @property
    def done(self) -> bool:
        """Whether the answer is complete."""
        return bool(self._numbers)

    def take(self, event: WorkerEvent) -> bool:
        """Note an event of the engine thread; False where it is none of ours."""
        match event:
            case LoadAdvanced(progress=progress) if self._control is None:
                self._share = progress.done_bytes / max(1, progress.total_bytes)
            case ModelLoaded(info=info) if self._control is None:
                self._ask(info)
            case LoadFailed(error=LoadCancelled()):
                return False  # of the model that this one replaces
            case LoadFailed(error=error) if self._control is None:
                self.error = error
            case Delta(request_id=self._request_id):
                self._answer += event.text
            case Finished(request_id=self._request_id):
                self._numbers = self._numbers_text(event.stats)
            case Failed(request_id=self._request_id):
                self.error = event.error
            case _:
                return False
        return True

    def cancel(self) -> None:
        """Stop answering; the loaded model stays."""
        if self._control is not None:
            self._control.cancel()

    def page(self) -> AnswerPage:
        """What to show now."""
        if self._control is None:
            title, detail = (
                translate("Wizard", "Loading {label}").format(label=self._label),
                translate("Wizard", "The first time takes a little longer."),
            )
        elif not self.done:
            title, detail = (
                translate("Wizard", "The first answer"),
                translate("Wizard", "It comes from this computer alone."),
            )
        else:
            title = translate("Wizard", "{label} is ready").format(label=self._label)
            detail = translate(
                "Wizard", "It answered on this computer. Nothing that you write leaves it."
            )
        return AnswerPage(title, detail, QUESTION, self._share, self._answer, self._numbers)

    def _ask(self, info: EngineInfo) -> None:
        self._info = info
        self._share = None
        request = GenerationRequest(
            request_id=self._request_id,
            messages=(ChatMessage(Role.USER, QUESTION),),
            sampling=SamplingParams(temperature=0.7, top_p=0.8, top_k=20),
            thinking=ThinkingParams(enabled=False),
            max_new_tokens=_MAX_NEW_TOKENS,
        )
        self._control = self._engine.generate(request)

    def _numbers_text(self, stats: GenerationStats) -> str:
        device = self._info.device if self._info is not None else ""
        return translate(
            "Wizard",
            "{decode_tokens_per_s:,.1f} tokens/s on {device}. The first word came after "
            "{first_token_s:.2f} s.",
        ).format(
            decode_tokens_per_s=stats.decode_tokens_per_s,
            device=device,
            first_token_s=stats.first_token_s,
        )
