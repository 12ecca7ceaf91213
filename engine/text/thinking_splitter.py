"""Splits a reply into its two channels, by token id and never by looking for tags in text."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING

from engine.api import Channel
from engine.text.detokenizer import StreamingDetokenizer

if TYPE_CHECKING:
    from engine.text.tokenizer import Tokenizer

Piece = tuple[Channel, str]
"""Text and the channel that it belongs to."""


class ThinkingState(Enum):
    """Where a reply stands with its thinking."""

    BEFORE = "before"
    """Nothing but white space has come: the model may still begin to think."""
    INSIDE = "inside"
    AFTER = "after"
    """The thinking is over, or there was none: everything is answer."""


def state_after_prompt(tokenizer: Tokenizer, prompt_token_ids: Sequence[int]) -> ThinkingState:
    """Where the reply stands when it is to go on after this prompt.

    Looks at the last turn only, the part after the last end token: the thinking of earlier turns
    may stand in the prompt too.
    """
    if not tokenizer.supports_thinking:
        return ThinkingState.AFTER
    for token_id in reversed(prompt_token_ids):
        if token_id == tokenizer.think_start_id:
            return ThinkingState.INSIDE
        if token_id == tokenizer.think_end_id:
            return ThinkingState.AFTER
        if token_id in tokenizer.stop_token_ids:
            break
    return ThinkingState.BEFORE


class ThinkingSplitter:
    r"""Takes the ids of a reply one by one and gives (channel, text) pieces.

    The newlines that the convention puts after `<think>` and around `</think>` belong to neither
    channel (as `strip("\n")` in the model card has it); no other text is ever dropped. `<think>`
    counts only at the very beginning of a reply and `</think>` only inside the thinking; anywhere
    else they are shown as text. The ids of an injected end of thinking go through `add` too.
    """

    def __init__(
        self, tokenizer: Tokenizer, state: ThinkingState, prompt_tail: str | None = None
    ) -> None:
        """Begin in `state`.

        `prompt_tail` is what stands in the prompt after its last think token, None where it has
        none: while that is but newlines, further newlines are still the convention's.
        """
        self._tokenizer = tokenizer
        self._detokenizer = StreamingDetokenizer(tokenizer)
        self._state = state if tokenizer.supports_thinking else ThinkingState.AFTER
        self._trims_newlines = prompt_tail is not None and not prompt_tail.strip("\n")
        self._newlines = len(prompt_tail) if prompt_tail and self._trims_newlines else 0
        self._ends_line = bool(prompt_tail) and prompt_tail is not None and prompt_tail[-1] == "\n"
        self._held = ""

    @classmethod
    def after_prompt(
        cls, tokenizer: Tokenizer, prompt_token_ids: Sequence[int]
    ) -> ThinkingSplitter:
        """A splitter for the reply that follows a rendered prompt, its prefix included."""
        state = state_after_prompt(tokenizer, prompt_token_ids)
        think_ids = (tokenizer.think_start_id, tokenizer.think_end_id)
        tail = None
        if tokenizer.supports_thinking and state is not ThinkingState.BEFORE:
            last = max(at for at, token_id in enumerate(prompt_token_ids) if token_id in think_ids)
            tail = tokenizer.detokenize(prompt_token_ids[last + 1 :])
        return cls(tokenizer, state, tail)

    @property
    def state(self) -> ThinkingState:
        """Where the reply stands now."""
        return self._state

    @property
    def channel(self) -> Channel:
        """The channel that the next text would go to."""
        return Channel.THINKING if self._state is ThinkingState.INSIDE else Channel.ANSWER

    def add(self, token_id: int) -> list[Piece]:
        """The pieces that this token completes; held-back text may come with a later one."""
        if self._state is ThinkingState.BEFORE and token_id == self._tokenizer.think_start_id:
            return self._open()
        if self._state is ThinkingState.INSIDE and token_id == self._tokenizer.think_end_id:
            return self._close()
        return self._text(self._detokenizer.add(token_id))

    def finish(self) -> list[Piece]:
        """What is still held back, when no more tokens come; thinking may be unclosed."""
        pieces = self._text(self._detokenizer.finish())
        held, self._held = self._held, ""
        return [*pieces, (self.channel, held)] if held else pieces

    def closing_token_ids(self) -> list[int]:
        r"""The ids to inject so that the thinking ends here as the model itself would end it.

        `\n</think>\n\n` inside the thinking, the template's empty block before it, none after.
        """
        start, end = self._tokenizer.think_start_id, self._tokenizer.think_end_id
        if self._state is ThinkingState.AFTER or start is None or end is None:
            return []
        if self._state is ThinkingState.BEFORE:
            opening, missing = [start], 2
        elif self._trims_newlines:
            opening, missing = [], max(0, 2 - self._newlines)
        else:
            opening, missing = [], 0 if self._ends_line else 1
        encode = self._tokenizer.encode
        return [*opening, *encode("\n" * missing), end, *encode("\n\n")]

    def _open(self) -> list[Piece]:
        blanks = self._held + self._detokenizer.finish()
        self._enter(ThinkingState.INSIDE)
        # Newlines alone are no text; any other blank the model wrote is kept.
        return [(Channel.ANSWER, blanks)] if blanks.strip("\n") else []

    def _close(self) -> list[Piece]:
        # The newlines still held back are those before </think>.
        pieces = self._text(self._detokenizer.finish())
        self._enter(ThinkingState.AFTER)
        return pieces

    def _enter(self, state: ThinkingState) -> None:
        self._state = state
        self._held = ""
        self._trims_newlines = True
        self._newlines = 0
        self._ends_line = False

    def _text(self, text: str) -> list[Piece]:
        if self._trims_newlines and text:
            kept = text.lstrip("\n")
            self._newlines += len(text) - len(kept)
            self._trims_newlines = not kept
            text = kept
        if not text:
            return []
        self._ends_line = text.endswith("\n")
        text = self._held + text
        self._held = ""
        if self._state is ThinkingState.BEFORE:
            if text.isspace():
                self._held = text
                return []
            self._state = ThinkingState.AFTER
        if self._state is ThinkingState.INSIDE:
            shown = text.rstrip("\n")
            self._held = text[len(shown) :]
            text = shown
        return [(self.channel, text)] if text else []
