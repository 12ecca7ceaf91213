"""A scripted engine that stands still at a chosen moment, as a driver call or a long chunk does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from enum import Enum

from engine.api import (
    Channel,
    Delta,
    Event,
    GenerationControl,
    GenerationRequest,
)
from engine.scripted_engine import ScriptedEngine, ScriptedReply, reply_of_texts

THINKING = ("Let", " me", " see", " now.")
ANSWER = ("It", " is", " four.")

FIRST = ScriptedReply(
    (
        *((Channel.THINKING, word) for word in THINKING),
        *((Channel.ANSWER, word) for word in ANSWER),
    )
)
SECOND = reply_of_texts("Again.", "Second answer.")


class Moment(Enum):
    """Where the first reply stands still; the value is how many pieces have come before."""

    LOAD = -2
    PREFILL = -1
    FIRST_THINKING_TOKEN = 0
    MID_THINKING = 2
    END_OF_THINKING = 4
    MID_ANSWER = 6
    END_TOKEN = 7


class BlockingEngine(ScriptedEngine):
    """Answers the first request with `FIRST` up to the moment, then waits for `release`.

    Cancel is not looked at meanwhile: nothing can interrupt a chunk that is being computed.
    """

    def __init__(self, moment: Moment | None) -> None:
        # Slower than the worker joins events, so that each word is in the window before the next.
        super().__init__((FIRST, SECOND), tokens_per_s=20.0)
        self._moment = moment
        self._told = 0
        self.reached = threading.Event()
        self.release = threading.Event()

    def _stand_still(self) -> None:
        self._moment = None
        self.reached.set()
        assert self.release.wait(30.0), "the test forgot to release the engine"

    def load(self, control: GenerationControl) -> Iterator[Event]:
        if self._moment is Moment.LOAD:
            self._stand_still()
        yield from super().load(control)

    def submit(self, request: GenerationRequest, control: GenerationControl) -> None:
        self._told = 0
        # By the question: a first one that was stopped in time never comes here.
        self._next_reply = 0 if request.messages[-1].text == "First?" else 1
        super().submit(request, control)

    def step(self) -> list[Event]:
        if self._moment is Moment.PREFILL:
            self._stand_still()
        prefilled = not any(reply.prefill_done < reply.prompt_tokens for reply in self._running)
        at = None if self._moment is None else self._moment.value
        if self._running and prefilled and at == self._told:
            self._stand_still()
        events = super().step()
        self._told += sum(isinstance(event, Delta) for event in events)
        return events


def texts_before(moment: Moment) -> tuple[str, str]:
    """Thinking and answer of the first reply that have come when it stands still."""
    count = max(0, moment.value)
    return "".join(THINKING[:count]), "".join(ANSWER[: max(0, count - len(THINKING))])
