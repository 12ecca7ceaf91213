"""The app as a user has it after set-up: `make run` on a profile that does not exist yet."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.real.driven_app import DrivenApp, wait_for, xdotool

WINDOW, WIZARD = "Thinkpane", "Set up Thinkpane"


def focused_window() -> str:
    """Title of the window that has the keyboard."""
    return xdotool("getwindowfocus", "getwindowname").strip()


class FreshApp(DrivenApp):
    """`make run` and the application that it starts, driven by keys."""

    def __init__(self, profile: Path) -> None:
        super().__init__(profile, profile)

    def command(self) -> list[str]:
        """What the README tells a user to type; the profile keeps it off the real one."""
        return ["make", "--no-print-directory", "run", f"ARGS=--profile {self.profile}"]

    def _has_focus(self) -> bool:
        assert self.process.poll() is None, f"the app ended: {self.output()}"
        return focused_window() in (WINDOW, WIZARD)

    def try_the_demo_model(self) -> None:
        """Press the button of the wizard's first page, which has the focus when it opens."""
        wait_for(lambda: focused_window() == WIZARD, "the wizard")
        self.press("space")
        wait_for(lambda: focused_window() == WINDOW, "the window behind the wizard")

    def kill(self) -> None:
        """End make and the application without warning."""
        for child in _children(self.process.pid):
            os.kill(child, signal.SIGKILL)
        super().kill()


def _children(pid: int) -> list[int]:
    """Process ids of the direct children."""
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii")
    return [int(word) for word in text.split()]
