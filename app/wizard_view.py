"""The seam between the wizard's controller and its window: what is shown, and what is asked.

`WizardView` is implemented by `app.ui.wizard.WizardWindow`, whose signals are

    action_requested(str)    a button of the footer or a page: one of `WizardAction`'s values
    option_chosen(str)       option_id
    path_chosen(str)         a folder or file that the user picked
    closing()                the window is about to close
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol


class WizardPage(Enum):
    """The steps, in order."""

    CHECK = "check"
    CHOOSE = "choose"
    DOWNLOAD = "download"
    VERIFY = "verify"
    ANSWER = "answer"


class WizardAction(Enum):
    """What a button of the wizard asks for."""

    NEXT = "next"
    BACK = "back"
    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    RETRY = "retry"
    CHECK_AGAIN = "check_again"
    TRY_DEMO = "try_demo"
    DELETE_PARTIAL = "delete_partial"
    START_CHATTING = "start_chatting"


class CheckState(Enum):
    """How one check ended."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class CheckItem:
    """One line of the check: what was looked at, what was found, and what that means."""

    key: str
    label: str
    found: str
    state: CheckState = CheckState.OK
    advice: str = ""


@dataclass(frozen=True, slots=True)
class WizardButton:
    """A button of the footer, left to right; the primary one answers Enter."""

    action: WizardAction
    label: str
    enabled: bool = True
    primary: bool = False


@dataclass(frozen=True, slots=True)
class ModelOption:
    """A way to get a model; `memory_text` says what it needs here, `problem` why it cannot be."""

    option_id: str
    label: str
    detail: str
    memory_text: str = ""
    problem: str = ""
    takes_path: bool = False
    partial_text: str = ""


class FileState(Enum):
    """Where one row of the download stands."""

    WAITING = "waiting"
    RUNNING = "running"
    CHECKED = "checked"


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file, or several small ones, with its bytes and what is written at the right."""

    label: str
    share: float
    amount: str
    state: FileState


@dataclass(frozen=True, slots=True)
class DownloadPage:
    """The download, or the check of what was downloaded."""

    title: str
    detail: str
    rows: tuple[FileRow, ...]
    total: FileRow
    speed_text: str = ""
    disk_text: str = ""
    waiting_text: str = ""
    offers_demo: bool = False


@dataclass(frozen=True, slots=True)
class AnswerPage:
    """The first answer; `share` of the loading is None once the model is there."""

    title: str
    detail: str
    question: str
    share: float | None = None
    answer: str = ""
    numbers_text: str = ""


@dataclass(frozen=True, slots=True)
class FailurePage:
    """What happened, what was kept, what to do; shown inside the step where it happened."""

    title: str
    happened: str
    kept: str
    advice: str
    details: str = ""


class WizardView(Protocol):
    """What the controller may tell the window; called on the GUI thread only."""

    def show_page(self, page: WizardPage, steps: Sequence[WizardPage]) -> None:
        """List `steps`, mark `page` and, as done, the earlier ones; show its page."""
        ...

    def show_buttons(self, buttons: Sequence[WizardButton]) -> None:
        """Replace the footer's buttons."""
        ...

    def show_checks(self, items: Sequence[CheckItem], *, running: bool) -> None:
        """Fill the check page; with `running` the items are those of the last time, if any."""
        ...

    def show_options(self, options: Sequence[ModelOption], chosen_id: str) -> None:
        """Fill the choose page."""
        ...

    def show_download(self, page: DownloadPage) -> None:
        """Fill the download page."""
        ...

    def show_verify(self, page: DownloadPage) -> None:
        """Fill the verify page."""
        ...

    def show_answer(self, page: AnswerPage) -> None:
        """Fill the page of the first answer."""
        ...

    def show_failure(self, page: FailurePage) -> None:
        """Show a failure in place of the current step's page."""
        ...

    def open_window(self) -> None:
        """Show the window and bring it to the front."""
        ...

    def close_window(self) -> None:
        """Close the window, without `closing`."""
        ...
