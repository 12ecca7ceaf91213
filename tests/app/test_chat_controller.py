"""Questions in, replies out: states, turns, stop, late events, chats that are not shown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.chat_view import ChatState
from app.conversation import NO_SEED, ReplyStatus, StreamedText, joined
from app.engine_events import LoadAdvanced, LoadFailed, ModelLoaded
from app.settings import Settings, with_value
from app.settings_file import Profile
from engine.api import (
    Capability,
    Channel,
    Delta,
    EngineInfo,
    Failed,
    FinishReason,
    LoadProgress,
    PrefillProgress,
    Role,
)
from engine.errors import DeviceLost, NotEnoughMemory, NumericalError, PromptTooLong
from engine.scripted_engine import scripted_info
from tests.app.fakes import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path).with_model()


def roles(desk: Desk) -> list[tuple[Role, str]]:
    return [(m.role, m.text) for m in desk.request.messages]


def test_a_whole_reply_passes_through_every_state_and_is_stored(desk):
    desk.chat.on_submitted("What is 2 + 2?")
    desk.chat.on_engine_event(PrefillProgress(desk.request.request_id, 5, 10, 0))
    desk.say("Easy. ", "4.")
    desk.finish()
    states = [s for i, s in enumerate(desk.view.states) if i == 0 or s != desk.view.states[i - 1]]
    assert states[-4:] == [
        ChatState.PREFILLING,
        ChatState.THINKING,
        ChatState.ANSWERING,
        ChatState.IDLE,
    ]
    assert desk.view.prefill == [(5, 10)]
    [exchange] = desk.store.conversation(desk.chats.shown_id).exchanges
    reply = exchange.reply
    assert reply is not None
    assert (reply.thinking, reply.answer, reply.status) == ("Easy. ", "4.", ReplyStatus.DONE)
    assert (reply.seed, reply.thinking_s, reply.answer_s) == (7, 1.5, 0.5)
    assert desk.view.exchanges[exchange.exchange_id] == exchange
    assert desk.view.status.decode_tokens_per_s > 0
    assert desk.view.summaries[0].title == "What is 2 + 2?"


def test_the_title_comes_from_the_question_and_never_holds_thinking(desk):
    desk.chat.on_submitted("<think>Plan</think> a trip")
    desk.say("Secretly I wonder. ", "")
    assert [s.title for s in desk.view.summaries] == ["<think>Plan</think> a trip"]
    desk.say("", "Go.")
    desk.finish()
    assert desk.store.conversation(desk.chats.shown_id).title == "<think>Plan</think> a trip"


@pytest.mark.parametrize("text", ["", "   ", "\n\n\t"])
def test_blank_questions_are_not_sent(desk, text):
    desk.chat.on_submitted(text)
    assert desk.engine.requests == []
    assert desk.view.exchanges == {}


def test_a_lone_surrogate_in_a_question_is_replaced_not_fatal(desk):
    desk.chat.on_submitted("a\ud800b")
    assert roles(desk) == [(Role.USER, "a?b")]


def test_the_request_holds_system_prompt_earlier_answers_and_settings(tmp_path):
    settings = with_value(Settings(), "system_prompt", "Be brief.")
    settings = with_value(settings, "temperature", 1.25)
    settings = with_value(settings, "thinking_budget_tokens", 64)
    settings = with_value(settings, "max_new_tokens", 99)
    desk = Desk(tmp_path, Profile(settings)).with_model()
    desk.ask("One?", "1.")
    desk.chat.on_submitted("Two?")
    assert roles(desk) == [
        (Role.SYSTEM, "Be brief."),
        (Role.USER, "One?"),
        (Role.ASSISTANT, "1."),
        (Role.USER, "Two?"),
    ]
    request = desk.request
    assert request.sampling.temperature == 1.25
    assert request.thinking.budget_tokens == 64
    assert request.max_new_tokens == 99


def test_questions_of_other_chats_wait_for_the_running_reply_in_their_order(desk):
    desk.chat.on_submitted("One?")
    for question in ("Two?", "Three?"):
        desk.chats.on_new_chat()
        desk.chat.on_submitted(question)
    assert len(desk.engine.requests) == 1
    for question in ("Two?", "Three?"):
        desk.say(answer="Yes.")
        desk.finish()
        assert roles(desk) == [(Role.USER, question)]


def test_a_question_during_loading_is_stored_at_once_and_answered_when_ready(tmp_path):
    desk = Desk(tmp_path).with_model(ready=False)
    desk.chat.on_submitted("Hello?")
    assert desk.engine.requests == []
    assert desk.store.conversation(desk.chats.shown_id).exchanges[0].question == "Hello?"
    assert desk.view.states[-1] is ChatState.PREFILLING
    [(load, _)] = desk.engine.loads
    desk.models.on_worker_event(ModelLoaded(load.load_id, scripted_info()))
    assert roles(desk) == [(Role.USER, "Hello?")]


def test_stop_while_the_model_loads_ends_the_waiting_reply(tmp_path):
    desk = Desk(tmp_path).with_model(ready=False)
    desk.chat.on_submitted("Hello?")
    desk.chat.on_stop()
    assert desk.view.states[-1] is ChatState.IDLE
    [(load, _)] = desk.engine.loads
    desk.models.on_worker_event(ModelLoaded(load.load_id, scripted_info()))
    assert desk.engine.requests == []
    reply = desk.chats.shown.exchanges[0].reply
    assert reply is not None
    assert reply.status is ReplyStatus.STOPPED


def test_a_failed_load_fails_the_waiting_question_in_words_and_retry_asks_it_again(tmp_path):
    desk = Desk(tmp_path).with_model(ready=False)
    desk.chat.on_submitted("Hello?")
    [(load, _)] = desk.engine.loads
    desk.models.on_worker_event(LoadFailed(load.load_id, NotEnoughMemory(2 * 10**9, 10**9, "GPU")))
    reply = desk.chats.shown.exchanges[0].reply
    assert reply is not None
    assert reply.status is ReplyStatus.FAILED
    assert "2.00 GB" in reply.error_text
    desk.edits.retry_last()
    assert len(desk.engine.loads) == 2
    desk.models.on_worker_event(ModelLoaded(desk.engine.loads[-1][0].load_id, scripted_info()))
    assert roles(desk) == [(Role.USER, "Hello?")]
    assert len(desk.chats.shown.exchanges[0].replies) == 1


def test_without_any_model_the_question_is_kept_and_the_download_offered(tmp_path):
    desk = Desk(tmp_path)
    from app.model_records import ModelRecord, ModelsOnDisk

    desk.models.set_models(
        [ModelRecord("m1", "M1", tmp_path / "m1", in_catalog=True)], ModelsOnDisk(())
    )
    desk.chat.on_submitted("Hello?")
    assert desk.offered == ["m1"]
    reply = desk.store.conversation(desk.chats.shown_id).exchanges[0].reply
    assert reply is not None
    assert reply.status is ReplyStatus.FAILED


@pytest.mark.parametrize("stage", ["prefill", "thinking", "answer"])
def test_stop_sets_the_flag_at_once_and_keeps_what_had_arrived(desk, stage):
    desk.chat.on_submitted("Tell me")
    if stage != "prefill":
        desk.say("Hm. ", "" if stage == "thinking" else "So")
    desk.chat.on_stop()
    assert desk.control.cancelled
    assert desk.view.states[-1] is ChatState.STOPPING
    streamed = len(desk.view.streamed)
    desk.say(answer="late")
    assert len(desk.view.streamed) == streamed, "nothing moves after Stop"
    desk.finish(FinishReason.CANCELLED)
    assert desk.view.states[-1] is ChatState.IDLE
    reply = desk.store.conversation(desk.chats.shown_id).exchanges[0].reply
    assert reply is not None
    assert reply.status is ReplyStatus.STOPPED
    assert reply.answer == ("Solate" if stage == "answer" else "late"), "no word is lost"


def test_late_events_of_a_stopped_request_never_land_in_the_next(desk):
    desk.chat.on_submitted("One?")
    first = desk.request.request_id
    desk.chat.on_stop()
    desk.finish(FinishReason.CANCELLED)
    desk.chat.on_submitted("Two?")
    desk.say(answer="old", request_id=first)
    desk.chat.on_engine_event(Failed(first, NumericalError("logits")))
    desk.say(answer="new")
    desk.finish()
    reply = desk.chats.shown.exchanges[1].reply
    assert reply is not None
    assert reply.answer == "new"
    assert reply.status is ReplyStatus.DONE


def test_answer_now_reaches_the_engine_only_while_thinking(desk):
    desk.chat.on_submitted("Why?")
    desk.chat.on_answer_now()
    assert not desk.control.take_answer_now()
    desk.say("Hm.")
    desk.chat.on_answer_now()
    assert desk.control.take_answer_now()


@pytest.mark.parametrize(
    ("error", "action"),
    [
        (NumericalError("logits"), "retry"),
        (DeviceLost("illegal address"), "restart"),
        (PromptTooLong(9000, 8192), "leave_out_oldest"),
    ],
)
def test_a_failed_reply_keeps_its_text_and_offers_what_helps(desk, error, action):
    desk.chat.on_submitted("Why?")
    desk.say("Hm.", "Be")
    desk.chat.on_engine_event(Failed(desk.request.request_id, error))
    reply = desk.store.conversation(desk.chats.shown_id).exchanges[0].reply
    assert reply is not None
    assert (reply.status, reply.answer) == (ReplyStatus.FAILED, "Be")
    assert reply.error_text
    assert action in desk.view.actions()
    assert desk.view.states[-1] is ChatState.IDLE


def test_a_reply_goes_on_in_its_own_chat_while_another_is_shown(desk):
    desk.chat.on_submitted("Long story?")
    first_id = desk.chats.shown_id
    desk.say("Hm. ", "Once")
    desk.chats.on_new_chat()
    assert desk.view.states[-1] is ChatState.IDLE
    desk.say(answer=" upon")
    assert desk.view.streamed == []
    desk.chat.on_submitted("Short one?")
    second_id = desk.chats.shown_id
    assert desk.view.states[-1] is ChatState.PREFILLING
    desk.chats.on_conversation_selected(first_id)
    shown = desk.view.conversation.exchanges[0].reply
    assert shown is not None
    assert shown.answer == "Once upon"
    assert desk.view.states[-1] is ChatState.ANSWERING
    desk.say(answer=" a time")
    assert desk.view.streamed[-1][2] == " a time"
    desk.finish()
    desk.say(answer="Short.")
    desk.finish()
    answers = {
        chat_id: desk.store.conversation(chat_id).exchanges[0].reply
        for chat_id in (first_id, second_id)
    }
    assert answers[first_id].answer == "Once upon a time"
    assert answers[second_id].answer == "Short."


def test_stop_in_one_chat_leaves_the_reply_of_another_alone(desk):
    desk.chat.on_submitted("One?")
    desk.chats.on_new_chat()
    desk.chat.on_submitted("Two?")
    desk.chat.on_stop()
    assert not desk.control.cancelled
    reply = desk.chats.shown.exchanges[0].reply
    assert reply is not None
    assert reply.status is ReplyStatus.STOPPED


def test_deleting_a_chat_ends_its_reply_and_undo_brings_its_words_back(desk):
    desk.chat.on_submitted("One?")
    chat_id = desk.chats.shown_id
    request_id = desk.request.request_id
    desk.say(answer="Half an")
    desk.chats.on_delete(chat_id)
    assert desk.control.cancelled
    desk.chat.on_engine_event(Delta(request_id, Channel.ANSWER, " answer", 1))
    assert desk.view.summaries == []
    desk.chats.on_undo_delete(chat_id)
    assert desk.chats.shown_id == chat_id
    reply = desk.chats.shown.exchanges[0].reply
    assert reply is not None
    assert (reply.answer, reply.status) == ("Half an", ReplyStatus.STOPPED)


@pytest.mark.parametrize(("seconds", "told"), [(20, True), (1, False)])
def test_a_long_answer_is_announced(desk, seconds, told):
    desk.chat.on_submitted("Long?")
    desk.say(answer="Yes")
    desk.clock.now += seconds
    desk.finish()
    assert desk.view.notified == ([("Long?", "The answer is ready.")] if told else [])


def test_a_long_answer_that_the_user_stopped_is_not_announced(desk):
    desk.chat.on_submitted("Long?")
    desk.clock.now += 60
    desk.chat.on_stop()
    desk.finish(FinishReason.CANCELLED)
    assert desk.view.notified == []


def test_closing_keeps_the_words_of_running_and_waiting_replies(desk):
    desk.chat.on_submitted("One?")
    desk.chat.on_submitted("Two?")
    desk.say("Hm", "So")
    desk.chat.close()
    one, two = (e.reply for e in desk.store.conversation(desk.chats.shown_id).exchanges)
    assert one is not None
    assert two is not None
    assert (one.status, one.answer) == (ReplyStatus.INTERRUPTED, "So")
    assert two.status is ReplyStatus.INTERRUPTED


def test_streamed_text_goes_to_the_store_with_tokens_and_seconds_as_it_comes(desk):
    desk.chat.on_submitted("One?")
    for thinking, answer in (("Hm", ""), (" well", ""), ("", "So"), ("", " it is")):
        desk.say(thinking, answer)
    streamed = joined(piece for _, piece in desk.store.appended)
    assert streamed == StreamedText("Hm well", "So it is", 2, 2, thinking_s=2.0, answer_s=1.0)
    desk.chat.close()
    reply = desk.store.conversation(desk.chats.shown_id).exchanges[0].reply
    assert reply is not None
    assert (reply.thinking_s, reply.answer_s) == (2.0, 1.0), "as the window counted it"
    assert (reply.thinking_tokens, reply.answer_tokens) == (2, 2)


WITHOUT_THINKING = replace(
    scripted_info(), capabilities=frozenset(Capability) - {Capability.THINKING}
)


def load(desk: Desk, info: EngineInfo) -> None:
    desk.models.on_worker_event(ModelLoaded(desk.engine.loads[-1][0].load_id, info))


def test_a_model_that_cannot_think_is_not_asked_to_and_the_reply_says_so(tmp_path):
    desk = Desk(tmp_path).with_model(ready=False)
    assert desk.settings.settings.thinking_enabled
    desk.chat.on_submitted("Hello?")
    load(desk, WITHOUT_THINKING)
    assert not desk.request.thinking.enabled
    [shown] = desk.view.exchanges.values()
    assert shown.reply is not None
    assert not shown.reply.thinking_enabled
    begun = desk.store.conversation(desk.chats.shown_id).exchanges[0].reply
    assert begun is not None
    assert not begun.thinking_enabled, "a crash must not bring the empty pane back"
    desk.say(answer="Hi.")
    desk.finish()
    stored = desk.store.conversation(desk.chats.shown_id).exchanges[0].reply
    assert stored is not None
    assert (stored.answer, stored.thinking_enabled) == ("Hi.", False)
    assert desk.settings.settings.thinking_enabled, "the switch is for the next model"


def test_a_thinking_reply_is_continued_as_one_by_a_model_that_cannot_think(desk):
    exchange = desk.ask("Hello?", answer="", thinking="Hm, so")
    desk.models.reload()
    load(desk, WITHOUT_THINKING)
    desk.chat.begin(desk.chats.shown, exchange)
    assert desk.request.thinking.enabled
    assert desk.request.prefix is not None
    assert desk.request.prefix.thinking == "Hm, so"


def test_a_reply_at_temperature_0_has_no_seed(desk):
    assert desk.ask("One?").reply.seed == 7
    settings = with_value(desk.settings.settings, "temperature", 0.0)
    desk.settings.on_settings_changed(settings)
    exchange = desk.ask("Two?")
    assert exchange.reply.seed == NO_SEED
    stored = desk.store.conversation(desk.chats.shown_id).exchanges[-1]
    assert stored.reply.seed == NO_SEED


def test_a_reply_says_how_far_its_model_is_loaded_and_then_waits_no_more(tmp_path):
    desk = Desk(tmp_path).with_model(ready=False)
    desk.chat.on_submitted("Hello?")
    [exchange_id] = desk.view.exchanges
    [(request, _)] = desk.engine.loads
    assert desk.view.waits[exchange_id] == ("Waiting for M1", 0.0)
    desk.models.on_worker_event(LoadAdvanced(request.load_id, LoadProgress("weights", 1, 4)))
    assert desk.view.waits[exchange_id] == ("Waiting for M1", 0.25)
    load(desk, scripted_info())
    assert desk.view.waits[exchange_id] == ("", None)


def test_a_reply_says_that_it_waits_for_another_chat(desk):
    desk.chat.on_submitted("One?")
    desk.chats.on_new_chat()
    desk.chat.on_submitted("Two?")
    second = desk.chats.shown.exchanges[0].exchange_id
    assert desk.view.waits[second] == ("Waiting for the answer in another chat", None)
    desk.finish()
    assert desk.view.waits[second] == ("", None)


def test_the_context_in_the_status_is_that_of_the_chat_in_the_window(desk):
    desk.ask("One?")
    first_id, used = desk.chats.shown_id, desk.view.status.context_tokens
    assert used == 12
    desk.chats.on_new_chat()
    assert desk.view.status.context_tokens == 0
    desk.chat.on_submitted("Two?")
    desk.chats.on_conversation_selected(first_id)
    assert desk.view.status.context_tokens == used
    desk.finish(context_tokens=999)
    assert desk.view.status.context_tokens == used


def test_the_context_in_the_status_grows_while_a_reply_comes(desk):
    desk.ask("One?")
    desk.chat.on_submitted("Two?")
    desk.say("Hm")
    assert desk.view.status.context_tokens == 12, "as before, until the prompt is counted"
    desk.chat.on_engine_event(PrefillProgress(desk.request.request_id, 30, 40, 0))
    assert desk.view.status.context_tokens == 41
    desk.say(answer="So")
    assert desk.view.status.context_tokens == 42
    desk.chats.on_new_chat()
    desk.say(answer=" be it")
    assert desk.view.status.context_tokens == 0, "of the chat in the window"
