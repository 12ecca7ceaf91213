"""Does the window stay awake? `python -m tests.gui.probe_streaming stream|stop|open|memory`.

The real app with its real threads and database, on a profile of its own; only the model is a
script. A 5 ms timer of the GUI thread records how late it is called.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, QObject, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.application import Application, StartOptions
from app.conversation import Conversation, Exchange, ReplyStatus
from app.conversation_database import open_store
from app.engine_events import LoadRequest, ModelLoaded
from app.engine_thread import EngineThread
from app.logging_setup import UncaughtErrors
from app.model_records import ModelRecord
from app.paths import ensure_folders, paths_for
from app.settings_file import load_profile
from engine.api import (
    ChatMessage,
    Engine,
    Event,
    Failed,
    Finished,
    GenerationRequest,
    PrefillProgress,
    Role,
    ThinkingParams,
)
from engine.scripted_engine import ScriptedEngine, ScriptedReply, scripted_info
from tests.gui.probe_texts import long_chat, long_reply

TICK_MS = 5
PYTHON_S_PER_TOKEN = 0.0001
TOKENS_AHEAD = 96
"""As many tokens as a device may be ahead of Python; then it waits: 32 ms at 3,000 a second."""

MODEL = ModelRecord("m1", "Script", Path(sys.executable))


class PacedEngine(ScriptedEngine):
    """Gives tokens at the pace of a device and burns Python for each, as a real loop would."""

    def __init__(
        self, reply: ScriptedReply, tokens_per_s: float, capacity_tokens: int = 200_000
    ) -> None:
        super().__init__([reply], info=scripted_info(capacity_tokens=capacity_tokens))
        self._token_s = 1 / tokens_per_s
        self._next_at = 0.0
        self.first_at = 0.0
        self.last_at = 0.0
        self.tokens = 0

    @property
    def delivered_tokens_per_s(self) -> float:
        """Tokens of the last reply by the time that they took."""
        return (self.tokens - 1) / (self.last_at - self.first_at)

    def submit(self, request: GenerationRequest, control: object) -> None:
        """Begin; counts start anew."""
        self.tokens = 0
        super().submit(request, control)  # type: ignore[arg-type]

    def step(self) -> list[Event]:
        """One token, as soon as the device has it."""
        now = time.perf_counter()
        if self.tokens == 0:
            self._next_at = now
        # A device that is too far ahead waits for Python, and that time is lost.
        self._next_at = max(self._next_at, now - TOKENS_AHEAD * self._token_s)
        if self._next_at > now:
            time.sleep(self._next_at - now)
        until = time.thread_time() + PYTHON_S_PER_TOKEN
        events = super().step()
        if events and not isinstance(events[-1], PrefillProgress | Finished | Failed):
            while time.thread_time() < until:
                pass
            self.last_at = time.perf_counter()
            if self.tokens == 0:
                self.first_at = self._next_at = self.last_at
            self.tokens += 1
            self._next_at += self._token_s
        return events


class GapMeter(QObject):
    """Records the time between calls of a 5 ms timer, and the GUI thread's own CPU time in it."""

    def __init__(self) -> None:
        super().__init__()
        self.gaps_s: list[float] = []
        self.busy_s: list[float] = []
        self._last = (0.0, 0.0)
        self._timer = QTimer(self)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._on_tick)

    def start(self) -> None:
        """Begin to record."""
        self.gaps_s.clear()
        self.busy_s.clear()
        self._last = (time.perf_counter(), time.thread_time())
        self._timer.start(TICK_MS)

    def stop(self) -> None:
        """End."""
        self._on_tick()
        self._timer.stop()

    def _on_tick(self) -> None:
        now = (time.perf_counter(), time.thread_time())
        self.gaps_s.append(now[0] - self._last[0])
        self.busy_s.append(now[1] - self._last[1])
        self._last = now


def share(values: list[float], part: float) -> float:
    """The value below which that part of all values lies; 1.0 gives the largest."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def wait_until(condition: Callable[[], bool], timeout_s: float = 600.0) -> None:
    """Run the event loop until it holds. Raises TimeoutError."""
    loop = QEventLoop()
    until = time.monotonic() + timeout_s
    timer = QTimer()
    timer.timeout.connect(lambda: (condition() or time.monotonic() > until) and loop.quit())
    timer.start(20)
    loop.exec()
    timer.stop()
    if not condition():
        raise TimeoutError(f"nothing came of it in {timeout_s:.0f} s")


def wait(seconds: float) -> None:
    """Run the event loop for so long."""
    loop = QEventLoop()
    QTimer.singleShot(round(seconds * 1000), loop.quit)
    loop.exec()


@dataclass(frozen=True)
class StreamFigures:
    """What one streamed reply showed."""

    gaps_s: list[float]
    busy_s: list[float]
    tokens_per_s: float
    tokens: int

    def lines(self) -> list[str]:
        """The figures in words, milliseconds each."""
        p50, p99, worst = (1000 * share(self.gaps_s, part) for part in (0.5, 0.99, 1.0))
        busy = 1000 * share(self.busy_s, 1.0)
        return [
            f"gaps of a {TICK_MS} ms GUI timer: p50 {p50:.1f}, p99 {p99:.1f}, worst {worst:.1f} ms",
            f"GUI thread's own CPU time in one gap: at most {busy:.1f} ms",
            f"delivered with the window: {self.tokens_per_s:,.0f} tokens/s of {self.tokens:,}",
        ]


class Probe:
    """The app on a fresh profile with a scripted model."""

    def __init__(
        self,
        folder: Path,
        reply: ScriptedReply,
        tokens_per_s: float,
        capacity_tokens: int = 200_000,
    ) -> None:
        self.paths = paths_for(folder)
        ensure_folders(self.paths)
        self.engine = PacedEngine(reply, tokens_per_s, capacity_tokens)
        options = StartOptions(only_models=(MODEL,))
        loaded = load_profile(self.paths.settings_file)
        self.app = Application(self.paths, loaded, self._play, options, UncaughtErrors())
        self.app.leave = lambda code: None
        self.app.show()
        self.app.window.resize(1440, 900)
        wait(1.5)

    def _play(self, request: LoadRequest) -> Engine:
        return self.engine

    def ask(self, question: str) -> StreamFigures:
        """Ask in a new chat, and watch until the reply is there."""
        self.app.window.new_chat_requested.emit()
        wait(0.2)
        meter = GapMeter()
        meter.start()
        self.app.window.composer.set_text(question)
        self.app.window.composer.edit.send_pressed.emit()
        wait_until(self._is_done)
        wait(0.5)
        meter.stop()
        meter.deleteLater()
        engine = self.engine
        return StreamFigures(
            meter.gaps_s, meter.busy_s, engine.delivered_tokens_per_s, engine.tokens
        )

    @property
    def has_stopped(self) -> bool:
        """Whether the reply was stopped and nothing more is to come."""
        reply = self.app.chats.shown.exchanges[-1].reply
        stopped = reply is not None and reply.status is ReplyStatus.STOPPED
        return stopped and not self.app.chat.is_busy(self.app.chats.shown.conversation_id)

    def _is_done(self) -> bool:
        exchanges = self.app.chats.shown.exchanges
        reply = exchanges[-1].reply if exchanges else None
        return reply is not None and reply.status is not ReplyStatus.RUNNING

    def close(self) -> None:
        """End all threads."""
        self.app.window.close()
        wait_until(lambda: self.app._closed, 20.0)
        self.app.window.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def tokens_per_s_without_window(reply: ScriptedReply, tokens_per_s: float) -> float:
    """The same engine on the same thread, its events received and thrown away."""
    engine = PacedEngine(reply, tokens_per_s)
    ends: list[object] = []

    def on_event(event: object) -> None:
        if isinstance(event, ModelLoaded | Finished):
            ends.append(event)

    thread = EngineThread(lambda request: engine, on_event)
    thread.start()
    thread.load(LoadRequest("l1", MODEL.model_id, MODEL.path, "cpu", 200_000))
    wait_until(lambda: len(ends) == 1)
    question = ChatMessage(Role.USER, "Think long.")
    thread.generate(GenerationRequest("r1", (question,), thinking=ThinkingParams(True)))
    wait_until(lambda: len(ends) == 2)
    thread.shutdown(5.0)
    return engine.delivered_tokens_per_s


def probe_stream(folder: Path, arguments: argparse.Namespace) -> None:
    """Gaps and tokens per second while a long reply streams in."""
    reply = long_reply(arguments.thinking_tokens, arguments.answer_lines)
    alone = tokens_per_s_without_window(reply, arguments.rate)
    probe = Probe(folder, reply, arguments.rate)
    for _ in range(arguments.runs):
        figures = probe.ask("Think long.")
        print("\n".join(figures.lines()))
        part = figures.tokens_per_s / alone
        print(f"without the window: {alone:,.0f} tokens/s, so {part:.1%} are delivered", flush=True)
    probe.close()


def probe_stop(folder: Path, arguments: argparse.Namespace) -> None:
    """Milliseconds from Esc until a reply has stopped and the next question may be sent."""
    probe = Probe(folder, long_reply(arguments.thinking_tokens, arguments.answer_lines), 3_000)
    window, taken = probe.app.window, []
    for number in range(arguments.runs):
        window.new_chat_requested.emit()
        wait(0.2)
        window.composer.set_text("Think long.")
        window.composer.edit.send_pressed.emit()
        wait(0.5 + number * 0.7)  # another place of the reply each time
        began = time.perf_counter()
        QTest.keyClick(window.composer.edit, Qt.Key.Key_Escape)
        loop, timer = QEventLoop(), QTimer()
        timer.timeout.connect(lambda loop=loop: probe.has_stopped and loop.quit())
        timer.start(1)
        QTimer.singleShot(20_000, loop.quit)
        loop.exec()
        taken.append(1000 * (time.perf_counter() - began))
        timer.stop()
    print("idle after", ", ".join(f"{ms:.0f}" for ms in taken), "ms", flush=True)
    probe.close()


def probe_open(folder: Path, arguments: argparse.Namespace) -> None:
    """Seconds to open a stored chat of 500 messages and 1 MB, and per key typed afterwards."""
    paths = paths_for(folder)
    ensure_folders(paths)
    store = open_store(paths.database_file, 0.0).store
    exchanges = long_chat(500, 1_000_000)
    for number in range(arguments.runs):
        chat = Conversation(f"long-{number}", "Long")
        for exchange in exchanges:
            store.save_exchange(chat, _renamed(exchange, number))
    store.close()
    probe = Probe(folder, long_reply(10, 10), arguments.rate)
    for number in range(arguments.runs):
        _open_and_type(probe, f"long-{number}")
    probe.close()


def _renamed(exchange: Exchange, number: int) -> Exchange:
    replies = tuple(
        replace(each, reply_id=f"{each.reply_id}-{number}") for each in exchange.replies
    )
    return replace(exchange, exchange_id=f"{exchange.exchange_id}-{number}", replies=replies)


def _open_and_type(probe: Probe, conversation_id: str) -> None:
    window = probe.app.window
    window.new_chat_requested.emit()
    wait(0.3)
    meter = GapMeter()
    meter.start()
    began = time.perf_counter()
    window.conversation_selected.emit(conversation_id)
    wait_until(lambda: len(window.transcript.exchange_ids) > 2, 30.0)
    window.grab()
    shown_s = time.perf_counter() - began
    keys, busy = [], []
    for key in "typing goes on at once while the rest is built ":
        began, began_cpu = time.perf_counter(), time.thread_time()
        QTest.keyClick(window.composer.edit, key)
        QApplication.processEvents()
        keys.append(1000 * (time.perf_counter() - began))
        busy.append(1000 * (time.thread_time() - began_cpu))
        wait(0.03)
    meter.stop()
    print(f"first screen after {shown_s:.3f} s; a key takes at most {max(keys):.0f} ms")
    print(f"the GUI thread's own CPU time of a key: at most {max(busy):.0f} ms")
    worst = 1000 * share(meter.gaps_s, 1.0)
    print(f"worst gap of the GUI timer meanwhile: {worst:.0f} ms", flush=True)
    window.composer.set_text("")


def resident_mb() -> float:
    """Resident memory of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError("no VmRSS in /proc/self/status")


def probe_memory(folder: Path, arguments: argparse.Namespace) -> None:
    """Resident memory after each of several long replies, each in a new chat."""
    reply = long_reply(arguments.thinking_tokens, arguments.answer_lines)
    probe = Probe(folder, reply, arguments.rate)
    sizes = []
    for number in range(arguments.runs):
        probe.ask(f"Think long, {number}.")
        probe.app.window.new_chat_requested.emit()
        # The app gives free memory back within a second after another chat is shown.
        wait(2.5)
        gc.collect()
        sizes.append(resident_mb())
        grown = sizes[-1] / sizes[0] - 1
        print(f"after run {number + 1}: {sizes[-1]:.1f} MB, {grown:+.1%} since run 1", flush=True)
    probe.close()


def main(words: list[str]) -> int:
    """Run one of the probes in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    probes = {"stream": probe_stream, "stop": probe_stop, "open": probe_open}
    probes["memory"] = probe_memory
    parser.add_argument("probe", nargs="?", default="stream", choices=tuple(probes))
    parser.add_argument("--thinking-tokens", type=int, default=20_000)
    parser.add_argument("--answer-lines", type=int, default=3_000)
    parser.add_argument("--rate", type=float, default=3_000.0, help="tokens per second")
    parser.add_argument("--runs", type=int, default=1)
    arguments = parser.parse_args(words)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication.instance() or QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        probes[arguments.probe](Path(folder), arguments)
    del app
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
