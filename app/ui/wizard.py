"""The first-run window: steps at the left, the page, buttons below. Satisfies `WizardView`."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QStackedWidget, QVBoxLayout, QWidget

from app.ui.controls import TextButton, label, set_role
from app.ui.theme import Theme
from app.ui.window_place import centred_inside
from app.ui.wizard_answer import FirstAnswerPage
from app.ui.wizard_check import CheckPage
from app.ui.wizard_choose import ChoosePage
from app.ui.wizard_failure import FailurePageArea
from app.ui.wizard_parts import discard
from app.ui.wizard_transfer import TransferPage
from app.wizard_view import (
    AnswerPage,
    CheckItem,
    DownloadPage,
    FailurePage,
    ModelOption,
    WizardAction,
    WizardButton,
    WizardPage,
)


class StepList(QWidget):
    """The steps; those behind carry a tick, the present one is bold."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        metrics = theme.metrics
        self.setObjectName("wizardSteps")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(
            metrics.gap_l + metrics.gap_xs, metrics.gap_xl, metrics.gap_s, metrics.gap_xl
        )
        self._column.setSpacing(0)
        self._column.addStretch(1)
        self.labels: dict[WizardPage, QLabel] = {}
        theme.changed.connect(self._fit)
        self._fit()

    def show_steps(self, steps: Sequence[WizardPage], now: WizardPage) -> None:
        """List the steps."""
        names = {
            WizardPage.CHECK: self.tr("Check this computer"),
            WizardPage.CHOOSE: self.tr("Choose a model"),
            WizardPage.DOWNLOAD: self.tr("Download"),
            WizardPage.VERIFY: self.tr("Verify"),
            WizardPage.ANSWER: self.tr("First answer"),
        }
        if list(self.labels) != list(steps):
            self._make_labels(steps)
        for place, step in enumerate(steps):
            done = place < list(steps).index(now)
            state = "now" if step is now else "done" if done else "later"
            mark = self.tr("✓ {step}").format(step=names[step]) if done else names[step]
            self.labels[step].setText(mark)
            set_role(self.labels[step], "place", state)

    def _make_labels(self, steps: Sequence[WizardPage]) -> None:
        for old in self.labels.values():
            self._column.removeWidget(old)
            discard(old)
        self.labels = {}
        for place, step in enumerate(steps):
            line = label("", "step", self)
            line.setWordWrap(True)
            self._column.insertWidget(place, line)
            self.labels[step] = line
        self._fit()

    def _fit(self) -> None:
        """Width and distances grow with the text; the smallest window has room for a page."""
        metrics, zoomed = self._theme.metrics, self._theme.zoomed
        self.setFixedWidth(min(zoomed(metrics.wizard_steps_width), metrics.wizard_min_width // 2))
        for line in self.labels.values():
            line.setMinimumHeight(zoomed(metrics.wizard_step_height))


class WizardWindow(QWidget):
    """Signals: see `app.wizard_view`.

    Args:
        theme: colours, fonts and icons, shared with the main window.
        over: the window in whose middle this one opens, and above which it stays.
    """

    action_requested = Signal(str)
    option_chosen = Signal(str)
    path_chosen = Signal(str)
    closing = Signal()

    def __init__(self, theme: Theme, over: QWidget | None = None) -> None:
        super().__init__()
        self._theme = theme
        self._over = over
        self._quiet = False
        metrics = theme.metrics
        self.setObjectName("wizard")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setWindowTitle(self.tr("Set up Thinkpane"))
        self.steps = StepList(theme, self)
        self.pages = QStackedWidget(self)
        self.check = CheckPage(theme)
        self.choose = ChoosePage(theme)
        self.download = TransferPage(theme)
        self.verify = TransferPage(theme)
        self.answer = FirstAnswerPage(theme)
        self.failure = FailurePageArea(theme)
        self._areas = {
            WizardPage.CHECK: self.check,
            WizardPage.CHOOSE: self.choose,
            WizardPage.DOWNLOAD: self.download,
            WizardPage.VERIFY: self.verify,
            WizardPage.ANSWER: self.answer,
        }
        for area in (*self._areas.values(), self.failure):
            self.pages.addWidget(area)
        self.buttons: dict[WizardAction, TextButton] = {}
        self._primary: TextButton | None = None
        self._place_parts()
        self.choose.option_chosen.connect(self.option_chosen)
        self.choose.path_chosen.connect(self.path_chosen)
        self.choose.delete_requested.connect(self._on_delete_requested)
        self.download.demo_requested.connect(self._on_demo_requested)
        theme.dress(self)
        self.setMinimumSize(metrics.wizard_min_width, metrics.wizard_min_height)
        self.resize(theme.zoomed(metrics.wizard_width), theme.zoomed(metrics.wizard_height))

    def _place_parts(self) -> None:
        metrics = self._theme.metrics
        footer = QWidget(self)
        footer.setObjectName("wizardFooter")
        footer.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        footer.setFixedHeight(metrics.wizard_footer_height)
        self._footer = QHBoxLayout(footer)
        self._footer.setContentsMargins(metrics.gap_xl, 0, metrics.gap_xl, 0)
        self._footer.setSpacing(metrics.gap_m)
        self._footer.addStretch(1)
        upper = QHBoxLayout()
        upper.setSpacing(0)
        upper.addWidget(self.steps)
        upper.addWidget(self.pages, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(upper, 1)
        column.addWidget(footer)

    def show_page(self, page: WizardPage, steps: Sequence[WizardPage]) -> None:
        """List `steps`, mark `page` and, as done, the earlier ones; show its page."""
        self.steps.show_steps(steps, page)
        self.pages.setCurrentWidget(self._areas[page])

    def show_buttons(self, buttons: Sequence[WizardButton]) -> None:
        """Replace the footer's buttons; those that stay keep the focus."""
        wanted = [button.action for button in buttons]
        if list(self.buttons) != wanted:
            self._make_buttons(wanted)
        self._primary = None
        for spec in buttons:
            button = self.buttons[spec.action]
            button.setText(spec.label)
            button.setEnabled(spec.enabled)
            set_role(button, "kind", "primary" if spec.primary else "plain")
            if spec.primary:
                self._primary = button

    def _make_buttons(self, actions: Sequence[WizardAction]) -> None:
        for old in self.buttons.values():
            self._footer.removeWidget(old)
            discard(old)
        self.buttons = {}
        for action in actions:
            button = TextButton("", "plain", self)
            button.clicked.connect(
                lambda _=False, action=action: self.action_requested.emit(action.value)
            )
            self._footer.addWidget(button)
            self.buttons[action] = button

    def show_checks(self, items: Sequence[CheckItem], *, running: bool) -> None:
        """Fill the check page."""
        self.check.show_checks(items, running=running)

    def show_options(self, options: Sequence[ModelOption], chosen_id: str) -> None:
        """Fill the choose page."""
        self.choose.show_options(options, chosen_id)

    def show_download(self, page: DownloadPage) -> None:
        """Fill the download page."""
        self.download.show_transfer(page)

    def show_verify(self, page: DownloadPage) -> None:
        """Fill the verify page."""
        self.verify.show_transfer(page)

    def show_answer(self, page: AnswerPage) -> None:
        """Fill the page of the first answer."""
        self.answer.show_answer(page)

    def show_failure(self, page: FailurePage) -> None:
        """Show a failure in place of the current step's page."""
        self.failure.show_failure(page)
        self.pages.setCurrentWidget(self.failure)

    def open_window(self) -> None:
        """Show the window and bring it to the front."""
        if self._over is not None and not self.isVisible():
            self._place_over(self._over)
        self.show()
        self.raise_()
        self.activateWindow()

    def _place_over(self, over: QWidget) -> None:
        room = over.screen().availableGeometry()
        self.setGeometry(centred_inside(self.size(), over.geometry(), room))
        self.winId()  # makes the native window, which is what another one can stay above
        handle, below = self.windowHandle(), over.windowHandle()
        if handle is not None and below is not None:
            handle.setTransientParent(below)

    def close_window(self) -> None:
        """Close the window, without `closing`."""
        self._quiet = True
        self.close()
        self._quiet = False

    def closeEvent(self, event: QCloseEvent) -> None:
        """Tell it, unless the controller closed the window itself."""
        super().closeEvent(event)
        if not self._quiet:
            self.closing.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the primary button, unless a button has the focus; Esc closes."""
        if event.key() == Qt.Key.Key_Escape:
            self.close()
            return
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and self._primary is not None and self._primary.isEnabled():
            self._primary.click()
            return
        super().keyPressEvent(event)

    def _on_delete_requested(self) -> None:
        self.action_requested.emit(WizardAction.DELETE_PARTIAL.value)

    def _on_demo_requested(self) -> None:
        self.action_requested.emit(WizardAction.TRY_DEMO.value)
