"""One reply in the making: its ids, its two channels of text, its limits and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from engine.api import (
    Channel,
    Delta,
    Detail,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    GenerationStats,
    TokenAlternative,
    TokenInfo,
)
from engine.backend import SampledToken
from engine.stop_texts import StopTextFilter
from engine.text.thinking_splitter import Piece, ThinkingSplitter, ThinkingState
from engine.text.tokenizer import Tokenizer


@dataclass(slots=True)
class _Told:
    """Text of one channel in the order in which it came, and the tokens behind it."""

    channel: Channel
    texts: list[str] = field(default_factory=list)
    tokens: list[TokenInfo | None] = field(default_factory=list)

    def as_delta(self, request_id: str) -> Delta:
        """All of it as one event."""
        infos = tuple(info for info in self.tokens if info is not None)
        return Delta(request_id, self.channel, "".join(self.texts), len(self.tokens), infos)


class Reply:
    """What the generation loop knows about one request.

    Attributes:
        sequence: Prompt, sampled and injected ids in order; the slot's cache holds a beginning.
        feeding: Whether ids of `sequence` must be prefilled before decoding can go on.
        slot: The backend's slot; -1 while waiting for one.
    """

    def __init__(
        self,
        request: GenerationRequest,
        control: GenerationControl,
        tokenizer: Tokenizer,
        prompt_token_ids: Sequence[int],
        seed: int,
        now_s: float,
    ) -> None:
        self.request = request
        self.control = control
        self.seed = seed
        self.slot = -1
        self.reused_tokens = 0
        self.prompt_tokens = len(prompt_token_ids)
        self.sequence = list(prompt_token_ids)
        self.sampled_ids: list[int] = []
        self.feeding = True
        self.prefill_s = 0.0
        self.decode_s = 0.0
        self._submitted_s = now_s
        self._first_token_at_s: float | None = None
        self._thinking_end_s: float | None = None
        self._tokenizer = tokenizer
        self._splitter = ThinkingSplitter.after_prompt(tokenizer, prompt_token_ids)
        self._stop_filter = StopTextFilter(request.stop_texts)
        self._thinking_ended_by = ""
        self._token_counts = {Channel.THINKING: 0, Channel.ANSWER: 0}
        # Tokens whose text has not come out yet, by channel: they are told with the next text.
        self._untold: dict[Channel, list[TokenInfo | None]] = {c: [] for c in Channel}
        self._told: list[_Told] = []

    @property
    def prompt_token_ids(self) -> list[int]:
        """The prompt, without what was injected later."""
        return self.sequence[: self.prompt_tokens]

    @property
    def started(self) -> bool:
        """Whether a token was sampled."""
        return bool(self.sampled_ids)

    def steps_left(self, slot_capacity: int) -> int:
        """Tokens that may still be sampled before a limit must be looked at; 0 at a limit."""
        left = slot_capacity - len(self.sequence)
        if self.request.max_new_tokens is not None:
            left = min(left, self.request.max_new_tokens - len(self.sampled_ids))
        budget = self.request.thinking.budget_tokens
        if budget is not None and self._splitter.state is not ThinkingState.AFTER:
            # Before the thinking, the token that opens it comes on top.
            opening = int(self._splitter.state is ThinkingState.BEFORE)
            left = min(left, budget + opening - self._token_counts[Channel.THINKING])
        return max(0, left)

    def limit_reached(self, slot_capacity: int) -> FinishReason | None:
        """Why no more tokens may be sampled, if so; a full context is told before a limit."""
        if len(self.sequence) >= slot_capacity:
            return FinishReason.CONTEXT_FULL
        limit = self.request.max_new_tokens
        if limit is not None and len(self.sampled_ids) >= limit:
            return FinishReason.MAX_NEW_TOKENS
        return None

    def take(self, token: SampledToken, now_s: float) -> FinishReason | None:
        """Add a sampled token; END or STOP_TEXT where it ends the reply."""
        if self._first_token_at_s is None:
            self._first_token_at_s = now_s
        self.sequence.append(token.token_id)
        self.sampled_ids.append(token.token_id)
        if token.token_id in self._tokenizer.stop_token_ids:
            return FinishReason.END
        before = self._splitter.state
        pieces = self._splitter.add(token.token_id)
        after = self._splitter.state
        opened = before is ThinkingState.BEFORE and after is ThinkingState.INSIDE
        closed = before is ThinkingState.INSIDE and after is ThinkingState.AFTER
        if closed:
            self._end_thinking("model", now_s)
        if not opened and not closed:
            self._untold[self._splitter.channel].append(self._token_info(token))
            self._token_counts[self._splitter.channel] += 1
        self._tell(pieces)
        return FinishReason.STOP_TEXT if self._stop_filter.stopped else None

    def thinking_must_end(self) -> str:
        """Who wants the thinking to end now: "user", "budget" or nobody ("")."""
        asked = self.control.take_answer_now()
        if self._splitter.state is ThinkingState.AFTER:
            return ""
        if asked:
            return "user"
        budget = self.request.thinking.budget_tokens
        if budget is None:
            return ""
        if self._splitter.state is ThinkingState.BEFORE:
            # Before anything was thought, only a budget of nothing is used up.
            return "budget" if budget == 0 else ""
        return "budget" if self._token_counts[Channel.THINKING] >= budget else ""

    def closing_token_ids(self) -> list[int]:
        """The ids that end the thinking here."""
        return self._splitter.closing_token_ids()

    def inject_closing(self, token_ids: Sequence[int], ended_by: str, now_s: float) -> None:
        """End the thinking with these ids; they must be prefilled before the next token."""
        for token_id in token_ids:
            self._tell(self._splitter.add(token_id))
        self._end_thinking(ended_by, now_s)
        self.sequence += token_ids
        self.feeding = True

    def flush(self) -> None:
        """Tell everything that was held back; the reply ends."""
        self._tell(self._splitter.finish())
        rest = self._stop_filter.finish()
        if rest:
            self._append_delta(Channel.ANSWER, rest)
        for channel in Channel:
            if self._untold[channel]:
                self._append_delta(channel, "")

    def take_deltas(self) -> list[Delta]:
        """The text since the last call; neighbours of one channel are one Delta."""
        told, self._told = self._told, []
        return [piece.as_delta(self.request.request_id) for piece in told]

    def stats(self, now_s: float) -> GenerationStats:
        """The figures so far."""
        first = self._first_token_at_s
        thinking_tokens = self._token_counts[Channel.THINKING]
        thinking_end = self._thinking_end_s if self._thinking_end_s is not None else now_s
        return GenerationStats(
            prompt_tokens=self.prompt_tokens,
            reused_tokens=self.reused_tokens,
            thinking_tokens=thinking_tokens,
            answer_tokens=self._token_counts[Channel.ANSWER],
            prefill_s=self.prefill_s,
            decode_s=self.decode_s,
            first_token_s=first - self._submitted_s if first is not None else 0.0,
            thinking_s=thinking_end - first if first is not None and thinking_tokens else 0.0,
            seed=self.seed,
            context_tokens=len(self.sequence),
            token_ids=tuple(self.sampled_ids),
            thinking_ended_by=self._thinking_ended_by,
        )

    def _end_thinking(self, ended_by: str, now_s: float) -> None:
        self._thinking_ended_by = ended_by
        self._thinking_end_s = now_s

    def _tell(self, pieces: Sequence[Piece]) -> None:
        for channel, text in pieces:
            # Stop texts end the answer; what the model thinks about them does not.
            shown = self._stop_filter.add(text) if channel is Channel.ANSWER else text
            if shown:
                self._append_delta(channel, shown)

    def _append_delta(self, channel: Channel, text: str) -> None:
        if not self._told or self._told[-1].channel is not channel:
            self._told.append(_Told(channel))
        told = self._told[-1]
        told.texts.append(text)
        told.tokens += self._untold[channel]
        self._untold[channel] = []

    def _token_info(self, token: SampledToken) -> TokenInfo | None:
        if self.request.detail is Detail.NONE or token.logprob is None or token.rank is None:
            return None
        text_of = self._tokenizer.token_text
        alternatives = tuple(
            TokenAlternative(token_id, text_of(token_id), logprob)
            for token_id, logprob in token.alternatives
        )
        token_id = token.token_id
        return TokenInfo(token_id, text_of(token_id), token.logprob, token.rank, alternatives)
