"""The real app, from its `main`, whose window is closed at a chosen stage.

`python -m tests.app.closing_app PROFILE STAGE [--hang]`. Prints "closing" as it closes the window.
With `--hang` the engine hears nothing from then on, as in a driver call that does not come back.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path

from PySide6.QtCore import QTimer

import app.main as app_main
from app.application import Application
from app.chat_view import ChatState
from app.engine_events import LoadRequest
from app.ui.wizard import WizardWindow
from app.wizard_view import WizardAction
from engine.api import Channel, Engine, Event, GenerationControl
from engine.scripted_engine import ScriptedEngine, ScriptedReply
from tests.demo_model.test_demo_first_run import catalog

STEP_MS = 20
LONG = ScriptedReply(
    (
        *((Channel.THINKING, " hm") for _ in range(40)),
        *((Channel.ANSWER, " so") for _ in range(4000)),
    )
)


class Stage(Enum):
    """When the window is closed."""

    LOAD = "load"
    DOWNLOAD = "download"
    PREFILL = "prefill"
    THINKING = "thinking"
    ANSWERING = "answering"
    ASKED = "asked"
    """In the same moment in which a question was sent: its title is being made."""


class ClosedEngine(ScriptedEngine):
    """Answers slowly; loads for ever where it is to be closed while it loads."""

    def __init__(self, stage: Stage, *, hangs: bool) -> None:
        super().__init__((LONG,), tokens_per_s=2.0 if stage is Stage.PREFILL else 100.0)
        self._stage = stage
        self._hangs = hangs
        self.reached = threading.Event()
        self.stands = threading.Event()
        """Set once it hangs, or need not hang."""
        if not hangs:
            self.stands.set()

    def _hang(self) -> None:
        self.stands.set()
        threading.Event().wait()

    def load(self, control: GenerationControl) -> Iterator[Event]:
        events = super().load(control)
        yield next(events)
        while self._stage is Stage.LOAD and not control.cancelled:
            self.reached.set()
            if self._hangs:
                self._hang()
            self._sleep(0.1)
        yield from events

    def step(self) -> list[Event]:
        if self._hangs and self.reached.is_set():
            self._hang()
        return super().step()


class Closer:
    """Uses the app like a hasty user, and closes it at the stage."""

    def __init__(self, application: Application, stage: Stage, engine: ClosedEngine) -> None:
        self._app = application
        self._stage = stage
        self._engine = engine
        self._asked = False
        self._timer = QTimer(application)
        self._timer.timeout.connect(self._on_tick)
        self._timer.start(STEP_MS)

    def _on_tick(self) -> None:
        if self._is_there():
            self._engine.reached.set()
        if self._engine.reached.is_set() and self._engine.stands.is_set():
            self._timer.stop()
            print("closing", flush=True)
            self._app.window.close()

    def _is_there(self) -> bool:
        app, stage = self._app, self._stage
        if stage is Stage.LOAD:
            return self._engine.reached.is_set()
        if stage is Stage.DOWNLOAD:
            return self._is_downloading()
        # A model whose load hung last time is not loaded by itself again, but when it is needed.
        told = any(notice.key == "model" for notice in app.window.notices.notices)
        if app.models.info is None and (self._asked or not told):
            return False
        if not self._asked:
            self._asked = True
            app.window.composer.set_text("A long one?")
            app.window.composer.edit.send_pressed.emit()
        states = {
            Stage.PREFILL: ChatState.PREFILLING,
            Stage.THINKING: ChatState.THINKING,
            Stage.ANSWERING: ChatState.ANSWERING,
        }
        if stage is Stage.ASKED:
            return True
        ready = app.models.info is not None
        return ready and app.chat.state_of(app.chats.shown_id) is states[stage]

    def _is_downloading(self) -> bool:
        wizard = self._app.wizard._window
        if not isinstance(wizard, WizardWindow):
            return False
        button = wizard.buttons.get(WizardAction.NEXT)
        if button is not None and button.isVisible() and button.isEnabled():
            button.click()
        return any(self._app.models.shelf.progress(model.model_id) > 0 for model in catalog())


def main(profile: Path, stage: Stage, *, hangs: bool) -> int:
    """Run the app until it has closed itself; its exit code."""
    engine = ClosedEngine(stage, hangs=hangs)
    closers: list[Closer] = []

    def play(request: LoadRequest) -> Engine:
        return engine

    def build(*arguments: object, make: Callable[..., Application] = Application) -> Application:
        application = make(*arguments)
        closers.append(Closer(application, stage, engine))
        return application

    app_main.build_scripted_engine = play
    app_main.Application = build  # type: ignore[misc, assignment]
    words = ["--profile", str(profile)]
    if stage is Stage.DOWNLOAD:
        _use_small_catalog()
    else:
        words.append("--scripted")
    return app_main.main(words)


def _use_small_catalog() -> None:
    import app.model_records
    import app.wizard_choices
    import engine.models.model_catalog
    from app.model_plans import plan_local_model
    from tests.demo_model.test_demo_first_run import FOLDER

    for module in (engine.models.model_catalog, app.model_records, app.wizard_choices):
        module.CATALOG = catalog()
    app.wizard_choices.plan_catalog_model = lambda model, resources, tokens, report: (
        plan_local_model(FOLDER, tokens, report)
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Stage(sys.argv[2]), hangs="--hang" in sys.argv[3:]))
