"""The conversation: exchanges below one another, built only where the reader is.

Far exchanges are empty rooms of an estimated height; they get their widgets a few at a time when
they come near. What the reader looks at never moves: heights that change above it are made up for
in the scroll position. The end is followed only while the reader is at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QElapsedTimer, Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.chat_view import ChatState
from app.conversation import Exchange
from app.ui.controls import TextButton
from app.ui.exchange_widget import ExchangeWidget
from app.ui.jump_button import JumpButton
from app.ui.pane_share import PaneShare
from app.ui.pending_edits import PendingEdits
from app.ui.reading_line import ReadingLine
from app.ui.theme import Theme
from app.ui.transcript_room import Room, SpareExchange, column_in, estimated_height, surplus_of
from engine.api import Channel

FLUSH_MS = 40
MOST_FLUSH_MS = 250
DRAW_MS = 12
CATCH_UP_MS = 4
TICK_MS = 100
BUILD_PAUSE_MS = 100


class TranscriptView(QScrollArea):
    """Shows exchanges and streams into the last ones; passes their intentions on.

    Signals: as of ExchangeWidget; `arranged` after anything changed that is shown.
    """

    arranged = Signal()

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
        self._rooms: list[Room] = []
        self._pending = PendingEdits()
        self._reading = ReadingLine()
        self._by_id: dict[str, int] = {}
        self._state = ChatState.IDLE
        self._following = True
        self._arranging = False
        self.setObjectName("transcript")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setAccessibleName(self.tr("Conversation"))
        self._body = QWidget()
        self._body.setObjectName("transcriptBody")
        self.setWidget(self._body)
        self._spare = SpareExchange(theme, share, self._body, self)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._jump = JumpButton(theme, self.tr("Jump to latest"), self)
        self._jump.clicked.connect(self.jump_to_latest)
        self._flush_timer = self._timer(FLUSH_MS, self._on_flush)
        self._tick_timer = self._timer(TICK_MS, self._on_tick)
        self._since_build = QElapsedTimer()
        self._build_timer = self._timer(CATCH_UP_MS, self._on_build)
        self._arrange_timer = self._timer(0, self._arrange)
        self._arrange_timer.setSingleShot(True)
        self.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.verticalScrollBar().rangeChanged.connect(self._update_jump)
        share.changed.connect(self._on_share)
        theme.changed.connect(self._on_theme)

    def _timer(self, interval_ms: int, slot: object) -> QTimer:
        timer = QTimer(self)
        timer.setInterval(interval_ms)
        timer.timeout.connect(slot)
        return timer

    @property
    def following(self) -> bool:
        """Whether the end stays in view as text comes."""
        return self._following

    @property
    def built_ids(self) -> tuple[str, ...]:
        """The exchanges that have widgets, in order."""
        return tuple(room.exchange.exchange_id for room in self._rooms if room.widget is not None)

    @property
    def is_behind(self) -> bool:
        """Whether something that is near the reader is still to be built or drawn."""
        return self._build_timer.isActive() or self._is_drawing()

    def _is_drawing(self) -> bool:
        return any(room.widget is not None and room.widget.is_behind for room in self._rooms)

    @property
    def jump_button(self) -> TextButton:
        """Leads back to the end; shown while the reader is elsewhere."""
        return self._jump

    @property
    def exchange_ids(self) -> tuple[str, ...]:
        """All exchanges, in order."""
        return tuple(room.exchange.exchange_id for room in self._rooms)

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """All exchanges, without the text still streaming in."""
        return tuple(room.exchange for room in self._rooms)

    def bring_into_view(self, exchange_id: str, height: int) -> None:
        """Scroll so that this height of the exchange stands in the upper part of the view."""
        room = self._rooms[self._by_id[exchange_id]]
        self._following = False
        self._arrange()
        self.verticalScrollBar().setValue(room.top + height - self.viewport().height() // 4)

    def exchange_widget(self, exchange_id: str) -> ExchangeWidget:
        """The widget of that exchange, built if need be. Raises KeyError if it is not here."""
        return self._widget_of(self._by_id[exchange_id])

    def show_exchanges(self, exchanges: Sequence[Exchange]) -> None:
        """Show another conversation, at its end."""
        self._drop_from(0)
        self._rooms = [Room(exchange) for exchange in exchanges]
        self._index()
        self._following = True
        for room in self._rooms:
            room.height = self._estimate(room.exchange)
        self._arrange()
        self._build_timer.start()

    def show_exchange(self, exchange: Exchange) -> None:
        """Add an exchange, or show anew what changed of it."""
        index = self._by_id.get(exchange.exchange_id)
        if index is None:
            before = self._rooms[-1] if self._rooms else None
            self._rooms.append(Room(exchange))
            self._index()
            index = len(self._rooms) - 1
            self._following = True
            if before and before.widget:
                before.widget.show_exchange(before.exchange, is_last=False)
        room = self._rooms[index]
        room.exchange = exchange
        if room.widget is not None:
            room.widget.show_exchange(exchange, is_last=index == len(self._rooms) - 1)
        else:
            self._widget_of(index)
        self._arrange()
        self._build_timer.start()

    def remove_after(self, exchange_id: str) -> None:
        """Take away all exchanges after that one."""
        index = self._by_id.get(exchange_id)
        if index is None:
            return
        self._drop_from(index + 1)
        self._index()
        self._arrange()

    def append_delta(self, exchange_id: str, channel: Channel, text: str, token_count: int) -> None:
        """Take streamed text of an exchange; drawn with the next flush."""
        index = self._by_id.get(exchange_id)
        if index is None:
            return
        self._widget_of(index).append_delta(channel, text, token_count)
        self._start_flushing()

    def _start_flushing(self) -> None:
        if not self._flush_timer.isActive():
            self._flush_timer.start(FLUSH_MS)

    def show_prefill(self, exchange_id: str, done_tokens: int, total_tokens: int) -> None:
        """Show how much of the prompt has been read."""
        index = self._by_id.get(exchange_id)
        if index is not None:
            self._widget_of(index).show_prefill(done_tokens, total_tokens)

    def show_wait(self, exchange_id: str, text: str, share: float | None) -> None:
        """Say what a reply that has not begun waits for."""
        index = self._by_id.get(exchange_id)
        if index is not None:
            self._widget_of(index).show_wait(text, share)

    def show_state(self, state: ChatState) -> None:
        """Follow the chat: the exchange whose reply runs counts, the others only wait."""
        self._state = state
        if state is ChatState.IDLE:
            self._on_flush()
            self._tick_timer.stop()
        else:
            self._tick_timer.start()
        for room in self._rooms:
            self._tell_state(room)

    def _tell_state(self, room: Room) -> None:
        if room.widget is not None:
            room.widget.show_state(self._state if room.is_running else ChatState.IDLE)
            room.widget.set_busy(self._state is not ChatState.IDLE)

    def jump_to_latest(self) -> None:
        """Go to the end and follow it again."""
        self._following = True
        self._arrange()

    def _index(self) -> None:
        self._by_id = {room.exchange.exchange_id: i for i, room in enumerate(self._rooms)}

    def _drop_from(self, index: int) -> None:
        for room in self._rooms[index:]:
            if room.widget is not None:
                self._pending.keep(room.widget)
                room.empty()
        del self._rooms[index:]

    def _widget_of(self, index: int) -> ExchangeWidget:
        room = self._rooms[index]
        if room.widget is None:
            widget = self._spare.take()
            widget.show_exchange(room.exchange, is_last=index == len(self._rooms) - 1)
            self._pending.bring_back(widget)
            room.widget = widget
            self._tell_state(room)
            room.height = widget.arrange(self._column()[1])
            widget.height_changed.connect(self._on_height_changed)
            widget.show()
            if widget.is_behind:
                self._start_flushing()
        return room.widget

    def _column(self) -> tuple[int, int]:
        """Left edge and width of the exchanges."""
        return column_in(self.width(), self._theme.metrics, folded=self._share.folded)

    def _estimate(self, exchange: Exchange) -> int:
        return estimated_height(exchange, self._theme, self._column()[1] * (1 - self._share.share))

    def _arrange(self, *, resized: bool = False, also: int | None = None) -> None:
        """Give every exchange its place; what the reader sees stays where it is.

        Of those that changed, only what is in view and the one at index `also` are laid out anew;
        the others have their turn when they come near.
        """
        self._arranging = True
        self._arrange_timer.stop()
        bar = self.verticalScrollBar()
        anchor = next((room for room in self._rooms if room.top + room.height > bar.value()), None)
        offset = bar.value() - anchor.top if anchor else 0
        self._reading.hold(anchor.widget if resized and anchor else None, offset)
        left, width = self._column()
        gap = self._theme.metrics.exchange_gap
        top = gap - self._theme.metrics.gap_xs
        in_view = [i == also or self._near(i, 0) for i in range(len(self._rooms))]
        for room, now in zip(self._rooms, in_view, strict=True):
            if room.widget is not None:
                room.is_stale = room.is_stale or resized
                if room.is_stale and (now or room.is_running):
                    room.height = room.widget.arrange(width)
                    room.is_stale = False
                room.widget.setGeometry(left, top, width, room.height)
            room.top = top
            top += room.height + gap
        # Qt leaves the bar standing when the body shrinks while the view is being laid out.
        policy = Qt.ScrollBarPolicy
        overflows = top > self.height()
        self.setVerticalScrollBarPolicy(
            policy.ScrollBarAlwaysOn if overflows else policy.ScrollBarAlwaysOff
        )
        self._body.resize(self.width(), max(top, 1))
        if self._following:
            bar.setValue(bar.maximum())
        elif anchor:
            bar.setValue(anchor.top + self._reading.offset(offset))
        self._arranging = False
        self._show_visible_parts()
        self._update_jump()
        self.arranged.emit()
        if self._is_drawing():
            self._start_flushing()

    def _near(self, index: int, screens: float) -> bool:
        view = self.viewport().height()
        top = self.verticalScrollBar().value()
        room = self._rooms[index]
        reach = view * screens
        return room.top < top + view + reach and room.top + room.height > top - reach

    def _show_visible_parts(self) -> None:
        top = self.verticalScrollBar().value()
        bottom = top + self.viewport().height()
        for index, room in enumerate(self._rooms):
            if not self._near(index, 0):
                continue
            if room.widget is None or room.is_stale:
                self._build_timer.start()
            if room.widget is not None:
                room.widget.set_visible_part(top - room.top, bottom - room.top)

    def _on_build(self) -> None:
        """Build one of the exchanges that are near; the nearest to the end first."""
        # First the last one is drawn: both in one turn would be felt by who types.
        recent = self._since_build.isValid() and self._since_build.elapsed() < BUILD_PAUSE_MS
        if recent and self._is_drawing():
            return
        for screens in (0.0, 1.0):
            for index in reversed(range(len(self._rooms))):
                room = self._rooms[index]
                if (room.widget is None or room.is_stale) and self._near(index, screens):
                    # Its parts in one turn, its text in the next.
                    if room.widget is None and self._spare.prepare():
                        return
                    self._since_build.start()
                    self._widget_of(index)
                    self._arrange(also=index)
                    self._flush_timer.start(FLUSH_MS)
                    return
        self._build_timer.stop()
        for room in surplus_of(self._rooms, lambda index: not self._near(index, 3.0)):
            room.empty()

    def _on_height_changed(self) -> None:
        sender = self.sender()
        for room in self._rooms:
            room.is_stale = room.is_stale or room.widget is sender
        if not self._arranging:
            self._arrange_timer.start()

    def _on_flush(self) -> None:
        began = QElapsedTimer()
        began.start()
        # From the end, where a reply grows; what there is no time for comes with the next turn.
        for room in reversed(self._rooms):
            if room.widget is not None and began.elapsed() < DRAW_MS:
                if room.is_running and room.widget.is_behind:
                    self._tick_timer.start()  # what is drawn now counts already
                room.widget.flush()
        if self._arrange_timer.isActive():
            self._arrange()
        # A window that needs long to draw draws less often: there is time for keys and the engine.
        interval = min(MOST_FLUSH_MS, max(FLUSH_MS, 3 * began.elapsed()))
        idle = self._state is ChatState.IDLE
        self._flush_timer.setInterval(CATCH_UP_MS if idle else interval)
        if idle and not self.is_behind:
            self._flush_timer.stop()

    def _on_tick(self) -> None:
        for room in self._rooms:
            if room.widget is not None and room.is_running:
                room.widget.tick()

    def _on_scrolled(self, value: int) -> None:
        if self._arranging:
            return
        bar = self.verticalScrollBar()
        self._following = value >= bar.maximum() - self._theme.metrics.gap_xs
        self._show_visible_parts()
        if any(
            (room.widget is None or room.is_stale) and self._near(index, 1.0)
            for index, room in enumerate(self._rooms)
        ):
            self._build_timer.start()
        self._update_jump()

    def _update_jump(self) -> None:
        self._jump.offer(not self._following and self.verticalScrollBar().maximum() > 0)

    def _on_share(self) -> None:
        self._arrange(resized=True)

    def _on_theme(self) -> None:
        self._spare.drop()
        for room in self._rooms:
            if room.widget is not None:
                room.widget.redraw()
            else:
                room.height = self._estimate(room.exchange)
        self._arrange(resized=True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Place everything for the new width."""
        super().resizeEvent(event)
        if not self._arranging:
            self._arrange(resized=True)
