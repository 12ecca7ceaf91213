"""How long does a paste of 1 MB take? `python -m tests.gui.probe_paste [--megabytes 1] [--runs 3]`.

The real app on a profile of its own, offscreen; the text comes from the clipboard by the key. Its
tokens are counted by a real tokenizer (Qwen3's where ../shared has it, else the demo model's), on
the thread that the app has for that, while a 5 ms timer of the GUI thread records how late it is.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.engine_events import LoadRequest
from engine.api import ChatMessage, Engine, ThinkingParams
from engine.scripted_engine import ScriptedEngine, reply_of_texts, scripted_info
from engine.text.tokenizer import Tokenizer
from tests.gui.probe_streaming import GapMeter, Probe, share, wait, wait_until
from tests.gui.probe_texts import long_reply

ROOT = Path(__file__).resolve().parents[2]
QWEN3 = ROOT.parent / "shared" / "qwen3-0.6b"
DEMO = ROOT / "resources" / "demo_model"

TEXTS = {
    "prose": "The quick brown fox jumps over the lazy dog, and then it sleeps for a while.\n",
    "one paragraph": "The quick brown fox jumps over the lazy dog, and then it sleeps. ",
    "one word": "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo",
    "Chinese": "天空为什么是蓝色的？因为大气把短波散射得更多。\r\n",
}


class CountingEngine(ScriptedEngine):
    """Counts with a real tokenizer."""

    def __init__(self, folder: Path) -> None:
        super().__init__([reply_of_texts("", "Yes.")], info=scripted_info(capacity_tokens=40_960))
        self._tokenizer = Tokenizer.from_folder(folder)

    def count_tokens(self, messages: Sequence[ChatMessage]) -> int:
        """As a `TextEngine` does."""
        return len(self._tokenizer.render(messages, ThinkingParams()))


class PasteProbe(Probe):
    """The app with an engine that counts."""

    def _play(self, request: LoadRequest) -> Engine:
        return CountingEngine(QWEN3 if (QWEN3 / "tokenizer.json").is_file() else DEMO)


def text_of(pattern: str, size_bytes: int) -> str:
    """That pattern again and again, in so many bytes of UTF-8."""
    return pattern * (size_bytes // len(pattern.encode()) + 1)


def paste(probe: Probe, text: str) -> tuple[float, float, GapMeter]:
    """Paste it and wait for the count: (seconds to the chip on screen, seconds counted, gaps)."""
    window = probe.app.window
    row = window.composer.attachments
    QGuiApplication.clipboard().setText(text)
    wait(0.2)
    meter = GapMeter()
    meter.start()
    began = time.perf_counter()
    QTest.keySequence(window.composer.edit, QKeySequence.StandardKey.Paste)
    QApplication.processEvents()
    window.grab()
    pasted_s = time.perf_counter() - began
    if not row.chips:
        raise AssertionError("the paste is not shown")
    wait_until(lambda: row.chips[0].attachment.tokens is not None, 120.0)
    counted_s = time.perf_counter() - began
    wait(0.1)
    meter.stop()
    return pasted_s, counted_s, meter


def run(folder: Path, megabytes: float, runs: int) -> None:
    """Print the figures of each text."""
    probe = PasteProbe(folder, long_reply(10, 10), 3_000.0)
    for name, pattern in TEXTS.items():
        text = text_of(pattern, round(megabytes * 1e6))
        for _ in range(runs):
            pasted_s, counted_s, meter = paste(probe, text)
            chip = probe.app.window.composer.attachments.chips[0]
            worst = 1000 * share(meter.gaps_s, 1.0)
            print(
                f"{name}: pasted and drawn in {1000 * pasted_s:.0f} ms; {chip.text} after "
                f"{counted_s:.1f} s; worst gap of the GUI timer {worst:.0f} ms",
                flush=True,
            )
            chip.close_button.click()
    probe.close()


def main(words: list[str]) -> int:
    """Run the probe in a folder of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args(words)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    app = QApplication.instance() or QApplication(sys.argv[:1])
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), arguments.megabytes, arguments.runs)
    del app
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
