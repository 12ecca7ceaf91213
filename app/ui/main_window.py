"""The window: places the parts, passes what they want on as its own signals, shows what it is told.

It satisfies `app.chat_view.ChatView`; its signals are the intentions listed there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from PySide6.QtCore import QEvent, QRect, QSignalBlocker, Qt, QTimer
from PySide6.QtGui import QCloseEvent, QFocusEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.chat_view import Attached, ChatState, ModelChoice, Notice, PresetChoice, Status
from app.conversation import Conversation, ConversationSummary, Exchange
from app.settings import Settings, WindowState, with_value
from app.ui.chat_side import ChatSide
from app.ui.composer import Composer
from app.ui.conversation_list import ConversationList
from app.ui.desktop_notice import DesktopNotice
from app.ui.empty_chat import EmptyChat
from app.ui.file_drop import FileDrop
from app.ui.header_bar import HeaderBar
from app.ui.inline_editor import InlineEditor
from app.ui.intentions import Intentions
from app.ui.notice_bar import NoticeBar
from app.ui.pane_share import PaneShare
from app.ui.reading_place import reading_place, return_to, show_opened_editor
from app.ui.search_marks import SearchMarks
from app.ui.settings_panel import SettingsPanel
from app.ui.shortcuts import make_shortcuts
from app.ui.side_panels import SidePanels
from app.ui.spoken_reply import SpokenReply
from app.ui.status_bar import StatusBar
from app.ui.tab_order import move_focus
from app.ui.theme import Theme
from app.ui.transcript_room import column_in
from app.ui.transcript_view import TranscriptView
from app.ui.watched_area import WatchedArea
from app.ui.window_keys import actions_of, show_keys
from app.ui.window_notices import kept_back_notice, seed_notice
from app.ui.window_place import place_first, restore_state, state_of
from engine.api import Capability, Channel


class MainWindow(Intentions):
    """Places the parts; its signals are those of `Intentions`.

    Args:
        theme: colours, fonts and icons, shared with the wizard.
    """

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.theme = theme
        self._settings = Settings()
        self._state = ChatState.IDLE
        self._desktop = DesktopNotice(theme, self)
        self._spoken = SpokenReply(self)
        self.setObjectName("window")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setWindowTitle(self.tr("Thinkpane"))
        self._share = PaneShare(self)
        self._share.thinking_toggled.connect(self._on_thinking_shown)
        self._frame = QVBoxLayout(self)
        self._frame.setContentsMargins(0, 0, 0, 0)
        self._build_parts()
        theme.dress(self)
        make_shortcuts(self, actions_of(self))
        metrics = theme.metrics
        self.setMinimumSize(metrics.window_min_width, metrics.window_min_height)
        self.resize(metrics.window_width, metrics.window_height)
        self.composer.setFocus()

    def _build_parts(self) -> None:
        theme = self.theme
        self._parts = QWidget(self)
        self.header = HeaderBar(theme, self._parts)
        self.chats = ConversationList(theme)
        self.transcript = TranscriptView(theme, self._share)
        self.empty = EmptyChat(theme)
        self.notices = NoticeBar(theme)
        self.composer = Composer(theme)
        self.settings_panel = SettingsPanel(theme)
        self.panels = SidePanels(theme, self.chats, self._build_center(), self.settings_panel)
        self.status = StatusBar(theme, self._parts)
        column = QVBoxLayout(self._parts)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.header)
        column.addWidget(self.panels, 1)
        column.addWidget(self.status)
        self._frame.addWidget(self._parts)
        self._connect_parts()

    def _build_center(self) -> QWidget:
        metrics = self.theme.metrics
        center = WatchedArea()
        center.resized.connect(self._fold)
        center.setObjectName("center")
        column = QVBoxLayout(center)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        self._pages = QStackedWidget(center)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.transcript)
        column.addWidget(self._pages, 1)
        self._foot = QVBoxLayout()
        self._foot.setSpacing(metrics.gap_s)
        self._foot.addWidget(self.notices)
        self._foot.addWidget(self.composer)
        column.addLayout(self._foot)
        center.setFocusProxy(self.composer)
        return center

    def _connect_parts(self) -> None:
        composer, transcript = self.composer, self.transcript
        self.marks = SearchMarks(self.theme, transcript)
        self._chat_side = ChatSide(self, self.chats, self.marks, self._leave_chat)
        self._file_drop = FileDrop(self, composer)
        # What a part wants under a name of ours is ours to want.
        for part, names in (
            (composer, "submitted stop_requested draft_changed files_dropped attachment_removed"),
            (composer, "long_text_pasted paste_undone attachment_inlined send_held_back"),
            (transcript, "answer_now_requested regenerate_requested edit_requested"),
            (transcript, "continue_requested reply_edited reply_chosen question_chosen"),
            (self.header.picker, "model_selected add_model_requested remove_model_requested"),
            (self.header.picker, "pause_download_requested resume_download_requested"),
            (self.header.picker, "free_memory_requested"),
            (self.notices, "action_requested"),
            (self.settings_panel.presets, "preset_chosen preset_saved preset_renamed"),
            (self.settings_panel.presets, "preset_deleted preset_reverted"),
        ):
            for name in names.split():
                getattr(part, name).connect(getattr(self, name))
        composer.thinking_toggled.connect(self._on_thinking_enabled)
        composer.kept_back.connect(lambda: self.show_notice(kept_back_notice()))
        transcript.seed_chosen.connect(self._on_seed)
        transcript.arranged.connect(lambda: show_opened_editor(transcript, self.theme.metrics))
        self.empty.suggestion_chosen.connect(composer.take_suggestion)
        self.settings_panel.settings_changed.connect(self._on_settings)
        self.settings_panel.keys_requested.connect(lambda: show_keys(self))
        self.header.list_button.clicked.connect(lambda: self.panels.toggle("left"))
        self.header.settings_button.clicked.connect(lambda: self.panels.toggle("right"))

    @property
    def settings(self) -> Settings:
        """What is shown."""
        return self._settings

    # What the controllers tell: app.chat_view.ChatView.

    def show_conversations(
        self, summaries: Sequence[ConversationSummary], selected_id: str | None
    ) -> None:
        """Fill the list."""
        self.chats.show_conversations(summaries, selected_id)

    def show_trash(self, summaries: Sequence[ConversationSummary]) -> None:
        """Fill the trash."""
        self.chats.show_trash(summaries)

    def show_conversation(self, conversation: Conversation) -> None:
        """Show a whole chat and its draft."""
        self.transcript.show_exchanges(conversation.exchanges)
        self.composer.show_draft(conversation.conversation_id, conversation.draft)
        self._show_page(bool(conversation.exchanges))
        self.header.set_temporary(conversation.temporary)
        self.empty.set_temporary(conversation.temporary)
        self._chat_side.on_shown(conversation)
        self.composer.setFocus()

    def show_attachments(self, attached: Attached) -> None:
        """Show the files that go with the next question."""
        self.composer.show_attachments(attached)

    def insert_into_question(self, text: str) -> None:
        """Write into the composer."""
        self.composer.insert_text(text)

    def show_exchange(self, exchange: Exchange) -> None:
        """Add an exchange, or replace what is shown of it."""
        self._show_page(True)
        self.transcript.show_exchange(exchange)

    def remove_exchanges_after(self, exchange_id: str) -> None:
        """Take away all later exchanges."""
        self.transcript.remove_after(exchange_id)

    def append_delta(self, exchange_id: str, channel: Channel, text: str, token_count: int) -> None:
        """Add streamed text."""
        self.transcript.append_delta(exchange_id, channel, text, token_count)
        self._spoken.take(channel, text)

    def show_hit(self, exchange_id: str) -> None:
        """Bring what is searched for in that exchange into view."""
        self.marks.go_to(exchange_id)

    def show_prefill(self, exchange_id: str, done_tokens: int, total_tokens: int) -> None:
        """Show how much of the prompt has been read."""
        self.transcript.show_prefill(exchange_id, done_tokens, total_tokens)

    def show_wait(self, exchange_id: str, text: str, share: float | None) -> None:
        """Say what a reply that has not begun waits for."""
        self.transcript.show_wait(exchange_id, text, share)

    def show_chat_state(self, state: ChatState) -> None:
        """Send or Stop, timers, Answer now."""
        self._state = state
        self.composer.set_busy(state is not ChatState.IDLE)
        self.composer.set_stopping(state is ChatState.STOPPING)
        if state is ChatState.IDLE:
            self.hide_notice("kept_back")
        self.transcript.show_state(state)
        self._spoken.on_state(state)

    def show_models(self, choices: Sequence[ModelChoice], active_id: str | None) -> None:
        """Fill the model picker."""
        self.header.picker.show_models(choices, active_id)
        active = next((choice for choice in choices if choice.model_id == active_id), None)
        self.empty.show_model(active.label if active else "", active.suggestions if active else ())

    def show_capabilities(self, capabilities: frozenset[Capability]) -> None:
        """Disable what the active model cannot do."""
        can_think = Capability.THINKING in capabilities
        self.composer.set_can_think(can_think)
        self.settings_panel.set_can_think(can_think)

    def show_status(self, status: Status) -> None:
        """Fill the status bar."""
        self.status.show_status(status)
        self._share.set_capacity(status.capacity_tokens)

    def show_settings(self, settings: Settings) -> None:
        """Fill the settings panel; theme and font size follow."""
        self._settings = settings
        self.settings_panel.show_settings(settings)
        self.composer.set_thinking(settings.thinking_enabled)
        budget = settings.thinking_budget_tokens if settings.thinking_enabled else None
        self._share.set_budget(budget)
        self._share.set_thinking_shown(settings.show_thinking)
        self.theme.set_look(settings.theme, settings.font_size)

    def reveal_setting(self, name: str, *, focus: bool = True) -> None:
        """Open the settings at that one; with `focus` it gets the keyboard."""
        self.panels.open("right", focus=focus)
        self.settings_panel.reveal(name, focus=focus)

    def show_presets(self, choice: PresetChoice) -> None:
        """Show which preset the chat uses."""
        self.settings_panel.presets.show_presets(choice)

    def show_memory_plan(self, text: str, fits: bool) -> None:
        """Show what the model needs on this device."""
        self.settings_panel.show_memory_plan(text, fits)

    def show_notice(self, notice: Notice) -> None:
        """Show a sentence above the composer."""
        self.notices.show_notice(notice)

    def hide_notice(self, key: str) -> None:
        """Take the notice away."""
        self.notices.hide_notice(key)

    def notify(self, title: str, text: str) -> None:
        """Tell the desktop, if the window is not the one in use."""
        self._desktop.show(title, text)

    def toggle_thinking(self) -> None:
        """Show or hide the thinking of all exchanges, as the key and the buttons do."""
        self._share.toggle_thinking()

    # What the window remembers of itself.

    def window_state(self) -> WindowState:
        """Geometry, panels and the splitter, to be saved."""
        return state_of(self, self.panels, self._share)

    def restore_window_state(self, state: WindowState) -> None:
        """Put the window back as it was, on a screen that is there."""
        restore_state(self, self.panels, self._share, state)

    def place_first(self, room: QRect) -> None:
        """First start on a screen with that room: the usual size, or filling a smaller screen.

        The settings are open where they leave the conversation enough width.
        """
        width = place_first(self, room, self.theme.metrics)
        opens = width >= self.theme.metrics.settings_open_from
        self.panels.restore("right", 0, collapsed=not opens)

    @property
    def is_editing(self) -> bool:
        """Whether a text is being changed in its place, which nothing may take away."""
        return any(editor.isVisible() for editor in self.findChildren(InlineEditor))

    def focusInEvent(self, event: QFocusEvent) -> None:
        """What is closed gives the keyboard to the window, and so to the question."""
        super().focusInEvent(event)
        self.composer.setFocus()

    def speak_anew(self, show_again: Callable[[], None]) -> None:
        """Make every part anew, in the language now in use.

        `show_again` is to show all that controllers know. What is typed, searched for and noticed
        stays, and the place of reading, of panels and of the focus.
        """
        self.composer.flush_draft()
        self.settings_panel.flush()
        old, state, notices = self._parts, self.window_state(), self.notices.notices
        open_sides = [key for key in ("left", "right") if self.panels.is_shown(key)]
        search, place = self.chats.search.text(), self.settings_panel.place()
        reading = reading_place(self.transcript)
        self.setWindowTitle(self.tr("Thinkpane"))
        self._build_parts()
        self._frame.removeWidget(old)
        old.hide()
        old.deleteLater()
        self._frame.activate()
        self.restore_window_state(replace(state, geometry=""))
        for key in open_sides:
            if not self.panels.is_shown(key):
                self.panels.toggle(key)
        with QSignalBlocker(self.chats.search):
            self.chats.search.setText(search)
        self.show_settings(self._settings)
        show_again()
        for notice in notices:
            self.show_notice(notice.retell() if notice.retell else notice)
        self.settings_panel.restore_place(place)
        # Once the new parts have their sizes.
        QTimer.singleShot(0, self.transcript, lambda: return_to(self.transcript, reading))

    # What the parts want.

    def _show_page(self, has_exchanges: bool) -> None:
        self._pages.setCurrentWidget(self.transcript if has_exchanges else self.empty)

    def _leave_chat(self) -> None:
        """What is typed belongs to the chat that is left; tell it before another one is shown."""
        self.composer.flush_draft()
        self.panels.close_overlays()

    def _on_settings(self, settings: object) -> None:
        if isinstance(settings, Settings):
            self.change_settings(settings)

    def _on_thinking_enabled(self, enabled: bool) -> None:
        self.change_settings(with_value(self._settings, "thinking_enabled", enabled))

    def _on_seed(self, seed: int) -> None:
        self.change_settings(with_value(self._settings, "seed", seed))
        self.show_notice(seed_notice(seed))

    def _on_thinking_shown(self, shown: bool) -> None:
        self.change_settings(with_value(self._settings, "show_thinking", shown))

    def change_settings(self, settings: Settings) -> None:
        """Show other settings, and ask for them."""
        self.show_settings(settings)
        self.settings_changed.emit(settings)

    def on_escape(self) -> None:
        """Close what lies over the chat, else stop the reply."""
        if self.panels.close_overlays():
            return
        if self._state not in (ChatState.IDLE, ChatState.STOPPING):
            self.stop_requested.emit()

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab and Shift+Tab go through the window as one reads it."""
        zones = (self.header, self.chats, self._pages, self.notices, self.composer)
        line_height = self.theme.metrics.control_height
        moved = move_focus((*zones, self.settings_panel), line_height, forward=next)
        return moved or super().focusNextPrevChild(next)

    def _fold(self, width: int) -> None:
        """Fold what a narrow conversation has no room for."""
        metrics = self.theme.metrics
        folded = width < metrics.fold_below
        self._share.set_folded(folded)
        self.empty.set_columns(1 if folded else metrics.suggestion_columns)
        side, _ = column_in(width, metrics, folded=folded)
        self._foot.setContentsMargins(side, metrics.gap_s, side, metrics.gap_l)

    def changeEvent(self, event: QEvent) -> None:
        """Coming back to the window takes its tray message away."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange:
            self._desktop.take_back()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Tell what is still being typed, then that the window closes."""
        self.composer.flush_draft()
        self.settings_panel.flush()
        self.closing.emit()
        super().closeEvent(event)
