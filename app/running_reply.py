"""The reply that is being generated: gathers deltas, counts and seconds, makes `Reply` objects."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from app.conversation import Reply, ReplyStatus
from engine.api import Channel, Delta, FinishReason, GenerationControl, GenerationStats

_STATUS_OF_REASON = {
    FinishReason.END: ReplyStatus.DONE,
    FinishReason.STOP_TEXT: ReplyStatus.DONE,
    FinishReason.MAX_NEW_TOKENS: ReplyStatus.DONE,
    FinishReason.CONTEXT_FULL: ReplyStatus.DONE,
    FinishReason.CANCELLED: ReplyStatus.STOPPED,
}


@dataclass
class RunningReply:
    """One request on its way; `base` is what the reply held before (a continued one holds text).

    Times are seconds of a monotonic clock.
    """

    conversation_id: str
    exchange_id: str
    request_id: str
    base: Reply
    control: GenerationControl
    started_at: float
    stopping: bool = False
    first_delta_at: float | None = None
    answer_at: float | None = None
    last_at: float = 0.0
    thinking_tokens: int = 0
    answer_tokens: int = 0
    _thinking: list[str] = field(default_factory=list)
    _answer: list[str] = field(default_factory=list)

    def add(self, delta: Delta, now: float) -> None:
        """Take streamed text."""
        self.last_at = now
        if self.first_delta_at is None:
            self.first_delta_at = now
        if delta.channel is Channel.THINKING:
            self._thinking.append(delta.text)
            self.thinking_tokens += delta.token_count
        else:
            if self.answer_at is None:
                self.answer_at = now
            self._answer.append(delta.text)
            self.answer_tokens += delta.token_count

    @property
    def decode_tokens_per_s(self) -> float:
        """Tokens per second so far, counted after the first delta."""
        elapsed = self.last_at - (self.first_delta_at or self.last_at)
        return (self.thinking_tokens + self.answer_tokens) / elapsed if elapsed > 0.2 else 0.0

    def so_far(self, status: ReplyStatus = ReplyStatus.RUNNING, error_text: str = "") -> Reply:
        """The reply with what has arrived; seconds as seen from the window."""
        first = self.first_delta_at if self.first_delta_at is not None else self.last_at
        thinking_end = self.answer_at if self.answer_at is not None else self.last_at
        answer_start = self.answer_at if self.answer_at is not None else self.last_at
        answer = self.base.answer + "".join(self._answer)
        return replace(
            self.base,
            thinking=self.base.thinking + "".join(self._thinking),
            answer=answer,
            status=status,
            finish_reason="",
            error_text=error_text,
            thinking_closed=self.base.thinking_closed or answer != "",
            thinking_s=self.base.thinking_s + max(0.0, thinking_end - first),
            answer_s=self.base.answer_s + max(0.0, self.last_at - answer_start),
            thinking_tokens=self.base.thinking_tokens + self.thinking_tokens,
            answer_tokens=self.base.answer_tokens + self.answer_tokens,
        )

    def finished(self, reason: FinishReason, stats: GenerationStats) -> Reply:
        """The ended reply; counts and seconds as the engine measured them."""
        reply = self.so_far(_STATUS_OF_REASON[reason])
        return replace(
            reply,
            finish_reason=reason.value,
            thinking_closed=reply.thinking_closed or stats.thinking_ended_by != "",
            thinking_s=self.base.thinking_s + stats.thinking_s,
            answer_s=self.base.answer_s + max(0.0, stats.decode_s - stats.thinking_s),
            thinking_tokens=self.base.thinking_tokens + stats.thinking_tokens,
            answer_tokens=self.base.answer_tokens + stats.answer_tokens,
            prompt_tokens=stats.prompt_tokens,
            seed=stats.seed,
            prefill_tokens_per_s=stats.prefill_tokens_per_s,
            decode_tokens_per_s=stats.decode_tokens_per_s,
        )
