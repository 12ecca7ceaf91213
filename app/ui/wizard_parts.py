"""What several pages of the wizard share: the page itself, wrapped labels, a state icon."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.ui.controls import label
from app.ui.meter import Meter
from app.ui.theme import Theme


def wrapped(text: str, role: str, parent: QWidget | None = None) -> QLabel:
    """A plain-text label over several lines, which can be selected and copied."""
    widget = label(text, role, parent)
    widget.setWordWrap(True)
    widget.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    # A wrapped label asks for a width of its own choice; the page decides, not the label.
    widget.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    widget.setMinimumWidth(1)
    return widget


def set_text(widget: QLabel, text: str) -> None:
    """Show the text, and take the label away where there is none."""
    widget.setText(text)
    widget.setVisible(bool(text))


def discard(widget: QWidget) -> None:
    """Take a widget away now; Qt deletes it when the event loop runs next."""
    widget.hide()
    widget.deleteLater()


def wide_meter(theme: Theme, name: str) -> Meter:
    """A meter that takes the width it is given."""
    meter = Meter(theme, name, theme.metrics.meter_width)
    meter.setMinimumWidth(theme.metrics.meter_small_width)
    meter.setMaximumWidth(theme.metrics.wizard_width)
    meter.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    return meter


class WizardPageArea(QScrollArea):
    """A page with a title and a lead; scrolls where text and font need more than the window."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = theme
        metrics = theme.metrics
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.body = QWidget()
        self.body.setObjectName("wizardPage")
        self.column = QVBoxLayout(self.body)
        margin = metrics.wizard_page_margin
        self.column.setContentsMargins(margin, metrics.gap_xl, margin, metrics.gap_xl)
        self.column.setSpacing(metrics.gap_s)
        self.title = wrapped("", "heading")
        self.lead = wrapped("", "lead")
        self.column.addWidget(self.title)
        self.column.addWidget(self.lead)
        self.column.addSpacing(metrics.gap_s)
        self.setWidget(self.body)

    def show_title(self, title: str, lead: str) -> None:
        """Fill the two lines at the top."""
        self.title.setText(title)
        set_text(self.lead, lead)
        self.setAccessibleName(title)


class StateIcon(QLabel):
    """One of our outlines in a colour token, redrawn when the theme changes."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._shown: tuple[str, str] | None = None
        side = theme.metrics.icon
        self.setFixedSize(QSize(side, side))
        theme.changed.connect(self._on_theme)

    def show_icon(self, name: str, color: str, meaning: str) -> None:
        """Show an icon; `meaning` is read aloud in its place."""
        self._shown = (name, color)
        self.setAccessibleName(meaning)
        self.setToolTip(meaning)
        self._on_theme()

    def _on_theme(self) -> None:
        if self._shown is not None:
            side = self._theme.metrics.icon
            self.setPixmap(self._theme.icon(*self._shown).pixmap(QSize(side, side)))
