"""A question and, below it, thinking beside answer. The answer sets the height."""

from __future__ import annotations

from typing import assert_never

from PySide6.QtCore import QElapsedTimer, QRect, Signal
from PySide6.QtWidgets import QApplication, QFrame, QWidget

from app.chat_view import ChatState, ReplyEdit
from app.conversation import Exchange, Reply, ReplyStatus
from app.ui import wording
from app.ui.answer_pane import AnswerPane, ReplyPlace
from app.ui.controls import label
from app.ui.pane_grip import PaneGrip
from app.ui.pane_share import DEFAULT_SHARE, PaneShare
from app.ui.question_bubble import QuestionBubble
from app.ui.reply_copies import ReplyCopies
from app.ui.reply_editor import ReplyEditor
from app.ui.theme import Theme
from app.ui.thinking_pane import ThinkingPane
from engine.api import Channel


class ExchangeWidget(QWidget):
    """Its owner calls `show_exchange`, gives it a width by `arrange` and is told the height.

    Signals:
        height_changed: `arrange` would now give another height.
        regenerate_requested(str), continue_requested(str): exchange id.
        edit_requested(str, str): exchange id, new question.
        reply_edited(object): a ReplyEdit.
        reply_chosen(str, int), question_chosen(str, int): exchange id, version.
        answer_now_requested: end the thinking.
        seed_chosen(object): use the seed of this reply again; an int of up to 63 bits.
    """

    height_changed = Signal()
    regenerate_requested = Signal(str)
    continue_requested = Signal(str)
    edit_requested = Signal(str, str)
    reply_edited = Signal(object)
    reply_chosen = Signal(str, int)
    question_chosen = Signal(str, int)
    answer_now_requested = Signal()
    seed_chosen = Signal(object)

    def __init__(self, theme: Theme, share: PaneShare, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._share = share
        self._exchange = Exchange("", "")
        self._state = ChatState.IDLE
        self._clock = QElapsedTimer()
        self._base_s = 0.0
        self._thinking_s = 0.0
        self._thinking_tokens = 0
        self._answer_tokens = 0
        self._prefill = (0, 0)
        self._wait: tuple[str, float | None] = ("", None)
        self._dirty = False
        self._visible = (0, 0)
        self._left_out = label(self.tr("The model no longer sees this"), "warn", self)
        self.bubble = QuestionBubble(theme, self)
        self._card = QFrame(self)
        self._card.setObjectName("card")
        self.thinking = ThinkingPane(theme, share, self._card)
        self.answer = AnswerPane(theme, share, self._card)
        self.copies = ReplyCopies(self.thinking, self.answer, self)
        self.editor = ReplyEditor(theme, self._card)
        self.grip = PaneGrip(theme, self.tr("Width of the thinking pane"), self._card)
        self._connect()

    def _connect(self) -> None:
        self.bubble.edited.connect(self._on_edited)
        self.bubble.version_requested.connect(self._on_question_version)
        self.bubble.height_changed.connect(self.height_changed)
        self.thinking.answer_now_requested.connect(self.answer_now_requested)
        self.answer.height_changed.connect(self.height_changed)
        self.answer.edit_requested.connect(self.bubble.begin_edit)
        self.answer.edit_answer_requested.connect(self._on_edit_answer)
        self.thinking.edit_requested.connect(self._on_edit_thinking)
        self.thinking.height_changed.connect(self.height_changed)
        self.editor.accepted.connect(self._on_reply_edited)
        self.editor.opened_changed.connect(self.height_changed)
        self.answer.regenerate_requested.connect(self._on_regenerate)
        self.answer.continue_requested.connect(self._on_continue)
        self.answer.version_requested.connect(self._on_version)
        self.answer.seed_requested.connect(self.seed_chosen)
        self.grip.moved.connect(self._on_grip)
        self.grip.reset.connect(self._on_grip_reset)

    @property
    def exchange(self) -> Exchange:
        """What is shown, without the text still streaming in."""
        return self._exchange

    @property
    def card(self) -> QFrame:
        """The frame around the two panes."""
        return self._card

    def show_exchange(self, exchange: Exchange, *, is_last: bool) -> None:
        """Show all of it anew; unchanged text is not drawn again."""
        self._exchange = exchange
        reply = exchange.reply
        self.bubble.set_question(exchange.question)
        versions = exchange.question_versions or ("",)
        self.bubble.versions.show_place(versions.index(""), len(versions))
        self._left_out.setVisible(exchange.left_out)
        place = ReplyPlace(exchange.chosen, len(exchange.replies), is_last)
        self.answer.show_reply(reply, place)
        if reply is not None:
            self.editor.follow(reply.reply_id)
            self._show_thinking_of(reply)
        self._dirty = False
        self.height_changed.emit()

    def _show_thinking_of(self, reply: Reply) -> None:
        running = reply.status is ReplyStatus.RUNNING
        self._thinking_tokens = reply.thinking_tokens
        self._answer_tokens = reply.answer_tokens
        self._thinking_s = reply.thinking_s
        closed = not running or reply.thinking_closed or bool(reply.answer)
        self.thinking.set_text(reply.thinking, finished=closed)
        if closed:
            self.thinking.show_total(reply.thinking_s, reply.thinking_tokens)
        elif self._state is not ChatState.THINKING:
            self.thinking.show_waiting()

    def show_state(self, state: ChatState) -> None:
        """Follow the chat while this exchange runs; IDLE for all others."""
        if state is self._state:
            return
        reply = self._exchange.reply
        # An ended reply already shows the seconds that the engine measured.
        ended = reply is not None and reply.status is not ReplyStatus.RUNNING
        if self._state is ChatState.THINKING and not ended:
            self._thinking_s = self._base_s + self._clock.elapsed() / 1000
            self.thinking.show_total(self._thinking_s, self._thinking_tokens)
        match state:
            case ChatState.THINKING:
                self._base_s = reply.thinking_s if reply else 0.0
            case ChatState.ANSWERING:
                self._base_s = reply.answer_s if reply else 0.0
            case ChatState.PREFILLING:
                self._base_s = 0.0
                self._prefill = (0, 0)
            case ChatState.IDLE | ChatState.STOPPING:
                self._base_s = 0.0
            case _ as never:
                assert_never(never)
        self._state = state
        self._clock.start()
        self.tick()
        self.height_changed.emit()

    def set_busy(self, busy: bool) -> None:
        """Whether a reply runs somewhere in this chat."""
        self.answer.set_busy(busy)
        self.thinking.set_busy(busy)
        self.editor.set_busy(busy)
        self.bubble.set_busy(busy)

    def show_wait(self, text: str, share: float | None) -> None:
        """Say what the reply waits for before its prompt is read; "" for nothing."""
        self._wait = (text, share)
        self.tick()

    def show_prefill(self, done_tokens: int, total_tokens: int) -> None:
        """Show how much of the prompt has been read."""
        self._prefill = (done_tokens, total_tokens)
        self.tick()

    def append_delta(self, channel: Channel, text: str, token_count: int) -> None:
        """Take streamed text; shown at the next `flush`."""
        match channel:
            case Channel.THINKING:
                self.thinking.append(text)
                self._thinking_tokens += token_count
            case Channel.ANSWER:
                self.answer.body.append(text)
                self._answer_tokens += token_count
            case _ as never:
                assert_never(never)
        self._dirty = True

    @property
    def is_in_use(self) -> bool:
        """Whether the reader opened, edits or has the focus in something that would be lost."""
        focus = QApplication.focusWidget()
        has_focus = focus is not None and self.isAncestorOf(focus)
        edited = self.editor.is_open or self.bubble.is_opened
        return has_focus or edited or self.thinking.is_full_height

    @property
    def is_behind(self) -> bool:
        """Whether another `flush` has more to show: new text, or the rest of a long one."""
        return self._dirty or self.thinking.is_behind or self.answer.body.is_behind

    def flush(self) -> None:
        """Show what streamed in since the last time; no more than can be drawn at once."""
        if self.is_behind:
            self._dirty = False
            self.thinking.flush()
            self.answer.body.flush()
            self.tick()

    def tick(self) -> None:
        """Let the counters count."""
        seconds = self._base_s + self._clock.elapsed() / 1000 if self._clock.isValid() else 0.0
        match self._state:
            case ChatState.PREFILLING:
                self._show_prefilling(seconds)
            case ChatState.THINKING:
                self.thinking.show_live(seconds, self._thinking_tokens)
                self._show_budget()
            case ChatState.ANSWERING:
                self.answer.show_live(seconds, self._answer_tokens)
            case ChatState.STOPPING:
                if not self.answer.body.text:
                    self.answer.show_waiting(self.tr("stopping"), "", None)
            case ChatState.IDLE:
                pass
            case _ as never:
                assert_never(never)

    def _show_prefilling(self, seconds: float) -> None:
        done, total = self._prefill
        text, share = self._wait
        if total and not text:
            share = done / total
            text = self.tr("Reading the conversation: {done} of {total}").format(
                done=wording.count(done), total=wording.tokens(total)
            )
        text = text or self.tr("Reading the conversation")
        self.answer.show_waiting(wording.live_seconds(seconds), text, share)

    def _show_budget(self) -> None:
        budget = self._share.budget_tokens
        info = self.tr("comes after the thinking")
        if not self._share.thinking_shown:
            info = self.thinking.header_text
        if budget:
            text = self.tr("Budget: {used} of {budget}").format(
                used=wording.count(self._thinking_tokens), budget=wording.tokens(budget)
            )
            self.answer.show_waiting(info, text, self._thinking_tokens / budget)
        else:
            self.answer.show_waiting(info, "", None)

    def redraw(self) -> None:
        """Draw everything again, after fonts or colours changed."""
        self.bubble.redraw()
        self.thinking.redraw()
        self.answer.body.redraw()

    @property
    def _has_thinking(self) -> bool:
        reply = self._exchange.reply
        return reply is not None and (reply.thinking_enabled or bool(self.thinking.text))

    def arrange(self, width: int) -> int:
        """Place all parts at that width; returns the height needed."""
        gap = self._theme.metrics.gap_m
        top = 0
        if not self._left_out.isHidden():
            size = self._left_out.sizeHint()
            self._left_out.setGeometry(width - size.width(), 0, size.width(), size.height())
            top += size.height() + gap // 2
        height = self.bubble.arrange(width)
        self.bubble.setGeometry(0, top, width, height)
        top += height
        self._card.setVisible(self._exchange.reply is not None)
        if self._exchange.reply is not None:
            top += gap
            height = self._arrange_card(width)
            self._card.setGeometry(0, top, width, height)
            top += height
        self._place_thinking()
        return top

    def _arrange_card(self, width: int) -> int:
        metrics = self._theme.metrics
        edge = metrics.border
        inner = width - 2 * edge
        shown = self._has_thinking and self._share.thinking_shown
        beside = shown and not self._share.folded
        self.thinking.setVisible(self._has_thinking and (shown or self._share.folded))
        self.grip.setVisible(beside)
        if self._share.folded:
            top = edge
            if self._has_thinking:
                words = self._theme.height_for_words(metrics.pane_header_height)
                header = words + 2 * metrics.gap_m
                height = metrics.fold_height if shown else header
                if shown and self.thinking.is_full_height:
                    height = max(height, self.thinking.full_height(inner))
                self.thinking.setGeometry(edge, edge, inner, height)
                top += height
            height = self._answer_height(inner, offers_thinking=False)
            height = max(height, metrics.exchange_min_height)
            self._place_answer(QRect(edge, top, inner, height))
            return top + height + edge
        left = 0
        if beside:
            left = self._thinking_width(inner)
        needed = self._answer_height(inner - left, offers_thinking=self._has_thinking and not shown)
        least = metrics.exchange_thinking_height if beside else metrics.exchange_min_height
        height = max(needed, least)
        if beside and self.thinking.is_full_height:
            height = max(height, self.thinking.full_height(left))
        if beside:
            grip = metrics.grip_width
            self.thinking.setGeometry(edge, edge, left, height)
            self.grip.setGeometry(edge + left - grip // 2, edge, grip, height)
            self.grip.raise_()
        self._place_answer(QRect(edge + left, edge, inner - left, height))
        return height + 2 * edge

    def _answer_height(self, width: int, *, offers_thinking: bool) -> int:
        if self.editor.is_open:
            return self.editor.height_for(width)
        return self.answer.arrange(width, offers_thinking=offers_thinking)

    def _place_answer(self, place: QRect) -> None:
        """While a part of the reply is changed, the editor stands where the answer stood."""
        self.answer.setVisible(not self.editor.is_open)
        for part in (self.answer, self.editor):
            part.setGeometry(place)

    def _thinking_width(self, inner: int) -> int:
        metrics = self._theme.metrics
        most = inner - metrics.answer_min_width
        return min(most, max(metrics.thinking_min_width, round(inner * self._share.share)))

    def set_visible_part(self, top: int, bottom: int) -> None:
        """Tell which part of this widget the reader sees; thinking stays inside it."""
        if (top, bottom) != self._visible:
            self._visible = (top, bottom)
            self._place_thinking()

    def _place_thinking(self) -> None:
        """Keep the thinking in view: never taller than what the reader sees of the pane."""
        pane = self.thinking
        offset = self._card.y() + pane.y()
        top, bottom = self._visible
        least = min(pane.height(), self._theme.metrics.thinking_min_height)
        start = min(max(0, top - offset), pane.height() - least)
        room = bottom - top if bottom > top else pane.height()
        height = min(pane.height() - start, max(least, room))
        if pane.is_full_height:
            start, height = 0, pane.height()
        pane.set_visible_part(QRect(0, start, pane.width(), height))

    def _on_edit_answer(self) -> None:
        self.editor.begin(Channel.ANSWER, self.answer.body.text)

    def _on_edit_thinking(self) -> None:
        self.editor.begin(Channel.THINKING, self.thinking.text)

    def _on_reply_edited(
        self, channel: Channel, text: str, thinking_closed: bool, goes_on: bool
    ) -> None:
        exchange_id = self._exchange.exchange_id
        self.reply_edited.emit(ReplyEdit(exchange_id, channel, text, thinking_closed, goes_on))

    def _on_edited(self, question: str) -> None:
        self.edit_requested.emit(self._exchange.exchange_id, question)

    def _on_regenerate(self) -> None:
        self.regenerate_requested.emit(self._exchange.exchange_id)

    def _on_continue(self) -> None:
        self.continue_requested.emit(self._exchange.exchange_id)

    def _on_version(self, index: int) -> None:
        self.reply_chosen.emit(self._exchange.exchange_id, index)

    def _on_question_version(self, index: int) -> None:
        self.question_chosen.emit(self._exchange.exchange_id, index)

    def _on_grip(self, step: int) -> None:
        inner = self._card.width() - 2 * self._theme.metrics.border
        self._share.set_share((self._thinking_width(inner) + step) / max(1, inner))

    def _on_grip_reset(self) -> None:
        self._share.set_share(DEFAULT_SHARE)
