"""The scripted engine keeps the contract of the real ones."""

import pytest

from engine.api import (
    Channel,
    ChatMessage,
    Delta,
    Detail,
    Failed,
    Finished,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    PrefillProgress,
    Role,
    ThinkingParams,
    generate,
)
from engine.errors import LoadCancelled, NumericalError
from engine.scripted_engine import ScriptedEngine, ScriptedReply, reply_of_texts

REPLY = reply_of_texts("Let me see.", "It is Paris.")


def request(**changes):
    return GenerationRequest("r", (ChatMessage(Role.USER, "Where?"),), **changes)


def replay(reply, asked, control=None):
    return list(generate(ScriptedEngine([reply]), asked, control or GenerationControl()))


def text_of(events, channel):
    return "".join(e.text for e in events if isinstance(e, Delta) and e.channel is channel)


def test_a_reply_streams_both_channels_and_ends_once():
    events = replay(REPLY, request())
    assert text_of(events, Channel.THINKING) == "Let me see."
    assert text_of(events, Channel.ANSWER) == "It is Paris."
    assert isinstance(events[0], PrefillProgress)
    assert [type(e) for e in events if isinstance(e, Finished | Failed)] == [Finished]
    stats = events[-1].stats
    assert (stats.thinking_tokens, stats.answer_tokens) == (3, 3)
    assert stats.thinking_ended_by == "model"


def test_thinking_off_and_budget_leave_thinking_out():
    assert text_of(replay(REPLY, request(thinking=ThinkingParams(False))), Channel.THINKING) == ""
    events = replay(REPLY, request(thinking=ThinkingParams(True, 2)))
    assert text_of(events, Channel.THINKING) == "Let me"
    assert text_of(events, Channel.ANSWER) == "It is Paris."
    assert events[-1].stats.thinking_ended_by == "budget"


def test_answer_now_skips_the_rest_of_the_thinking():
    control = GenerationControl()
    control.answer_now()
    events = replay(REPLY, request(), control)
    assert text_of(events, Channel.THINKING) == ""
    assert events[-1].stats.thinking_ended_by == "user"


def test_cancel_ends_with_cancelled():
    control = GenerationControl()
    control.cancel()
    events = replay(REPLY, request(), control)
    assert [e.reason for e in events] == [FinishReason.CANCELLED]


def test_an_error_comes_after_the_asked_number_of_pieces():
    reply = ScriptedReply(REPLY.pieces, error=NumericalError("a script"), error_after=2)
    events = replay(reply, request())
    assert sum(isinstance(e, Delta) for e in events) == 2
    assert isinstance(events[-1], Failed)
    assert isinstance(events[-1].error, NumericalError)


def test_a_crash_is_raised_out_of_step_and_the_engine_goes_on():
    crash = ScriptedReply(REPLY.pieces, crash=ZeroDivisionError("bug"), error_after=1)
    engine = ScriptedEngine([crash, REPLY])
    with pytest.raises(ZeroDivisionError):
        list(generate(engine, request(), GenerationControl()))
    events = list(generate(engine, request(), GenerationControl()))
    assert text_of(events, Channel.ANSWER) == "It is Paris."


def test_max_new_tokens_and_detail():
    events = replay(REPLY, request(max_new_tokens=4, detail=Detail.ALTERNATIVES))
    assert events[-1].reason is FinishReason.MAX_NEW_TOKENS
    assert events[-1].stats.generated_tokens == 4
    assert all(len(e.tokens[0].alternatives) == 3 for e in events if isinstance(e, Delta))


def test_a_cancelled_load_raises():
    control = GenerationControl()
    loading = ScriptedEngine([REPLY]).load(control)
    next(loading)
    control.cancel()
    with pytest.raises(LoadCancelled):
        next(loading)


def test_speed_is_kept_by_sleeping():
    waits = []
    engine = ScriptedEngine([REPLY], tokens_per_s=50, sleep=waits.append)
    steps = list(generate(engine, request(), GenerationControl()))
    assert waits == [0.02] * len(steps)
