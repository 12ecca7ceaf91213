"""The composition root: command line, profile, one instance, the event loop, the way out."""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QMessageBox

from app import __version__
from app.application import Application, StartOptions
from app.engine_builder import build_engine, build_scripted_engine, scripted_model
from app.engine_thread import EngineFactory
from app.fault_text import os_reason
from app.input_method import input_method_environment, installed_plugins
from app.language import SYSTEM, Language, translate
from app.logging_setup import UncaughtErrors, setup_logging
from app.memory_estimate import estimate_memory, no_estimate
from app.paths import Paths, ensure_folders, paths_for, resource_dir
from app.self_test import run_self_test
from app.settings import with_value
from app.settings_file import LoadedProfile, load_profile
from app.single_instance import SingleInstance
from engine.errors import FolderNotWritable

EXIT_BAD_START = 2
NO_DISPLAY = (
    "Thinkpane needs a desktop: neither DISPLAY nor WAYLAND_DISPLAY is set. Start it in a "
    "graphical session; `python -m engine chat` answers in a terminal."
)
_SIGNAL_POLL_MS = 200


class _OneLineParser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage block."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit with 2."""
        self.exit(EXIT_BAD_START, f"{self.prog}: {message}; see --help\n")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The command line."""

    profile: Path | None
    model: Path | None
    device: str | None
    self_test: bool
    scripted: bool
    open_chat: str
    restarts: int


def _path(word: str) -> Path:
    """A path of the command line; Qt and the settings file hold only names that are text."""
    if not word.strip():
        raise argparse.ArgumentTypeError("expected a path, found an empty word")
    try:
        word.encode("utf-8")
    except UnicodeEncodeError:
        shown = word.encode("utf-8", "backslashreplace").decode("ascii", "replace")
        raise argparse.ArgumentTypeError(
            f"the name {shown} is not valid UTF-8; rename it"
        ) from None
    return Path(word)


def parse_arguments(argv: Sequence[str]) -> Arguments:
    """Read the command line; exits with 2 and one line where it is wrong."""
    parser = _OneLineParser(prog="thinkpane", description="A private local chat.")
    parser.add_argument("--profile", type=_path, metavar="DIR", help="keep everything under DIR")
    parser.add_argument("--model", type=_path, metavar="PATH", help="a model folder or GGUF to use")
    parser.add_argument(
        "--device", choices=("auto", "cuda", "cpu"), help="what computes; kept as the setting"
    )
    parser.add_argument(
        "--self-test", action="store_true", help="answer once with the demo model, and end"
    )
    parser.add_argument(
        "--scripted", action="store_true", help="replay written replies instead of a model"
    )
    parser.add_argument("--open-chat", default="", metavar="ID", help="the chat to show first")
    parser.add_argument("--restarts", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=f"Thinkpane {__version__}")
    found = parser.parse_args(argv)
    if found.model is not None and not found.model.exists():
        parser.error(f"--model: {found.model} does not exist")
    if found.profile is not None and found.profile.exists() and not found.profile.is_dir():
        parser.error(f"--profile: {found.profile} is not a folder")
    return Arguments(**vars(found))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the app; returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = parse_arguments(words)
    if arguments.self_test:
        return run_self_test()
    if not has_display(os.environ, sys.platform):
        print_line(NO_DISPLAY, error=True)
        return EXIT_BAD_START
    daemon = shutil.which("ibus-daemon") is not None
    os.environ |= input_method_environment(
        os.environ, installed_plugins(), sys.platform, has_ibus_daemon=daemon
    )
    qt = QApplication(sys.argv[:1])
    qt.setApplicationName("Thinkpane")
    qt.setDesktopFileName("thinkpane")
    qt.setQuitOnLastWindowClosed(False)
    language = Language(resource_dir() / "translations")
    language.use(SYSTEM)
    paths = paths_for(arguments.profile)
    try:
        ensure_folders(paths)
    except FolderNotWritable as error:
        return _refuse(
            translate(
                "Start",
                "Thinkpane cannot keep anything: {path} cannot be written to ({reason}). "
                "Make it writable, or start with --profile and another folder.",
            ).format(path=error.path, reason=os_reason(error.errno))
        )
    instance = SingleInstance(paths.lock_file)
    if not instance.acquire():
        return _leave_to_other(instance, paths)
    errors = _begin_logging(paths)
    application = Application(
        paths,
        _load(paths, arguments),
        _factory(paths, arguments),
        start_options(arguments),
        errors,
        language,
    )
    errors.on_error = application.on_uncaught_error
    instance.raised = application.raise_window
    application.relaunch = partial(_relaunch, words, instance)
    _watch_for_signals(application)
    application.show()
    code = qt.exec()
    instance.release()
    return code


def has_display(environment: Mapping[str, str], platform: str) -> bool:
    """Whether a window can be opened; where none can, Qt would abort the process."""
    names = ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    return platform != "linux" or any(environment.get(name) for name in names)


def _load(paths: Paths, arguments: Arguments) -> LoadedProfile:
    loaded = load_profile(paths.settings_file)
    if arguments.device is None:
        return loaded
    profile = loaded.profile
    settings = with_value(profile.settings, "device", arguments.device)
    return LoadedProfile(profile.with_settings(settings), loaded.notices)


def _factory(paths: Paths, arguments: Arguments) -> EngineFactory:
    if arguments.scripted:
        return build_scripted_engine
    return partial(build_engine, paths.models_dir, paths.kernel_cache_dir)


def start_options(arguments: Arguments) -> StartOptions:
    """What the application is to begin with."""
    return StartOptions(
        open_chat=arguments.open_chat,
        model_path=arguments.model,
        only_models=(scripted_model(),) if arguments.scripted else None,
        estimate=no_estimate if arguments.scripted else estimate_memory,
        restarts=arguments.restarts,
    )


def _begin_logging(paths: Paths) -> UncaughtErrors:
    setup_logging(paths.log_file)
    # CuPy reads this when it is imported, later and on the engine thread.
    os.environ["CUPY_CACHE_DIR"] = str(paths.kernel_cache_dir)
    errors = UncaughtErrors()
    errors.install()
    return errors


def _leave_to_other(instance: SingleInstance, paths: Paths) -> int:
    if not instance.held_by_other:
        return _refuse(
            translate(
                "Start",
                "The profile {data_dir} cannot be locked: {lock_file} could not be made. "
                "Free some space on that disk, or start with --profile and another folder.",
            ).format(data_dir=paths.data_dir, lock_file=paths.lock_file)
        )
    if instance.raise_other():
        print_line(
            translate(
                "Start", "Thinkpane is already running with this profile; its window was shown."
            )
        )
        return 0
    return _refuse(
        translate(
            "Start",
            "Another Thinkpane is using the profile {data_dir} and does not answer. "
            "Close it, or start with --profile and another folder.",
        ).format(data_dir=paths.data_dir)
    )


def _refuse(text: str) -> int:
    """Say why the app cannot start, on the terminal and in a window."""
    print_line(text, error=True)
    if QApplication.platformName() not in ("offscreen", "minimal"):
        QMessageBox.critical(None, "Thinkpane", text)
    return EXIT_BAD_START


def print_line(text: str, *, error: bool = False) -> None:
    """Write a line to the terminal, where there is one (a windowed build has none)."""
    stream = sys.stderr if error else sys.stdout
    if stream is not None:
        stream.write(f"{text}\n")
        stream.flush()


def _watch_for_signals(application: Application) -> None:
    """Ctrl-C and a polite kill close the window in order."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: application.window.close())
    # Python runs signal handlers between byte codes only; Qt's loop must come back to it.
    timer = QTimer(application)
    timer.timeout.connect(_let_python_run)
    timer.start(_SIGNAL_POLL_MS)


def _let_python_run() -> None:
    """Nothing to do: being called is enough."""


def relaunch_command(words: Sequence[str], chat_id: str, restarts: int) -> list[str]:
    """The command that starts this app again, in the same chat, with the same arguments."""
    frozen = getattr(sys, "frozen", False)
    base = [sys.executable] if frozen else [sys.executable, "-m", "app"]
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in ("--open-chat", "--restarts"):
            skip = True
        elif not word.startswith(("--open-chat=", "--restarts=")):
            kept.append(word)
    chat = ["--open-chat", chat_id] if chat_id else []
    return [*base, *kept, *chat, "--restarts", str(restarts)]


def _relaunch(words: Sequence[str], instance: SingleInstance, chat_id: str, restarts: int) -> None:
    """Replace the process; only a new one gets the GPU back after a sticky error."""
    instance.release()
    command = relaunch_command(words, chat_id, restarts)
    if os.name == "nt":
        # There execv returns to the shell at once; a child does not.
        subprocess.Popen(command)
        os._exit(0)
    os.execv(command[0], command)
