"""A long reply streams into a long chat: `python -m tests.gui.probe_long_chat [options]`.

500 stored messages of 1 MB are opened, and an answer of 3,000 lines arrives at 3,000 tokens/s. A
5 ms timer of the GUI thread records how late it is called; the widgets in the window are counted,
and the memory of the process after each of several such replies in the same chat.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import QApplication

from app.conversation import Conversation, Reply
from app.conversation_database import open_store
from app.paths import ensure_folders, paths_for
from tests.gui.probe_streaming import GapMeter, Probe, resident_mb, share, wait, wait_until
from tests.gui.probe_texts import long_chat, long_reply

CHAT_ID = "long"
THINKING_TOKENS = 200


@dataclass(frozen=True)
class Figures:
    """What one reply showed."""

    gaps_s: list[float]
    busy_s: list[float]
    tokens_per_s: float
    most_built: int
    """Exchanges that had widgets at the same time."""
    resident_mb: float
    reply: Reply

    def line(self) -> str:
        """All of it in words."""
        p99, worst = (1000 * share(self.gaps_s, part) for part in (0.99, 1.0))
        return (
            f"gaps p99 {p99:.0f}, worst {worst:.0f} ms; {self.tokens_per_s:,.0f} tokens/s; at most "
            f"{self.most_built} exchanges built; {self.resident_mb:.0f} MB"
        )


class LongChat:
    """The app with a long chat open."""

    def __init__(self, folder: Path, messages: int, lines: int, tokens_per_s: float) -> None:
        paths = paths_for(folder)
        ensure_folders(paths)
        store = open_store(paths.database_file, 0.0).store
        self.exchanges = long_chat(messages, messages * 2_000)
        for exchange in self.exchanges:
            store.save_exchange(Conversation(CHAT_ID, "Long"), exchange)
        store.close()
        reply = long_reply(THINKING_TOKENS, lines)
        self._probe = Probe(folder, reply, tokens_per_s, capacity_tokens=2_000_000)
        self.window = self._probe.app.window
        self.window.conversation_selected.emit(CHAT_ID)
        wait_until(lambda: len(self.window.transcript.exchange_ids) == len(self.exchanges), 60.0)

    def ask(self) -> Figures:
        """Ask in the long chat and watch until the reply is there and drawn."""
        transcript = self.window.transcript
        before, most_built = len(transcript.exchange_ids), 0
        meter = GapMeter()

        def is_over() -> bool:
            nonlocal most_built
            most_built = max(most_built, len(transcript.built_ids))
            return self._probe._is_done() and not transcript.is_behind

        meter.start()
        self.window.composer.set_text("And once more?")
        self.window.composer.edit.send_pressed.emit()
        wait_until(lambda: len(transcript.exchange_ids) > before, 60.0)
        wait_until(is_over)
        meter.stop()
        meter.deleteLater()
        wait(1.5)  # the app gives free memory back within a second or so
        gc.collect()
        reply = self._probe.app.chats.shown.exchanges[-1].reply
        assert reply is not None
        rate = self._probe.engine.delivered_tokens_per_s
        return Figures(meter.gaps_s, meter.busy_s, rate, most_built, resident_mb(), reply)

    def close(self) -> None:
        """End all threads."""
        self._probe.close()


def main(words: list[str]) -> int:
    """Print the figures of each reply."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=500)
    parser.add_argument("--answer-lines", type=int, default=3_000)
    parser.add_argument("--rate", type=float, default=3_000.0, help="tokens per second")
    parser.add_argument("--runs", type=int, default=4)
    arguments = parser.parse_args(words)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication.instance() or QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        chat = LongChat(Path(folder), arguments.messages, arguments.answer_lines, arguments.rate)
        for number in range(arguments.runs):
            print(f"reply {number + 1}: {chat.ask().line()}", flush=True)
        chat.close()
    del app
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
