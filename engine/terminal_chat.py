"""A chat in the terminal: the reply on stdout, everything about it on stderr."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TextIO, assert_never

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
from engine.errors import (
    BadModelFile,
    BadRequest,
    DriverTooOld,
    EngineError,
    FolderNotWritable,
    LoadCancelled,
    ModelFileMissing,
    NoCudaDevice,
    PromptTooLong,
    UnsupportedModel,
)

EXIT_OK, EXIT_FAILED, EXIT_BAD_INPUT, EXIT_INTERRUPTED = 0, 1, 2, 130

_BAD_INPUT = (
    BadModelFile,
    BadRequest,
    DriverTooOld,
    FolderNotWritable,
    ModelFileMissing,
    NoCudaDevice,
    PromptTooLong,
    UnsupportedModel,
)

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"

# A model may write escape sequences, which a terminal would obey: pictures stand for them there.
_PICTURES = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: "\u2421",
    **dict.fromkeys(range(0x80, 0xA0), "\ufffd"),
}


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
        progress = _ProgressLine(self._err)
        with _cancel_on_interrupt(control), progress:
            for event in self._engine.load(control):
                if isinstance(event, LoadProgress):
                    progress.show("loading", event.done_bytes, event.total_bytes)

    def ask_all(self, questions: Sequence[str]) -> int:
        """Ask one question after the other; the exit code. Stops at the first that fails."""
        for question in questions:
            turn = self._ask(question)
            if turn.failed is not None:
                self._say(error_line(turn.failed.error))
                return exit_code(turn.failed.error)
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
                self._say(error_line(turn.failed.error))

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
        progress = _ProgressLine(self._err)
        with _cancel_on_interrupt(control), progress:
            for event in generate(self._engine, request, control):
                match event:
                    case PrefillProgress(done_tokens=done, total_tokens=total):
                        progress.show("reading the prompt", done, total)
                    case Delta(channel=channel, text=text):
                        progress.clear()
                        self._take_delta(turn, channel, text)
                    case Finished():
                        turn.finished = event
                    case Failed():
                        turn.failed = event
                    case LoadProgress():
                        pass
                    case _:
                        assert_never(event)
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
            self._write(self._out, shown_on(self._out, text))
        elif self._out.isatty():
            self._write(self._out, f"{_DIM}{shown_on(self._out, text)}{_PLAIN}")
        else:
            self._write(self._err, shown_on(self._err, text))

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

    def _say(self, text: str) -> None:
        self._write(self._err, text + "\n")

    @staticmethod
    def _write(stream: TextIO, text: str) -> None:
        stream.write(text)
        stream.flush()


class _ProgressLine:
    """A line of percents that writes over itself; nothing where `stream` is no terminal.

    Leaving its context clears it.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = ""

    def __enter__(self) -> None:
        """Nothing is shown yet."""

    def __exit__(self, *error: object) -> None:
        self.clear()

    def show(self, what: str, done: int, total: int) -> None:
        """Write "what N %" if that has changed."""
        line = f"{what} {100 * done // max(1, total)} %"
        if line != self._shown and self._stream.isatty():
            self._stream.write("\r" + line)
            self._stream.flush()
            self._shown = line

    def clear(self) -> None:
        """Blank the line out, if there is one."""
        if self._shown:
            self._stream.write("\r" + " " * len(self._shown) + "\r")
            self._stream.flush()
            self._shown = ""


def banner(stats: GenerationStats, reason: FinishReason) -> str:
    """The line after an answer: tokens/s, tokens, seconds, and the end if it is no usual one.

    The first speed is that of decoding, the second that of reading the prompt. A single token has
    no decoding: its speed counts the whole time.
    """
    seconds = stats.prefill_s + stats.decode_s
    tokens = stats.generated_tokens
    speed = stats.decode_tokens_per_s or (tokens / seconds if seconds > 0 else 0.0)
    line = (
        f"[{speed:.1f} tokens/s, {tokens} token{'' if tokens == 1 else 's'}, {seconds:.1f} s; "
        f"prompt {stats.prompt_tokens} tokens"
    )
    if stats.reused_tokens:
        line += f", {stats.reused_tokens} reused"
    if stats.prefill_s > 0:
        line += f", {stats.prefill_tokens_per_s:.1f} tokens/s"
    if reason is not FinishReason.END:
        line += f"; ended by {reason.value}"
    return line + "]"


def shown_on(stream: TextIO, text: str) -> str:
    """`text` as it may be written to `stream`: without control characters on a terminal."""
    return text.translate(_PICTURES) if stream.isatty() else text


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
    if sys.stdin is None:  # the shell closed it
        raise EOFError
    if not sys.stdin.isatty():
        return input()
    if sys.stdout.isatty():
        return input("> ")
    # `input` would write its sign to stdout, which carries the answers alone.
    sys.stderr.write("> ")
    sys.stderr.flush()
    return input()


def error_line(error: EngineError) -> str:
    """`error` as one line."""
    return "error: " + " ".join(str(error).split())


def exit_code(error: EngineError) -> int:
    """2 for what other arguments or files would mend, 130 for Ctrl-C, else 1."""
    if isinstance(error, LoadCancelled):
        return EXIT_INTERRUPTED
    return EXIT_BAD_INPUT if isinstance(error, _BAD_INPUT) else EXIT_FAILED
