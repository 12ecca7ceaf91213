"""The answer: header with counts, text, and below it what can be done with it."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.conversation import NO_SEED, Reply, ReplyStatus, can_continue, has_room
from app.ui import wording
from app.ui.answer_body import AnswerBody
from app.ui.controls import ElidedLabel, IconButton, TextButton, copy_to_clipboard, label
from app.ui.meter import Meter
from app.ui.pane_share import PaneShare
from app.ui.theme import Theme
from app.ui.version_steps import VersionSteps


@dataclass(frozen=True, slots=True)
class ReplyPlace:
    """Version `index` of `total` is shown; whether it is the last of the chat."""

    index: int
    total: int
    is_last: bool


class AnswerPane(QWidget):
    """Tells its height by `arrange`; its signals carry no id, the exchange knows it.

    Signals:
        height_changed: call `arrange` again.
        regenerate_requested, edit_requested, edit_answer_requested, continue_requested: the links
            below the answer.
        copies_requested(QPoint): the menu of the other ways to copy, at this place of the screen.
        version_requested(int): index of the reply version to show.
        seed_requested(object): use the seed of this reply again; an int of up to 63 bits.
    """

    height_changed = Signal()
    regenerate_requested = Signal()
    edit_requested = Signal()
    edit_answer_requested = Signal()
    continue_requested = Signal()
    copies_requested = Signal(object)
    version_requested = Signal(int)
    seed_requested = Signal(object)

    def __init__(self, theme: Theme, share: PaneShare, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._share = share
        self._place = ReplyPlace(0, 1, is_last=True)
        self._reply: Reply | None = None
        self._busy = False
        self._seed_value = 0
        self._title = label(self.tr("Answer"), "strong", self)
        self._info = ElidedLabel("quiet", self)
        self._show_thinking = TextButton(self.tr("Show thinking"), "link", self)
        self._show_thinking.setToolTip(self.tr("Show the thinking beside the answer (Ctrl+T)"))
        self._show_thinking.clicked.connect(share.toggle_thinking)
        self._waiting = label("", "quiet", self)
        self._waiting.setWordWrap(True)
        self._meter = Meter(theme, self.tr("Progress"), theme.metrics.meter_budget_width, self)
        self.body = AnswerBody(theme, self)
        self.body.height_changed.connect(self.height_changed)
        self._failure = label("", "failure", self)
        self._failure.setWordWrap(True)
        self._nothing = label("", "quiet", self)
        self._nothing.setWordWrap(True)
        self._retry = TextButton(self.tr("Try again"), "plain", self)
        self._retry.clicked.connect(self.regenerate_requested)
        self._build_actions()
        self.show_reply(None, self._place)

    def _build_actions(self) -> None:
        self._copy = self._action(self.tr("Copy"), self.tr("Copy the answer as Markdown"))
        self._copy.clicked.connect(self._on_copy)
        self._copies = IconButton(self._theme, "chevron-down", self.tr("More ways to copy"), self)
        self._copies.clicked.connect(self._on_copies)
        self._regenerate = self._action(
            self.tr("Regenerate"), self.tr("Ask for another answer; this one is kept (Ctrl+R)")
        )
        self._regenerate.clicked.connect(self.regenerate_requested)
        self._edit = self._action(
            self.tr("Edit question"), self.tr("Change the question and ask again")
        )
        self._edit.clicked.connect(self.edit_requested)
        self._edit_answer = self._action(
            self.tr("Edit answer"), self.tr("Change the answer, or let it go on from your words")
        )
        self._edit_answer.clicked.connect(self.edit_answer_requested)
        self._continue = self._action(
            self.tr("Continue"), self.tr("Go on where it was cut (Ctrl+Shift+R)")
        )
        self._continue.clicked.connect(self.continue_requested)
        self._seed = self._action(
            "", self.tr("Use this seed again: with the same settings it repeats this answer")
        )
        self._seed.clicked.connect(self._on_seed)
        self.versions = VersionSteps(
            self._theme, self.tr("Earlier version"), self.tr("Later version"), self
        )
        self.versions.chosen.connect(self.version_requested)
        self._reason = label("", "quiet", self)

    def _action(self, text: str, tooltip: str) -> TextButton:
        button = TextButton(text, "link", self)
        button.setToolTip(tooltip)
        return button

    @property
    def info_text(self) -> str:
        """What the header says beside "Answer"."""
        return self._info.full_text()

    @property
    def waiting_text(self) -> str:
        """What stands where the answer will come; empty once it has begun."""
        return "" if self._waiting.isHidden() else self._waiting.text()

    @property
    def nothing_text(self) -> str:
        """What stands in the place of an answer that never came; empty otherwise."""
        return "" if self._nothing.isHidden() else self._nothing.text()

    @property
    def reason_text(self) -> str:
        """Why the reply ended, in words."""
        return self._reason.text()

    @property
    def failure_text(self) -> str:
        """The sentence of a failed reply; empty otherwise."""
        return "" if self._failure.isHidden() else self._failure.text()

    def action(self, name: str) -> QAbstractButton:
        """The button "copy", "copies", "regenerate", "edit", "continue", "seed" or "retry"."""
        buttons = {
            "copy": self._copy,
            "copies": self._copies,
            "regenerate": self._regenerate,
            "edit": self._edit,
            "edit_answer": self._edit_answer,
            "continue": self._continue,
            "seed": self._seed,
            "retry": self._retry,
        }
        return buttons[name]

    def show_reply(self, reply: Reply | None, place: ReplyPlace) -> None:
        """Show all of a reply; a running one keeps its header, which `show_live` writes."""
        self._place = place
        running = reply is None or reply.status is ReplyStatus.RUNNING
        failed = reply is not None and reply.status is ReplyStatus.FAILED
        if reply is not None:
            self.body.set_text(reply.answer, finished=not running)
        if reply is not None and not running:
            self.hide_waiting()
            self._show_counts(reply)
        self._failure.setVisible(failed)
        self._retry.setVisible(failed)
        self._nothing.setText(wording.no_answer(reply) if reply else "")
        self._nothing.setVisible(bool(self._nothing.text()))
        if reply is not None and failed:
            self._failure.setText(
                reply.error_text or self.tr("The answer failed for an unknown reason.")
            )
        done = reply is not None and not running
        self._copy.setVisible(done and bool(self.body.text))
        thought = reply is not None and bool(reply.thinking.strip())
        self._copies.setVisible(done and (thought or bool(self.body.text)))
        self._regenerate.setVisible(done and not failed)
        self._edit.setVisible(done)
        self._edit_answer.setVisible(done and bool(self.body.text))
        self._reply = reply
        self._show_continue()
        self._show_seed(reply)
        self.versions.show_place(place.index, place.total if done else 1)
        self._reason.setText(wording.stop_reason(reply) if reply else "")
        self.set_busy(self._busy)
        self.height_changed.emit()

    def _show_continue(self) -> None:
        """Offer to go on with a cut reply, but never where the context has no room for it."""
        reply = self._reply
        self._continue.setVisible(
            reply is not None
            and self._place.is_last
            and can_continue(reply)
            and has_room(reply, self._share.capacity_tokens)
            and (reply.status is not ReplyStatus.FAILED or bool(reply.thinking or reply.answer))
        )

    def _show_counts(self, reply: Reply) -> None:
        parts = []
        if reply.answer_s > 0:
            parts.append(wording.live_seconds(reply.answer_s))
        if reply.answer_tokens:
            parts.append(wording.tokens(reply.answer_tokens))
        if not reply.thinking_enabled:
            parts.append(self.tr("without thinking"))
        self._info.set_full_text(" · ".join(parts))

    def _show_seed(self, reply: Reply | None) -> None:
        """A reply that the engine ended has a seed, unless no token was drawn; one that was cut
        otherwise has none to tell.
        """
        known = reply is not None and bool(reply.finish_reason) and reply.seed != NO_SEED
        self._seed_value = reply.seed if reply is not None else 0
        self._seed.setText(self.tr("Seed {seed}").format(seed=self._seed_value))
        self._seed.setVisible(known)

    def set_busy(self, busy: bool) -> None:
        """While a reply runs nothing new can be asked for."""
        self._busy = busy
        for button in (
            self._regenerate,
            self._edit,
            self._edit_answer,
            self._continue,
            self._retry,
        ):
            button.setEnabled(not busy)
        self.versions.set_busy(busy)

    def show_live(self, seconds: float, token_count: int) -> None:
        """Count while the answer comes."""
        self.hide_waiting()
        self._info.set_full_text(f"{wording.live_seconds(seconds)} · {wording.tokens(token_count)}")

    def show_waiting(self, info: str, text: str, share: float | None) -> None:
        """Say what is waited for, where the answer will be; the meter shows `share` of it."""
        self._info.set_full_text(info)
        was = (self._waiting.isHidden(), self._meter.isHidden())
        self._waiting.setText(text)
        self._waiting.setVisible(bool(text))
        self._meter.setVisible(share is not None)
        self._meter.set_share(share or 0.0)
        if was != (self._waiting.isHidden(), self._meter.isHidden()):
            self.height_changed.emit()

    def hide_waiting(self) -> None:
        """The answer has begun."""
        self._waiting.hide()
        self._meter.hide()

    def arrange(self, width: int, *, offers_thinking: bool) -> int:
        """Place all parts at that width; returns the height needed.

        Args:
            width: of the pane in pixels.
            offers_thinking: whether "Show thinking" belongs into the header.
        """
        self._show_continue()  # the model that is loaded now may see less
        metrics = self._theme.metrics
        left = metrics.gap_l if self._share.folded else metrics.gap_l + metrics.gap_xs
        room = max(1, width - left - metrics.gap_l)
        em = QFontMetricsF(self._theme.font("text")).horizontalAdvance("0")
        text_width = min(room, round(em * metrics.answer_max_chars))
        top = metrics.gap_m
        self._arrange_header(left, top, room, offers_thinking)
        top += self._theme.height_for_words(metrics.pane_header_height) + metrics.gap_s
        if not self._waiting.isHidden():
            height = self._waiting.heightForWidth(text_width)
            self._waiting.setGeometry(left, top, text_width, height)
            top += height + metrics.gap_s
        if not self._meter.isHidden():
            self._meter.move(left, top)
            top += metrics.meter_height + metrics.gap_s
        height = self.body.arrange(text_width)
        self.body.setGeometry(left, top, text_width, height)
        top += height + (metrics.gap_xs if height else 0)
        if not self._nothing.isHidden():
            height = self._nothing.heightForWidth(text_width)
            self._nothing.setGeometry(left, top, text_width, height)
            top += height + metrics.gap_s
        if not self._failure.isHidden():
            height = self._failure.heightForWidth(text_width)
            self._failure.setGeometry(left, top, text_width, height)
            top += height + metrics.gap_m
            self._retry.adjustSize()
            self._retry.move(left, top)
            top += self._retry.height() + metrics.gap_s
        return self._arrange_actions(left, top, room) + metrics.gap_m

    def _arrange_header(self, left: int, top: int, room: int, offers_thinking: bool) -> None:
        metrics = self._theme.metrics
        height = self._theme.height_for_words(metrics.pane_header_height)
        self._show_thinking.setVisible(offers_thinking)
        right = left + room
        if offers_thinking:
            button_width = self._show_thinking.sizeHint().width()
            right -= button_width
            self._show_thinking.setGeometry(right, top, button_width, height)
        title_width = self._title.sizeHint().width()
        self._title.setGeometry(left, top, title_width, height)
        info_left = left + title_width + metrics.gap_s
        self._info.setGeometry(info_left, top, max(0, right - info_left), height)

    def _arrange_actions(self, left: int, top: int, room: int) -> int:
        """Place the row below the answer, in two lines where it is narrow; returns its bottom."""
        metrics = self._theme.metrics
        height = self._theme.height_for_words(metrics.icon_button)
        # The words, not the invisible frames around them, line up with the text.
        x = left - metrics.gap_xs - metrics.ring
        right = left + room
        shown = [
            button
            for button in (
                self._copy,
                self._copies,
                self._regenerate,
                self._edit_answer,
                self._edit,
                self._continue,
                self._seed,
            )
            if not button.isHidden()
        ]
        if not shown and not self._reason.text():
            return top
        top += metrics.gap_xs
        for button in shown:
            width = button.sizeHint().expandedTo(button.minimumSize()).width()
            if x + width > right:
                x, top = left - metrics.gap_xs - metrics.ring, top + height
            button.setGeometry(x, top, width, height)
            x += width + metrics.gap_xs
        if not self.versions.isHidden():
            width = self.versions.sizeHint().width()
            if x + width > right:
                x, top = left - metrics.gap_xs - metrics.ring, top + height
            self.versions.setGeometry(x, top, width, height)
            x += width
        reason_width = self._reason.sizeHint().width()
        if x + metrics.gap_s + reason_width > right:
            top += height
            right = left + reason_width
        self._reason.setGeometry(right - reason_width, top, reason_width, height)
        return top + height

    def _on_seed(self) -> None:
        self.seed_requested.emit(self._seed_value)

    def _on_copy(self) -> None:
        copy_to_clipboard(self.body.text)
        self.confirm_copy()

    def _on_copies(self) -> None:
        self.copies_requested.emit(self._copies.mapToGlobal(self._copies.rect().bottomLeft()))

    def confirm_copy(self) -> None:
        """Say that something of the reply was copied."""
        self._copy.confirm(self.tr("Copied"))
