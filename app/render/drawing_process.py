"""Formulas and code colours from a process of their own, for the thread that asks for them.

Both are long runs of pure Python. On a thread of this process they would hold the interpreter's
lock for most of the time while a fast model writes formulas: the window then waits a millisecond
at each step and the engine loses a third of its tokens (docs/decisions/004). Where the process
cannot be started, or dies twice, the same functions run here.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.render.code_colors import ColoredRun, color_lines
from app.render.formulas import FormulaImage, render_formula

MAX_JOB_S = 20.0
MAX_STARTS = 3

_ROOT = Path(__file__).resolve().parents[2]

logger = logging.getLogger(__name__)


def child_command() -> tuple[str, ...]:
    """How to start the child; empty in a frozen app, whose executable is not a Python."""
    if getattr(sys, "frozen", False):
        return ()
    return (sys.executable, "-m", "app.render.drawing_child")


class DrawingProcess:
    """All methods belong to one thread, but for `close`.

    Args:
        command: starts the child; empty to do the work here.
        max_job_s: a job that takes longer is given up, and the child with it.
    """

    def __init__(self, command: Sequence[str], max_job_s: float = MAX_JOB_S) -> None:
        self._command = tuple(command)
        self._max_job_s = max_job_s
        self._starts_left = MAX_STARTS if command else 0
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._closed = False

    def formula(self, tex: str, size_px: int, display: bool) -> FormulaImage | None:
        """As `render_formula`; None also for one that takes too long."""
        if not self._ensure_child():
            return render_formula(tex, size_px, display)
        found = self._ask(["formula", tex, size_px, display])
        return None if not found else FormulaImage(*found)

    def colors(self, source: str, language: str) -> tuple[tuple[ColoredRun, ...], ...]:
        """As `color_lines`; plain for code that takes too long."""
        if not self._ensure_child():
            return color_lines(source, language)
        lines = self._ask(["colors", source, language])
        if lines is None:
            return color_lines(source, "")
        return tuple(tuple(ColoredRun(*run) for run in runs) for runs in lines)

    def warm_up(self) -> None:
        """Start the child and let it import what the first formula and code block need."""
        self.formula("x", 15, False)
        self.colors("x = 1", "python")

    def close(self) -> None:
        """End the child; jobs asked for later are done here."""
        with self._lock:
            self._closed = True
            child = self._child
        if child is not None:
            self._end(child)

    def _ensure_child(self) -> bool:
        with self._lock:
            if self._child is not None:
                return True
            if self._closed or self._starts_left == 0:
                return False
            self._starts_left -= 1
            try:
                self._child = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    cwd=_ROOT,
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                )
            except OSError as error:
                logger.warning("the drawing process did not start: %s", error)
                self._starts_left = 0
        return self._child is not None

    # Any: what JSON gives; its shape is that of `drawing_child.answer`.
    def _ask(self, job: list[object]) -> list[Any] | None:
        """The child's answer; None where it died of the job or was given up."""
        child = self._child
        assert child is not None
        assert child.stdin is not None
        assert child.stdout is not None
        watchdog = threading.Timer(self._max_job_s, child.kill)
        watchdog.start()
        try:
            child.stdin.write(json.dumps(job).encode() + b"\n")
            child.stdin.flush()
            line = child.stdout.readline()
        except (OSError, ValueError):
            line = b""  # the child is gone; ValueError: `close` has closed its pipes meanwhile
        finally:
            watchdog.cancel()
        if line.endswith(b"\n"):
            result: list[Any] | None = json.loads(line)
            return result
        with self._lock:
            self._child = None
            if not self._closed:
                logger.warning("the drawing process ended over a job of %d chars", len(str(job)))
        self._end(child)
        return None

    def _end(self, child: subprocess.Popen[bytes]) -> None:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    # What was still to be written to a child that is gone.
                    logger.debug("a pipe of the drawing process was already broken")
