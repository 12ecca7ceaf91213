"""Nothing that can be pressed or read is pushed out of sight: narrow windows, large text, both."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QStyleOptionButton

from app.conversation import Conversation, ConversationSummary
from app.settings import field_of, with_value
from app.ui.controls import ElidedLabel
from app.ui.conversation_row import SNIPPET_ROLE
from engine.api import Channel
from tests.gui import scenes


def zoom(window, size):
    window.show_settings(with_value(window.settings, "font_size", size))
    scenes.settle(window)


def sees(outer, inner):
    """Whether the inner widget lies wholly within the outer one."""
    place = inner.rect().translated(inner.mapTo(outer, inner.rect().topLeft()))
    return outer.rect().contains(place)


@pytest.mark.parametrize("width", [900, 1180, 1280, 1300, 1320, 1340, 1360, 1440])
def test_the_arrows_between_versions_are_whole_at_every_width(window, width):
    window.resize(width, 700)
    window.panels.restore("right", 0, collapsed=False)
    short = [scenes.reply(reply_id=name, answer="Yes.") for name in "ab"]
    scenes.show_chat(window, replace(scenes.exchange("e1"), replies=tuple(short)))
    scenes.settle(window)
    answer = window.transcript.exchange_widget("e1").answer
    assert answer.versions.isVisible()
    assert sees(answer, answer.versions)


@pytest.mark.parametrize("size", [15, 22, 28])
def test_every_button_of_the_reply_editor_is_whole_in_a_narrow_window(window, size):
    window.resize(900, 600)
    window.panels.restore("right", 0, collapsed=False)
    zoom(window, size)
    answer = "I can do small tasks, and for everything else choose another model. " * 3
    scenes.show_chat(window, scenes.exchange("e1", answer=answer))
    scenes.settle(window)
    exchange = window.transcript.exchange_widget("e1")
    exchange.editor.begin(Channel.ANSWER, answer)
    scenes.settle(window)
    for name in ("main", "other", "cancel"):
        assert sees(exchange, exchange.editor.button(name)), name


def test_the_reply_editor_grows_with_wrapped_lines_up_to_its_limit(window):
    scenes.show_chat(window, scenes.exchange("e1"))
    scenes.settle(window)
    editor = window.transcript.exchange_widget("e1").editor
    heights = []
    # However many words a line holds in the font that there is: some counts lie in between.
    for count in (1, *range(10, 200, 10), 4_000, 400_000):
        editor.begin(Channel.ANSWER, "word " * count)
        heights.append(editor.height_for(400))
    assert heights == sorted(heights)
    assert heights[0] < heights[-1] == heights[-2]
    assert len(set(heights)) > 5


@pytest.mark.parametrize("size", [11, 15, 22])
@pytest.mark.parametrize("text", ["word ", "iiiii ", "MMMM ", "a line\n", "中文 ", "fingerprints "])
def test_the_reply_editor_scrolls_only_where_its_limit_is_reached(window, size, text):
    window.resize(900, 700)
    zoom(window, size)
    scenes.show_chat(window, scenes.exchange("e1"))
    scenes.settle(window)
    editor = window.transcript.exchange_widget("e1").editor
    editor.begin(Channel.ANSWER, text * 4_000)
    limit = editor.height_for(editor.width())
    for count in range(1, 60, 6):
        editor.begin(Channel.ANSWER, text * count)
        scenes.settle(window)
        if editor.height() < limit:
            assert editor.edit.verticalScrollBar().maximum() == 0, count


def test_the_hint_of_the_question_follows_every_zoom(window):
    edit = window.composer.edit
    for size in (15, 25, 15, 11, 15):
        zoom(window, size)
        assert edit.viewport().font().pixelSize() == size


@pytest.mark.parametrize("size", [15, 20, 25, 28])
@pytest.mark.parametrize("width", [480, 900, 1280])
def test_the_composer_keeps_its_words_and_half_its_width_for_the_question(window, width, size):
    window.resize(width, 700)
    window.panels.restore("right", 0, collapsed=False)
    zoom(window, size)
    composer = window.composer
    words = composer.thinking.fontMetrics().horizontalAdvance(composer.thinking.text())
    assert composer.thinking.width() > words
    assert composer.edit.width() >= composer.width() // 2 - composer.attach.width()


@pytest.mark.parametrize("size", [15, 20, 25, 28])
def test_the_values_of_the_settings_are_in_sight_at_every_font_size(window, size):
    window.resize(1280, 800)
    window.panels.restore("right", 0, collapsed=False)
    window.settings_panel.search.setFocus()
    zoom(window, size)
    panel = window.settings_panel
    # Still open where it became an overlay: it may be the place in which the text is enlarged.
    assert panel.isVisible()
    assert panel.widget().width() <= panel.viewport().width()


def test_panels_give_way_to_large_text_and_come_back(window):
    window.resize(1280, 800)
    window.panels.restore("right", 0, collapsed=False)
    window.composer.setFocus()
    assert not window.panels.overlays
    zoom(window, 25)
    assert window.panels.overlays
    assert not window.panels.is_shown("left")
    zoom(window, 15)
    assert window.panels.is_shown("left")
    assert window.panels.is_shown("right")


def test_a_suggestion_that_is_cut_ends_in_an_ellipsis(window):
    window.show_conversation(Conversation("c1", "Chat", ()))
    window.resize(900, 600)
    window.panels.restore("right", 0, collapsed=False)
    scenes.settle(window)
    button = window.empty.buttons[0]
    words = button.text()

    def painted(width):
        button.resize(width, button.height())
        option = QStyleOptionButton()
        button.initStyleOption(option)
        return option.text

    assert painted(1000) == words
    cut = painted(120)
    assert cut.endswith("…")
    assert words.startswith(cut[:-1])
    assert button.text() == button.toolTip() == words


def test_a_hit_in_the_title_is_not_told_twice(window):
    same = ConversationSummary("c1", "What is 48?", 1.0, snippet="What is 48?")
    other = ConversationSummary("c2", "Sums", 1.0, snippet="48 and 76")
    window.show_conversations([same, other], "c1")
    items = {
        window.chats.list.item(row).text(): window.chats.list.item(row).data(SNIPPET_ROLE)
        for row in range(window.chats.list.count())
    }
    assert not items["What is 48?"]
    assert items["Sums"] == "48 and 76"


@pytest.mark.parametrize("part", ["question", "answer"])
def test_an_editor_that_opens_is_in_sight_with_its_buttons(window, qtbot, part):
    window.resize(900, 600)
    window.panels.restore("right", 0, collapsed=False)
    scenes.show_chat(window, scenes.exchange("e0"), scenes.exchange("e1", answer="Yes."))
    scenes.settle(window)
    exchange = window.transcript.exchange_widget("e1")
    if part == "question":
        exchange.answer.edit_requested.emit()
        edit, buttons = exchange.bubble.editor, (exchange.bubble._ask, exchange.bubble._cancel)
    else:
        exchange.answer.edit_answer_requested.emit()
        edit, buttons = exchange.editor.edit, (exchange.editor.button("main"),)
    qtbot.waitUntil(edit.hasFocus, timeout=30_000)
    scenes.settle(window)
    view = window.transcript.viewport()
    assert sees(view, edit)
    assert all(sees(view, button) for button in buttons)
    # Only once: who scrolls away from it stays there.
    window.transcript.verticalScrollBar().setValue(0)
    window.transcript._arrange()
    assert window.transcript.verticalScrollBar().value() == 0


@pytest.mark.parametrize("size", [15, 28])
def test_suggestions_take_the_room_that_large_text_needs(window, size):
    """At the largest text each was cut after its third word, in half of an empty window."""
    window.resize(1440, 900)
    window.panels.restore("left", 0, collapsed=True)
    window.panels.restore("right", 0, collapsed=True)
    zoom(window, size)
    window.empty.show_model("Demo model", ("Which is larger, 9.11 or 9.9?",) * 10)
    scenes.settle(window)
    for button in window.empty.buttons:
        option = QStyleOptionButton()
        button.initStyleOption(option)
        assert option.text == button.text()


def test_a_seed_is_seen_whole(window):
    row = window.settings_panel.rows["seed"]
    for seed in (7, 4_045_087_254, field_of("seed").high):
        window.show_settings(with_value(window.settings, "seed", seed))
        scenes.settle(window)
        text, field = str(seed), row.input
        assert field.text() == text
        assert field.fontMetrics().horizontalAdvance(text) < field.width()
        assert sees(window.settings_panel, field)


@pytest.mark.parametrize("size", [11, 15, 18, 22, 28])
@pytest.mark.parametrize("width", [400, 600, 900, 1200, 1300, 1440])
def test_the_hint_of_the_question_is_whole_on_its_line(window, size, width):
    """Its second line was cut through the middle."""
    window.resize(width, 700)
    zoom(window, size)
    edit = window.composer.edit
    room = edit.viewport().width() - 2 * edit.document().documentMargin()
    metrics = QFontMetricsF(window.theme.font("text"))
    assert metrics.horizontalAdvance(edit.placeholderText()) <= room


@pytest.mark.parametrize("width", range(0, 200, 10))
def test_a_counter_is_whole_in_one_of_its_forms_or_not_there(qtbot, theme, width):
    counter = ElidedLabel("quiet")
    qtbot.addWidget(counter)
    theme.dress(counter)
    counter.set_full_text("for 12 s, 310 tokens", "for 12 s")
    counter.resize(width, 20)
    counter.show()
    assert counter.text() in ("for 12 s, 310 tokens", "for 12 s", "")
