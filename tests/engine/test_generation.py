"""The generation loop on a fake backend: limits, stops, thinking, reuse, cancel, faults."""

import pytest

from engine.api import (
    Capability,
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
    ReplyPrefix,
    Role,
    SamplingParams,
    ThinkingParams,
    generate,
)
from engine.errors import BadRequest, DeviceLost, NumericalError, PromptTooLong
from engine.generation import MAX_RUN_STEPS, RUN_S, RunLength, TextEngine
from tests.engine.fake_backend import FakeBackend
from tests.engine.models.tiny_model import token_id

THINK, END_THINK = token_id("<think>"), token_id("</think>")
END = token_id("<|im_end|>")
ON, OFF = ThinkingParams(True), ThinkingParams(False)


@pytest.fixture
def spell(tiny_tokenizer):
    """Ids of a text, one per byte or merged word, control literals as control ids."""

    def ids(*parts):
        return [i for p in parts for i in ([p] if isinstance(p, int) else tiny_tokenizer.encode(p))]

    return ids


@pytest.fixture
def build(tiny_tokenizer):
    """Build an engine on a fake backend that says `script`."""

    def engine(script, **options):
        return TextEngine(
            FakeBackend(script, **{"capacity_tokens": 256} | options), tiny_tokenizer, "tiny"
        )

    return engine


def request(text="hi", request_id="r", thinking=OFF, **options):
    return GenerationRequest(
        request_id, (ChatMessage(Role.USER, text),), thinking=thinking, **options
    )


def run(engine, asked, control=None):
    """Events of one request; asserts that exactly one ends it, and nothing comes after."""
    events = list(generate(engine, asked, control or GenerationControl()))
    assert [isinstance(e, Finished | Failed) for e in events].count(True) == 1
    assert engine.step() == []
    return events


def text_of(events, channel=Channel.ANSWER):
    return "".join(e.text for e in events if isinstance(e, Delta) and e.channel is channel)


def tokens_of(events, channel=Channel.ANSWER):
    return sum(e.token_count for e in events if isinstance(e, Delta) and e.channel is channel)


# --- ends and limits


def test_a_reply_streams_and_stops_at_an_end_token(build, spell):
    events = run(build(spell("hello the answer", END)), request())
    assert text_of(events) == "hello the answer"
    assert events[-1].reason is FinishReason.END
    stats = events[-1].stats
    assert stats.token_ids == tuple(spell("hello the answer", END))
    assert stats.answer_tokens == tokens_of(events) == len(stats.token_ids) - 1
    assert stats.context_tokens == stats.prompt_tokens + len(stats.token_ids)


def test_both_end_tokens_stop(build, spell):
    events = run(build(spell("hello", token_id("<|endoftext|>"))), request())
    assert (text_of(events), events[-1].reason) == ("hello", FinishReason.END)


def test_an_end_token_as_first_token_gives_an_empty_reply(build):
    events = run(build([END]), request())
    assert (text_of(events), events[-1].reason) == ("", FinishReason.END)


@pytest.mark.parametrize("limit", [1, 2, 5, 40])
def test_max_new_tokens_is_exact(build, spell, limit):
    events = run(build(spell("a")), request(max_new_tokens=limit))
    assert text_of(events) == "a" * limit
    assert events[-1].reason is FinishReason.MAX_NEW_TOKENS


@pytest.mark.parametrize("room", [1, 2, 3, 17])
def test_a_full_context_ends_exactly_at_capacity(build, spell, tiny_tokenizer, room):
    prompt = len(tiny_tokenizer.render(request().messages, OFF))
    # The fake backend asserts that nothing is written past the cache.
    engine = build(spell("a"), capacity_tokens=prompt + room)
    events = run(engine, request())
    assert text_of(events) == "a" * room
    assert events[-1].reason is FinishReason.CONTEXT_FULL
    assert events[-1].stats.context_tokens == prompt + room


def test_a_full_context_is_told_before_max_new_tokens(build, spell, tiny_tokenizer):
    prompt = len(tiny_tokenizer.render(request().messages, OFF))
    events = run(build(spell("a"), capacity_tokens=prompt + 3), request(max_new_tokens=3))
    assert events[-1].reason is FinishReason.CONTEXT_FULL


def test_a_prompt_without_room_for_a_token_fails_with_numbers(build, spell, tiny_tokenizer):
    prompt = len(tiny_tokenizer.render(request().messages, OFF))
    engine = build(spell("a"), capacity_tokens=prompt)
    (failed,) = run(engine, request())
    assert isinstance(failed.error, PromptTooLong)
    assert (failed.error.tokens, failed.error.limit) == (prompt, prompt - 1)


def test_a_backend_that_is_full_early_ends_the_reply(build, spell):
    engine = build(spell("a"))
    engine._backend.slot_capacity = 20
    assert run(engine, request())[-1].reason is FinishReason.CONTEXT_FULL


# --- stop texts


@pytest.mark.parametrize("cut", ["is Par", "Pari", "aris the", "."])
def test_stop_texts_are_found_across_token_borders(build, spell, cut):
    text = "The city is Paris the answer. More"
    events = run(build(spell(text, END)), request(stop_texts=(cut,)))
    assert text_of(events) == text[: text.index(cut)]
    assert events[-1].reason is FinishReason.STOP_TEXT


def test_tokens_after_a_stop_text_are_forgotten(build, spell):
    engine = build(spell("ab", "c" * 30))
    run(engine, request(max_new_tokens=20))  # makes the runs long
    events = run(engine, request(stop_texts=("cc",)))
    stats = events[-1].stats
    assert stats.token_ids == tuple(spell("ab", "cc"))
    assert engine._backend.length(0) <= stats.context_tokens


def test_a_held_back_beginning_comes_out_at_the_end(build, spell):
    events = run(build(spell("one ST", END)), request(stop_texts=("STOP",)))
    assert text_of(events) == "one ST"
    assert tokens_of(events) == events[-1].stats.answer_tokens


def test_thinking_is_not_searched_for_stop_texts(build, spell):
    script = spell(THINK, "\nSTOP it\n", END_THINK, "\n\nyes STOP no", END)
    events = run(build(script), request(thinking=ON, stop_texts=("STOP",)))
    assert text_of(events, Channel.THINKING) == "STOP it"
    assert text_of(events) == "yes "


def test_an_empty_stop_text_is_refused(build):
    (failed,) = run(build([END]), request(stop_texts=("",)))
    assert isinstance(failed.error, BadRequest)


# --- thinking


def thinking_script(spell):
    return spell(THINK, "\nhm hm hm\n", END_THINK, "\n\nyes", END)


def test_thinking_and_answer_are_told_apart(build, spell):
    events = run(build(thinking_script(spell)), request(thinking=ON))
    assert text_of(events, Channel.THINKING) == "hm hm hm"
    assert text_of(events) == "yes"
    stats = events[-1].stats
    assert stats.thinking_ended_by == "model"
    assert stats.thinking_tokens == tokens_of(events, Channel.THINKING)
    assert stats.thinking_tokens == len(spell("\nhm hm hm\n"))


@pytest.mark.parametrize("budget", [1, 2, 5])
def test_a_budget_ends_the_thinking_and_the_answer_follows(build, spell, budget):
    script = spell(THINK, "\n", "a" * (budget - 1), "Answer", END)
    engine = build(script)
    events = run(engine, request(thinking=ThinkingParams(True, budget)))
    assert text_of(events, Channel.THINKING) == "a" * (budget - 1)
    assert text_of(events) == "Answer"
    stats = events[-1].stats
    assert (stats.thinking_ended_by, stats.thinking_tokens) == ("budget", budget)
    # What the model goes on from: its thinking, the injected end, its answer.
    cached = engine._backend.cached[0]
    injected = spell("\n", END_THINK, "\n\n")
    at = cached.index(END_THINK)
    assert cached[at + 1 : at + 1 + len(spell("\n\n"))] == spell("\n\n")
    assert cached.count(END_THINK) == 1
    assert stats.context_tokens == stats.prompt_tokens + len(stats.token_ids) + len(injected)


def test_a_budget_of_nothing_opens_no_thinking(build, spell):
    engine = build(spell("Answer", END))
    events = run(engine, request(thinking=ThinkingParams(True, 0)))
    assert text_of(events) == "Answer"
    assert text_of(events, Channel.THINKING) == ""
    assert events[-1].stats.thinking_ended_by == "budget"
    assert engine._backend.samplers[0][3] == []


def test_a_budget_that_is_not_reached_changes_nothing(build, spell):
    events = run(build(thinking_script(spell)), request(thinking=ThinkingParams(True, 500)))
    assert events[-1].stats.thinking_ended_by == "model"


def test_answer_now_ends_the_thinking(build, spell):
    control = GenerationControl()
    engine = build(spell(THINK, "\n", "aaaa", "bbbb", END))
    engine.submit(request(thinking=ON), control)
    events = []
    while tokens_of(events, Channel.THINKING) < 3:
        events += engine.step()
    control.answer_now()
    while not any(isinstance(e, Finished) for e in events):
        events += engine.step()
    assert events[-1].stats.thinking_ended_by == "user"
    thinking, answer = text_of(events, Channel.THINKING), text_of(events)
    assert thinking + answer == "aaaabbbb"
    assert answer.endswith("bbbb")
    # The sampler goes on at the right random number, with what was sampled so far.
    assert engine._backend.samplers[0][3] == list(
        events[-1].stats.token_ids[: len(spell(THINK, "\n", thinking))]
    )


def test_answer_now_before_the_first_token_skips_the_thinking(build, spell):
    control = GenerationControl()
    control.answer_now()
    events = run(build(spell("yes", END)), request(thinking=ON), control)
    assert (text_of(events), events[-1].stats.thinking_ended_by) == ("yes", "user")


def test_answer_now_after_the_thinking_is_ignored(build, spell):
    control = GenerationControl()
    control.answer_now()
    events = run(build(spell("yes", END)), request(thinking=OFF), control)
    assert (text_of(events), events[-1].stats.thinking_ended_by) == ("yes", "")


def test_thinking_that_fills_the_context_ends_with_context_full(build, spell, tiny_tokenizer):
    prompt = len(tiny_tokenizer.render(request().messages, ON))
    engine = build(spell(THINK, "a"), capacity_tokens=prompt + 6)
    events = run(engine, request(thinking=ThinkingParams(True, 4)))
    assert events[-1].reason is FinishReason.CONTEXT_FULL


@pytest.mark.parametrize(
    ("prefix", "thinking", "answer"),
    [
        (ReplyPrefix(thinking="first"), " more", "yes"),
        (ReplyPrefix(thinking="first", thinking_closed=True, answer="It"), "", " is"),
    ],
)
def test_a_reply_is_continued_where_it_stood(build, spell, prefix, thinking, answer):
    script = spell(" more\n", END_THINK, "\n\nyes", END) if thinking else spell(" is", END)
    events = run(build(script), request(thinking=ON, prefix=prefix))
    assert text_of(events, Channel.THINKING) == thinking
    assert text_of(events) == answer


# --- prefill and reuse


def test_prefill_goes_in_chunks_with_progress(build, spell, tiny_tokenizer):
    engine = build(spell("a", END), chunk=4)
    events = run(engine, request("a long enough prompt"))
    total = len(tiny_tokenizer.render(request("a long enough prompt").messages, OFF))
    progress = [e for e in events if isinstance(e, PrefillProgress)]
    assert [p.done_tokens for p in progress] == [*range(4, total, 4), total]
    assert {p.total_tokens for p in progress} == {total}
    assert [len(ids) for _, ids in engine._backend.prefilled][:-1] == [4] * ((total - 1) // 4)


def test_the_same_prompt_again_computes_only_its_last_token(build, spell):
    engine = build(spell("a", END))
    run(engine, request())
    engine._backend.prefilled.clear()
    events = run(engine, request())
    stats = events[-1].stats
    assert stats.reused_tokens == stats.prompt_tokens - 1
    assert [len(ids) for _, ids in engine._backend.prefilled] == [1]


def test_the_next_turn_reuses_prompt_and_reply(build, spell, tiny_tokenizer):
    engine = build(spell("hello", END))
    first = run(engine, request("hi", thinking=ON))[-1].stats
    messages = (
        ChatMessage(Role.USER, "hi"),
        ChatMessage(Role.ASSISTANT, "hello"),
        ChatMessage(Role.USER, "more"),
    )
    events = run(engine, GenerationRequest("r", messages, thinking=ON))
    # All of the first turn but its end token, which was sampled and never computed.
    assert events[-1].stats.reused_tokens == first.context_tokens - 1
    expected = tiny_tokenizer.render(messages, ON)
    assert engine._backend.cached[0][: len(expected)] == expected


def test_the_penalties_get_prompt_and_reply_apart(build, spell, tiny_tokenizer):
    engine = build(spell("a", END))
    asked = request(sampling=SamplingParams(presence_penalty=1.0, seed=7), detail=Detail.LOGPROB)
    events = run(engine, asked)
    sampling, seed, prompt, generated, detail = engine._backend.samplers[0]
    assert (sampling, seed, detail) == (asked.sampling, 7, Detail.LOGPROB)
    assert (prompt, generated) == (tiny_tokenizer.render(asked.messages, OFF), [])
    assert events[-1].stats.seed == 7


def test_a_seed_is_drawn_and_reported(build, spell):
    engine = build(spell("a", END))
    seeds = {run(engine, request())[-1].stats.seed for _ in range(4)}
    assert len(seeds) > 1
    assert engine._backend.samplers[0][1] in seeds


def test_token_detail_stands_with_the_text(build, spell, tiny_tokenizer):
    events = run(build(spell("hello", END)), request(detail=Detail.ALTERNATIVES))
    infos = [info for e in events if isinstance(e, Delta) for info in e.tokens]
    assert [i.token_id for i in infos] == spell("hello")
    assert (infos[0].text, infos[0].logprob, infos[0].rank) == ("hello", -0.5, 1)
    assert infos[0].alternatives[1].text == tiny_tokenizer.token_text(0)


def test_a_character_of_several_tokens_is_shown_whole(build, spell):
    events = run(build(spell("é🙂中", END)), request())
    pieces = [e.text for e in events if isinstance(e, Delta)]
    assert "".join(pieces) == "é🙂中"
    assert "�" not in "".join(pieces)
    assert tokens_of(events) == len(spell("é🙂中"))


# --- several requests


def test_a_second_request_waits_for_the_slot(build, spell):
    engine = build(spell("ab", END))
    engine.submit(request(request_id="1"), GenerationControl())
    engine.submit(request(request_id="2"), GenerationControl())
    events = []
    while sum(isinstance(e, Finished) for e in events) < 2:
        events += engine.step()
    order = [e.request_id for e in events]
    assert order == sorted(order)


def test_two_slots_decode_together(build, spell):
    engine = build(spell("a" * 30, END), max_sequences=2)
    for name in "12":
        engine.submit(request(request_id=name), GenerationControl())
    events = []
    while sum(isinstance(e, Finished) for e in events) < 2:
        events += engine.step()
    for name in "12":
        assert text_of([e for e in events if e.request_id == name]) == "a" * 30
    assert any(slots == (0, 1) for slots, _ in engine._backend.decoded)


def test_a_long_prompt_does_not_hold_up_a_running_reply(build, spell):
    engine = build(spell("a" * 30, END), max_sequences=2, chunk=4, capacity_tokens=512)
    engine.submit(request(request_id="1"), GenerationControl())
    events = []
    while not any(isinstance(e, Delta) for e in events):
        events += engine.step()
    engine.submit(request("long " * 20, request_id="2"), GenerationControl())
    names = [[e.request_id for e in engine.step()] for _ in range(6)]
    assert [n[0] for n in names] == ["1", "2", "1", "2", "1", "2"]


# --- cancel


def test_cancel_while_waiting(build, spell):
    engine = build(spell("a"))
    engine.submit(request(request_id="1"), GenerationControl())
    engine.step()
    control = GenerationControl()
    engine.submit(request(request_id="2"), control)
    control.cancel()
    ended = [e for e in engine.step() if isinstance(e, Finished)]
    assert [(e.request_id, e.reason) for e in ended] == [("2", FinishReason.CANCELLED)]


def test_cancel_between_prefill_chunks_keeps_what_was_computed(build, spell):
    engine = build(spell("a", END), chunk=4)
    control = GenerationControl()
    calls = []
    engine._backend.before_prefill = lambda: (calls.append(1), len(calls) == 2 and control.cancel())
    events = run(engine, request("a long enough prompt"), control)
    assert events[-1].reason is FinishReason.CANCELLED
    assert len(calls) == 2
    engine._backend.before_prefill = lambda: None
    assert run(engine, request("a long enough prompt"))[-1].stats.reused_tokens == 8


def test_cancel_while_decoding_ends_after_the_run(build, spell):
    engine = build(spell("a"))
    control = GenerationControl()
    engine._backend.before_decode = control.cancel
    events = run(engine, request(), control)
    assert events[-1].reason is FinishReason.CANCELLED
    assert text_of(events) == "aa"
    assert len(engine._backend.decoded) == 1


def test_cancel_tells_the_held_back_text(build, spell):
    engine = build(spell("ST", "x"))
    control = GenerationControl()
    engine._backend.before_decode = control.cancel
    events = run(engine, request(stop_texts=("STOP",)), control)
    assert text_of(events) == "ST"


def test_after_a_cancel_the_next_request_runs(build, spell):
    engine = build(spell("a", END))
    control = GenerationControl()
    control.cancel()
    assert run(engine, request(), control)[-1].reason is FinishReason.CANCELLED
    assert run(engine, request())[-1].reason is FinishReason.END


# --- faults


def raises(error):
    def fail():
        raise error

    return fail


@pytest.mark.parametrize("stage", ["before_prefill", "before_decode"])
def test_a_numerical_error_fails_the_request_and_resets_the_slot(build, spell, stage):
    engine = build(spell("aa", END))
    run(engine, request())
    setattr(engine._backend, stage, raises(NumericalError("layer 3")))
    events = run(engine, request())
    assert isinstance(events[-1], Failed)
    assert engine._backend.length(0) == 0
    setattr(engine._backend, stage, lambda: None)
    again = run(engine, request())
    assert again[-1].stats.reused_tokens == 0
    assert text_of(again) == "aa"


def test_a_lost_device_fails_every_request(build, spell):
    engine = build(spell("a"))
    for name in "123":
        engine.submit(request(request_id=name), GenerationControl())
    engine.step()
    lose = raises(DeviceLost("illegal address"))
    engine._backend.before_decode = engine._backend.before_prefill = lose
    engine._backend.truncate = lambda slot, length: lose()
    events = engine.step()
    assert [e.request_id for e in events if isinstance(e, Failed)] == ["1", "2", "3"]
    assert engine.step() == []
    assert isinstance(run(engine, request())[-1].error, DeviceLost)


def test_a_bug_is_raised_and_leaves_a_clean_engine(build, spell):
    engine = build(spell("a", END))
    engine._backend.before_decode = raises(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        list(generate(engine, request(), GenerationControl()))
    engine._backend.before_decode = lambda: None
    assert run(engine, request())[-1].reason is FinishReason.END


# --- the rest


def test_run_length_grows_to_the_aimed_time_and_shrinks_again():
    runs = RunLength()
    assert runs.steps == 1
    for _ in range(20):
        runs.learn(runs.steps, 0.0004 * runs.steps)
    assert 0.4 * RUN_S <= 0.0004 * runs.steps <= 1.5 * RUN_S or runs.steps == MAX_RUN_STEPS
    runs.learn(runs.steps, 1.0)
    assert runs.steps < MAX_RUN_STEPS
    for _ in range(10):
        runs.learn(runs.steps, 1.0)
    assert runs.steps == 1


def test_the_first_decode_run_has_one_step(build, spell):
    engine = build(spell("a"))
    run(engine, request(max_new_tokens=10))
    assert engine._backend.decoded[0][1] == 1


@pytest.mark.parametrize("limit", [2, 3, 40, 200])
def test_the_next_run_is_told_ahead_but_never_past_a_limit(build, spell, limit):
    engine = build(spell("a"))
    asked = []
    decode = engine._backend.decode

    def noted(slots, steps, stop_token_ids, steps_ahead):
        asked.append((steps, steps_ahead))
        return decode(slots, steps, stop_token_ids, steps_ahead)

    engine._backend.decode = noted
    run(engine, request(max_new_tokens=limit))
    # The first token is sampled by the prefill; the last run has nothing behind it.
    assert sum(steps for steps, _ in asked) == limit - 1
    assert [ahead for _, ahead in asked] == [*(steps for steps, _ in asked[1:]), 0]


def test_nothing_is_told_ahead_where_another_reply_may_join(build, spell):
    engine = build(spell("a"), max_sequences=2)
    engine._backend.before_decode = lambda: begun.append(engine._backend.begun)
    begun = []
    run(engine, request(max_new_tokens=40))
    assert len(begun) > 2
    assert set(begun) == {0}


@pytest.mark.parametrize("how", ["cancel", "answer_now", "stop_text"])
def test_what_was_begun_is_forgotten_when_the_reply_does_not_go_on(build, spell, how):
    engine = build(spell("a" * 30, "b"))
    control = GenerationControl()
    control_calls = {"cancel": control.cancel, "answer_now": control.answer_now}

    def before_decode():
        if len(engine._backend.decoded) == 3:
            control_calls.get(how, lambda: None)()

    engine._backend.before_decode = before_decode
    if how == "stop_text":
        asked = request(max_new_tokens=60, stop_texts=("b",))
    else:
        asked = request(thinking=ON, max_new_tokens=60)
    run(engine, asked, control)
    # The fake backend asserts that what was begun is what is asked for.
    assert run(engine, request("next", max_new_tokens=9))[-1].stats.generated_tokens == 9


def test_info_and_count_tokens(build, tiny_tokenizer):
    engine = build([END])
    info = engine.info()
    assert (info.model, info.device, info.capacity_tokens) == ("tiny", "Fake", 256)
    assert Capability.THINKING in info.capabilities
    messages = request("count me").messages
    assert engine.count_tokens(messages) == len(tiny_tokenizer.render(messages, ON))


def test_close_closes_the_backend(build):
    engine = build([END])
    engine.close()
    assert engine._backend.closed
    assert engine.step() == []


def test_a_reply_that_close_cuts_off_ends_all_the_same(build, spell):
    engine = build(spell("a"))
    engine.submit(request(request_id="queued"), GenerationControl())
    events = generate(engine, request(), GenerationControl())
    next(events)
    engine.close()
    rest = list(events)
    assert [type(e) for e in rest if not isinstance(e, Delta)] == [Finished]
    assert rest[-1].reason is FinishReason.CANCELLED
    assert engine.step() == []


class Clock:
    """Seconds that pass only when a test says so."""

    def __init__(self):
        self.now_s = 0.0

    def __call__(self):
        return self.now_s

    def pass_s(self, seconds):
        self.now_s += seconds


@pytest.mark.parametrize("tokens", [2, 3, 40])
def test_the_time_of_every_run_counts_the_last_one_too(tiny_tokenizer, spell, tokens):
    clock = Clock()
    backend = FakeBackend(spell("a"), capacity_tokens=256)
    backend.before_prefill = lambda: clock.pass_s(3.0)
    # Quick enough for the runs to grow.
    backend.before_decode = lambda: clock.pass_s(0.001)
    engine = TextEngine(backend, tiny_tokenizer, "tiny", clock=clock)
    stats = run(engine, request(max_new_tokens=tokens))[-1].stats
    assert stats.prefill_s == pytest.approx(3.0 * len(backend.prefilled))
    assert stats.decode_s == pytest.approx(0.001 * len(backend.decoded))
    assert stats.decode_tokens_per_s == pytest.approx((tokens - 1) / stats.decode_s)
    assert stats.first_token_s == pytest.approx(stats.prefill_s)


def test_the_time_between_two_runs_counts_for_one_that_was_begun(tiny_tokenizer, spell):
    clock = Clock()
    backend = FakeBackend(spell("a"), capacity_tokens=256)
    backend.before_decode = lambda: clock.pass_s(1.0)
    engine = TextEngine(backend, tiny_tokenizer, "tiny", clock=clock)
    engine.submit(request(max_new_tokens=4), GenerationControl())
    ended = []
    while not ended:
        clock.pass_s(0.25)
        ended = [e for e in engine.step() if isinstance(e, Finished)]
    runs = len(backend.decoded)
    assert runs == 3
    assert ended[0].stats.decode_s == pytest.approx(1.0 * runs + 0.25 * (runs - 1))


def test_the_time_of_a_prefill_within_a_reply_counts_once(tiny_tokenizer, spell):
    clock = Clock()
    control = GenerationControl()
    backend = FakeBackend(spell(THINK, "a"), capacity_tokens=256, chunk=200)
    backend.before_prefill = lambda: clock.pass_s(3.0)
    backend.before_decode = lambda: (clock.pass_s(1.0), control.answer_now())
    engine = TextEngine(backend, tiny_tokenizer, "tiny", clock=clock)
    stats = run(engine, request(thinking=ON, max_new_tokens=9), control)[-1].stats
    assert len(backend.prefilled) == 2
    assert stats.decode_s == pytest.approx(3.0 + 1.0 * len(backend.decoded))


def test_the_time_of_a_run_counts_for_each_of_its_replies(tiny_tokenizer, spell):
    clock = Clock()
    backend = FakeBackend(spell("a"), capacity_tokens=256, max_sequences=2)
    backend.before_decode = lambda: clock.pass_s(1.0)
    engine = TextEngine(backend, tiny_tokenizer, "tiny", clock=clock)
    for name in "xy":
        engine.submit(request(request_id=name, max_new_tokens=4), GenerationControl())
    ended = {}
    while len(ended) < 2:
        ended |= {e.request_id: e.stats for e in engine.step() if isinstance(e, Finished)}
    for name, slot in (("x", 0), ("y", 1)):
        runs = [steps for slots, steps in backend.decoded if slot in slots]
        assert ended[name].decode_s == pytest.approx(len(runs))
