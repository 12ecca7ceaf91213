"""A user with quick hands: does random things to the real window, in an order that a seed fixes."""

from __future__ import annotations

import random
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton

from app.application import Application
from app.chat_view import ReplyEdit
from app.conversation import Exchange
from app.settings import Settings, with_value
from app.ui.conversation_row import ID_ROLE
from engine.api import Channel

CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier
NO = Qt.KeyboardModifier.NoModifier

TOPICS = (
    "What is {n} + 17?",
    "What comes after Monday? ({n})",
    "Sort 9, {n}, 4",
    "Is {n} larger than 50?",
    "hi, number {n}",
)


WINDOW_KEYS = (
    (Qt.Key.Key_N, CTRL),
    (Qt.Key.Key_R, CTRL),
    (Qt.Key.Key_R, CTRL | SHIFT),
    (Qt.Key.Key_A, CTRL | SHIFT),
    (Qt.Key.Key_T, CTRL),
    (Qt.Key.Key_B, CTRL),
    (Qt.Key.Key_Comma, CTRL),
    (Qt.Key.Key_End, CTRL),
    (Qt.Key.Key_Plus, CTRL),
    (Qt.Key.Key_Minus, CTRL),
    (Qt.Key.Key_Backspace, NO),
)
LIST_KEYS = (
    Qt.Key.Key_Up,
    Qt.Key.Key_Down,
    Qt.Key.Key_Return,
    Qt.Key.Key_F2,
    Qt.Key.Key_Delete,
    Qt.Key.Key_Backspace,
    Qt.Key.Key_Escape,
)


class HostileUser:
    """Every action works on what is in the window now; one that is not possible does nothing.

    `asked` holds all questions that left the composer or an editor; each is unique.
    """

    def __init__(self, app: Application, seed: int) -> None:
        self.app = app
        self.chance = random.Random(seed)
        self.asked: list[str] = []
        self.deleted: list[str] = []
        self.log: list[str] = []
        self._count = seed * 1_000
        self._actions: tuple[tuple[int, Callable[[], None]], ...] = (
            (8, self.send),
            (6, self.escape),
            (5, self.regenerate),
            (3, self.edit_question),
            (3, self.edit_answer),
            (3, self.edit_thinking),
            (4, self.go_on),
            (4, self.switch_chat),
            (3, self.new_chat),
            (2, self.delete_chat),
            (2, self.undo_delete),
            (3, self.walk_replies),
            (3, self.walk_questions),
            (3, self.answer_now),
            (2, self.press_a_notice),
            (2, self.change_a_setting),
            (1, self.reload_model),
            (1, self.free_memory),
            (1, self.resize),
            (1, self.search),
            (2, self.type_a_draft),
            (2, self.paste_a_text),
            (2, self.use_a_chip),
            (2, self.temporary_chat),
            (1, self.duplicate_or_pin),
            (3, self.press_keys),
            (2, self.press_keys_in_the_list),
        )

    def act(self) -> None:
        """One action, and a pause of none to some frames."""
        weights = [weight for weight, _ in self._actions]
        [(_, action)] = self.chance.choices(self._actions, weights)
        self.log.append(action.__name__)
        action()
        pause_ms = self.chance.choice((0, 0, 0, 1, 5, 20, 60, 150))
        if pause_ms:
            QTest.qWait(pause_ms)

    def _remember(self, question: str) -> None:
        # Of a temporary chat nothing is to be stored.
        if not self.app.chats.shown.temporary:
            self.asked.append(question)

    def _question(self) -> str:
        self._count += 1
        return self.chance.choice(TOPICS).format(n=self._count)

    def _exchange(self) -> Exchange | None:
        exchanges = self.app.chats.shown.exchanges
        if not exchanges:
            return None
        return exchanges[-1] if self.chance.random() < 0.7 else self.chance.choice(exchanges)

    def _press(self, button: QAbstractButton) -> None:
        if button.isVisible() and button.isEnabled():
            button.click()

    def send(self) -> None:
        composer = self.app.window.composer
        question = self._question()
        composer.set_text(question)
        QTest.keyClick(composer.edit, Qt.Key.Key_Return)
        if not composer.text:
            self._remember(question)

    def escape(self) -> None:
        window = self.app.window
        if window.isActiveWindow():
            QTest.keyClick(window.composer.edit, Qt.Key.Key_Escape)
        else:
            # Qt's offscreen platform makes no second window of a process active.
            window.stop_requested.emit()

    def _click(self, name: str) -> None:
        exchange = self._exchange()
        if exchange is not None:
            widget = self.app.window.transcript.exchange_widget(exchange.exchange_id)
            self._press(widget.answer.action(name))

    def regenerate(self) -> None:
        self._click("regenerate")
        exchange = self._exchange()
        if exchange is not None and self.chance.random() < 0.3:
            # As a button that was pressed in the moment in which a reply began.
            self.app.window.regenerate_requested.emit(exchange.exchange_id)

    def go_on(self) -> None:
        self._click("continue")
        exchange = self._exchange()
        if exchange is not None and self.chance.random() < 0.3:
            self.app.window.continue_requested.emit(exchange.exchange_id)

    def edit_question(self) -> None:
        exchange = self._exchange()
        if exchange is None:
            return
        question = self._question()
        before = self.app.chats.shown.exchange(exchange.exchange_id)
        self.app.window.edit_requested.emit(exchange.exchange_id, question)
        if self.app.chats.shown.exchange(exchange.exchange_id) != before:
            self._remember(question)

    def _edit(self, channel: Channel, text: str) -> None:
        exchange = self._exchange()
        if exchange is not None and exchange.reply is not None:
            closed = channel is Channel.ANSWER or self.chance.random() < 0.5
            goes_on = channel is Channel.THINKING or self.chance.random() < 0.5
            edit = ReplyEdit(exchange.exchange_id, channel, text, closed, goes_on)
            self.app.window.reply_edited.emit(edit)

    def edit_answer(self) -> None:
        self._edit(Channel.ANSWER, self.chance.choice(("The answer is", "4", "No.")))

    def edit_thinking(self) -> None:
        self._edit(Channel.THINKING, self.chance.choice(("I think that", "", "So 1 + 1")))

    def chats(self) -> list[str]:
        """Ids of the chats in the list."""
        rows = self.app.window.chats.list
        ids = (rows.item(row).data(ID_ROLE) for row in range(rows.count()))
        return [conversation_id for conversation_id in ids if conversation_id]

    def switch_chat(self) -> None:
        if chats := self.chats():
            self.app.window.chats.conversation_selected.emit(self.chance.choice(chats))

    def new_chat(self) -> None:
        self.app.window.chats.new_chat_requested.emit()

    def delete_chat(self) -> None:
        busy = [chat for chat in self.chats() if self.app.chat.is_busy(chat)]
        chats = busy if busy and self.chance.random() < 0.7 else self.chats()
        if chats:
            self.deleted.append(self.chance.choice(chats))
            self.app.window.delete_requested.emit(self.deleted[-1])

    def undo_delete(self) -> None:
        if self.deleted:
            self.app.window.undo_delete_requested.emit(self.deleted.pop())

    def walk_replies(self) -> None:
        exchange = self._exchange()
        if exchange is not None:
            steps = self.app.window.transcript.exchange_widget(exchange.exchange_id).answer.versions
            self._press(self.chance.choice((steps.earlier, steps.later)))

    def walk_questions(self) -> None:
        exchange = self._exchange()
        if exchange is not None:
            steps = self.app.window.transcript.exchange_widget(exchange.exchange_id).bubble.versions
            self._press(self.chance.choice((steps.earlier, steps.later)))

    def answer_now(self) -> None:
        self.app.window.answer_now_requested.emit()

    def press_a_notice(self) -> None:
        notices = self.app.window.notices
        for notice in notices.notices:
            harmless = [
                index
                for index, (action, _) in enumerate(notice.actions)
                if action.split(":")[0] not in ("restart", "choose_model", "download_model")
            ]
            if harmless:
                notices.action_button(notice.key, self.chance.choice(harmless)).click()
                return

    def change_a_setting(self) -> None:
        name, value = self.chance.choice(
            (
                ("thinking_enabled", self.chance.random() < 0.7),
                ("max_new_tokens", self.chance.choice((None, 8, 40))),
                ("thinking_budget_tokens", self.chance.choice((None, 0, 16))),
                ("temperature", self.chance.choice((0.0, 0.6, 2.0))),
                ("show_thinking", self.chance.random() < 0.8),
                ("seed", self.chance.choice((None, 7))),
                # The whole window is made anew, in the middle of things.
                ("language", self.chance.choice(("en", "zh_CN"))),
                ("theme", self.chance.choice(("light", "dark"))),
            )
        )
        self.change_to(with_value(self.app.settings.settings, name, value))

    def change_to(self, settings: Settings) -> None:
        self.app.window.settings_changed.emit(settings)

    def reload_model(self) -> None:
        self.app.window.action_requested.emit("reload_model")

    def free_memory(self) -> None:
        self.app.window.free_memory_requested.emit()

    def resize(self) -> None:
        self.app.window.resize(self.chance.choice((480, 700, 1000, 1440)), 700)

    def search(self) -> None:
        self.app.window.search_changed.emit(self.chance.choice(("", "Sort", "nothing at all")))

    def type_a_draft(self) -> None:
        QTest.keyClicks(self.app.window.composer.edit, "half a")

    def paste_a_text(self) -> None:
        """As one that is too long for the composer; now and then for the model too."""
        count = self.chance.choice((5, 5, 5, 5_000))
        self.app.window.composer.long_text_pasted.emit("pasted\r\nwords\x00 " * count)

    def use_a_chip(self) -> None:
        chips = self.app.window.composer.attachments.chips
        if chips:
            chip = self.chance.choice(chips)
            self._press(self.chance.choice((chip.close_button, chip.inline_button)))

    def take_all_chips_out(self) -> None:
        """So that nothing holds the next question back."""
        while chips := self.app.window.composer.attachments.chips:
            self._press(chips[0].close_button)

    def temporary_chat(self) -> None:
        self.app.window.temporary_chat_requested.emit()

    def duplicate_or_pin(self) -> None:
        if chats := self.chats():
            chat_id = self.chance.choice(chats)
            if self.chance.random() < 0.5:
                self.app.window.duplicate_requested.emit(chat_id)
            else:
                self.app.window.pin_requested.emit(chat_id, self.chance.random() < 0.5)

    def press_keys(self) -> None:
        for _ in range(self.chance.randint(1, 4)):
            key, modifiers = self.chance.choice(WINDOW_KEYS)
            QTest.keyClick(self.app.window.composer.edit, key, modifiers)

    def press_keys_in_the_list(self) -> None:
        for _ in range(self.chance.randint(1, 4)):
            QTest.keyClick(self.app.window.chats.list, self.chance.choice(LIST_KEYS))
