"""A chat in the terminal: the reply on stdout, everything about it on stderr."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TextIO

from engine.api import (
    Channel,
    ChatMessage,
    Delta,
    Engine,
    Failed,
    Finished,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    GenerationStats,
    LoadProgress,
    PrefillProgress,
    Role,
    SamplingParams,
    ThinkingParams,
    generate,
)
from engine.errors import BadRequest, EngineError, PromptTooLong

EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


@dataclass(frozen=True)
class ChatOptions:
    """What the command line fixes for all turns."""

    sampling: SamplingParams
    thinking: ThinkingParams
    system: str = ""
    max_new_tokens: int | None = None
    as_json: bool = False


@dataclass
class _Turn:
    """What came of one question."""

    thinking: str = ""
    answer: str = ""
    finished: Finished | None = None
    failed: Failed | None = None


class TerminalChat:
    """One conversation with a loaded engine."""

    def __init__(self, engine: Engine, options: ChatOptions, out: TextIO, err: TextIO) -> None:
        self._engine = engine
        self._options = options
        self._out = out
        self._err = err
        self._turns = 0
        self._messages: list[ChatMessage] = []
        if options.system:
            self._messages.append(ChatMessage(Role.SYSTEM, options.system))

    def load(self) -> None:
        """Load the engine, with progress where stderr is a terminal.

        Raises:
            EngineError: as the engine's `load`; LoadCancelled after Ctrl-C.
        """
        control = GenerationControl()
        shown = -1
        with _cancel_on_interrupt(control):
            for event in self._engine.load(control):
                if isinstance(event, LoadProgress) and self._err.isatty():
                    percent = 100 * event.done_bytes // max(1, event.total_bytes)
                    if percent != shown:
                        self._say(f"\rloading {percent} %", end="")
                        shown = percent
        if shown >= 0:
            self._say("\r" + " " * 20 + "\r", end="")

    def ask_all(self, questions: Sequence[str]) -> int:
        """Ask one question after the other; the exit code. Stops at the first that fails."""
        for question in questions:
            turn = self._ask(question)
            if turn.failed is not None:
                error = turn.failed.error
                self._say(f"error: {error}")
                bad_input = isinstance(error, BadRequest | PromptTooLong)
                return EXIT_BAD_INPUT if bad_input else EXIT_FAILED
            if turn.finished and turn.finished.reason is FinishReason.CANCELLED:
                return EXIT_INTERRUPTED
        return EXIT_OK

    def talk(self, read_line: Callable[[], str]) -> int:
        """Ask what `read_line` returns until it raises EOFError; the exit code."""
        while True:
            try:
                question = read_line().strip()
            except EOFError:
                self._say("")
                return EXIT_OK
            except KeyboardInterrupt:
                self._say("\n(Ctrl-D quits)")
                continue
            if not question:
                continue
            turn = self._ask(question)
            if turn.failed is not None:
                self._say(f"error: {turn.failed.error}")

    def _ask(self, question: str) -> _Turn:
        """Generate one reply, showing it; the conversation grows unless it failed."""
        self._turns += 1
        user = ChatMessage(Role.USER, question)
        request = GenerationRequest(
            request_id=str(self._turns),
            messages=(*self._messages, user),
            sampling=self._options.sampling,
            thinking=self._options.thinking,
            max_new_tokens=self._options.max_new_tokens,
        )
        turn = _Turn()
        control = GenerationControl()
        with _cancel_on_interrupt(control):
            for event in generate(self._engine, request, control):
                match event:
                    case Delta(channel=channel, text=text):
                        self._take_delta(turn, channel, text)
                    case Finished():
                        turn.finished = event
                    case Failed():
                        turn.failed = event
                    case PrefillProgress() | LoadProgress():
                        pass
        if turn.finished is not None:
            self._messages += [user, ChatMessage(Role.ASSISTANT, turn.answer, turn.thinking)]
            self._end_turn(turn, turn.finished)
        return turn

    def _take_delta(self, turn: _Turn, channel: Channel, text: str) -> None:
        first = not (turn.thinking if channel is Channel.THINKING else turn.answer)
        if channel is Channel.THINKING:
            turn.thinking += text
        else:
            turn.answer += text
        if self._options.as_json or not text:
            return
        if channel is Channel.ANSWER:
            if first and turn.thinking:
                self._write(self._thinking_stream(), "\n\n")
            self._write(self._out, text)
        elif self._out.isatty():
            self._write(self._out, f"{_DIM}{text}{_PLAIN}")
        else:
            self._write(self._err, text)

    def _thinking_stream(self) -> TextIO:
        # Piped, stdout carries the answer alone.
        return self._out if self._out.isatty() else self._err

    def _end_turn(self, turn: _Turn, finished: Finished) -> None:
        if self._options.as_json:
            self._write(self._out, json.dumps(self._result(turn, finished)) + "\n")
            return
        self._write(self._out, "\n")
        self._say(banner(finished.stats, finished.reason))

    def _result(self, turn: _Turn, finished: Finished) -> dict[str, object]:
        stats, info = finished.stats, self._engine.info()
        return {
            "text": turn.answer,
            "thinking": turn.thinking,
            "token_ids": list(stats.token_ids),
            "finish_reason": finished.reason.value,
            "prompt_tokens": stats.prompt_tokens,
            "reused_tokens": stats.reused_tokens,
            "generated_tokens": stats.generated_tokens,
            "thinking_tokens": stats.thinking_tokens,
            "thinking_ended_by": stats.thinking_ended_by,
            "prefill_tokens_per_s": stats.prefill_tokens_per_s,
            "decode_tokens_per_s": stats.decode_tokens_per_s,
            "first_token_s": stats.first_token_s,
            "seed": stats.seed,
            "model": info.model,
            "device": info.device,
        }

    def _say(self, text: str, end: str = "\n") -> None:
        self._write(self._err, text + end)

    @staticmethod
    def _write(stream: TextIO, text: str) -> None:
        stream.write(text)
        stream.flush()


def banner(stats: GenerationStats, reason: FinishReason) -> str:
    """The line after an answer: tokens/s, tokens, seconds, and the end if it is no usual one."""
    seconds = stats.prefill_s + stats.decode_s
    line = (
        f"[{stats.decode_tokens_per_s:.1f} tokens/s, {stats.generated_tokens} tokens, "
        f"{seconds:.1f} s; prompt {stats.prompt_tokens} tokens"
    )
    if stats.reused_tokens:
        line += f", {stats.reused_tokens} reused"
    if reason is not FinishReason.END:
        line += f"; ended by {reason.value}"
    return line + "]"


@contextmanager
def _cancel_on_interrupt(control: GenerationControl) -> Iterator[None]:
    """Let Ctrl-C cancel `control` instead of raising in the middle of a computation."""

    def cancel(signal_number: int, frame: FrameType | None) -> None:
        control.cancel()

    previous = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def read_terminal_line() -> str:
    """One line of stdin, after a prompt sign where it is a terminal. Raises EOFError at its end."""
    return input("> " if sys.stdin.isatty() else "")


def error_line(error: EngineError) -> str:
    """`error` as one line."""
    return "error: " + " ".join(str(error).split())
