"""The log file, and what happens to errors that nobody caught: a log entry, never a traceback.

No chat text gets into the log: tracebacks are written without the messages of their exceptions,
which may quote what was being worked on. The full text stays in memory for "Copy details".
"""

from __future__ import annotations

import faulthandler
import logging
import sys
import threading
import traceback
from collections.abc import Callable
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

MAX_LOG_BYTES = 1_000_000
KEPT_LOGS = 3

logger = logging.getLogger(__name__)

_LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


class QuietFormatter(logging.Formatter):
    """Writes where an exception came from and its class, but not its message."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, with the stack where there is one."""
        # Another handler's formatter keeps its text, message included, on the record.
        kept, record.exc_text = record.exc_text, None
        try:
            return super().format(record)
        finally:
            record.exc_text = kept

    def formatException(self, ei: Any) -> str:  # noqa: ANN401 - as in logging.Formatter
        """The stack and the class of the exception."""
        kind, _, tb = ei
        stack = "".join(traceback.format_tb(tb)) if tb is not None else ""
        return f"{stack}{kind.__name__ if kind is not None else ''}"


def setup_logging(log_file: Path) -> None:
    """Log to a rotating file that the user alone can read; crashes of libraries go beside it."""
    # A log that cannot be written (disk full) is no reason to print a traceback each time.
    logging.raiseExceptions = False
    log_file.touch(mode=0o600)
    handler = RotatingFileHandler(
        log_file, maxBytes=MAX_LOG_BYTES, backupCount=KEPT_LOGS, encoding="utf-8"
    )
    handler.setFormatter(QuietFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    crash_file = log_file.with_name("crash.log")
    crash_file.touch(mode=0o600)
    _keep_crash_stream(crash_file.open("a", encoding="utf-8"))


_crash_streams: list[TextIO] = []


def _keep_crash_stream(stream: TextIO) -> None:
    """Faulthandler writes to the file's descriptor, so the file must stay open for good."""
    _crash_streams.append(stream)
    faulthandler.enable(stream)


class UncaughtErrors:
    """Takes over the hooks for uncaught exceptions of all threads and for Qt's messages.

    `on_error()` is called on the thread that failed; it must only pass the news on.
    """

    def __init__(self) -> None:
        self.on_error: Callable[[], None] = lambda: None
        self.details = ""
        """The last error in full, for "Copy details"."""

    def install(self) -> None:
        """Replace the hooks of the process."""
        sys.excepthook = self._on_exception
        threading.excepthook = self._on_thread_exception
        qInstallMessageHandler(_on_qt_message)

    def _on_exception(
        self, kind: type[BaseException], error: BaseException, tb: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            return
        self.details = "".join(traceback.format_exception(kind, error, tb))
        logger.error("uncaught error", exc_info=(kind, error, tb))
        self.on_error()

    def _on_thread_exception(self, args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            self._on_exception(args.exc_type, args.exc_value, args.exc_traceback)


def _on_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str) -> None:
    logging.getLogger("qt").log(_LEVELS.get(kind, logging.WARNING), "%s", message)
