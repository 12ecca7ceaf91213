"""The reply that is being generated: gathers deltas, counts and seconds, makes `Reply` objects."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from app.conversation import NO_SEED, Reply, ReplyStatus, StreamedText, joined
from app.loop_guard import LoopGuard
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
    is_drawn: bool = True
    """False at temperature 0: no token is drawn, so that no seed repeats or changes anything."""
    stopping: bool = False
    first_at: float | None = None
    last_at: float = 0.0
    tokens: int = 0
    prompt_tokens: int = 0
    """Known once the prompt is being read."""
    guard: LoopGuard = field(default_factory=LoopGuard)
    looping: Channel | None = None
    """The channel that was found to repeat itself, while it does the talking."""
    _answering: bool = False
    _pieces: list[StreamedText] = field(default_factory=list)

    def add(self, delta: Delta, now: float) -> StreamedText:
        """Take streamed text; returns it with the seconds that it took."""
        gap_s = now - self.last_at if self.first_at is not None else 0.0
        self.last_at = now
        self.tokens += delta.token_count
        if self.first_at is None:
            self.first_at = now
        if delta.channel is Channel.THINKING:
            piece = StreamedText(
                thinking=delta.text, thinking_tokens=delta.token_count, thinking_s=gap_s
            )
        else:
            # What passed before the first word of the answer belongs to the thinking.
            thinking_s, answer_s = (0.0, gap_s) if self._answering else (gap_s, 0.0)
            self._answering = True
            piece = StreamedText(
                answer=delta.text,
                answer_tokens=delta.token_count,
                thinking_s=thinking_s,
                answer_s=answer_s,
            )
        self._pieces.append(piece)
        return piece

    @property
    def context_tokens(self) -> int:
        """How much of the context is in use; 0 while that is not known."""
        return self.prompt_tokens + self.tokens if self.prompt_tokens else 0

    @property
    def decode_tokens_per_s(self) -> float:
        """Tokens per second so far, counted after the first delta."""
        elapsed = self.last_at - (self.first_at or self.last_at)
        return self.tokens / elapsed if elapsed > 0.2 else 0.0

    def so_far(self, status: ReplyStatus = ReplyStatus.RUNNING, error_text: str = "") -> Reply:
        """The reply with what has arrived; seconds as seen from the window."""
        streamed = joined(self._pieces)
        answer = self.base.answer + streamed.answer
        return replace(
            self.base,
            thinking=self.base.thinking + streamed.thinking,
            answer=answer,
            status=status,
            finish_reason="",
            error_text=error_text,
            thinking_closed=self.base.thinking_closed or answer != "",
            thinking_s=self.base.thinking_s + streamed.thinking_s,
            answer_s=self.base.answer_s + streamed.answer_s,
            thinking_tokens=self.base.thinking_tokens + streamed.thinking_tokens,
            answer_tokens=self.base.answer_tokens + streamed.answer_tokens,
            # A prompt that was read to go on with a reply holds the text of that reply too.
            prompt_tokens=max(
                0, self.prompt_tokens - self.base.thinking_tokens - self.base.answer_tokens
            ),
        )

    def finished(self, reason: FinishReason, stats: GenerationStats) -> Reply:
        """The ended reply; counts and seconds as the engine measured them."""
        reply = self.so_far(_STATUS_OF_REASON[reason])
        thinking_tokens = self.base.thinking_tokens + stats.thinking_tokens
        answer_tokens = self.base.answer_tokens + stats.answer_tokens
        return replace(
            reply,
            finish_reason=reason.value,
            thinking_closed=reply.thinking_closed or stats.thinking_ended_by != "",
            thinking_s=self.base.thinking_s + stats.thinking_s,
            answer_s=self.base.answer_s + max(0.0, stats.decode_s - stats.thinking_s),
            thinking_tokens=thinking_tokens,
            answer_tokens=answer_tokens,
            prompt_tokens=max(0, stats.context_tokens - thinking_tokens - answer_tokens),
            seed=stats.seed if self.is_drawn else NO_SEED,
            prefill_tokens_per_s=stats.prefill_tokens_per_s,
            decode_tokens_per_s=stats.decode_tokens_per_s,
        )
