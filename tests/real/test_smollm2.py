"""Proof 1: real weights answer through the engine and through the terminal chat."""

import json
import subprocess
import sys

import pytest

from engine.api import (
    Channel,
    ChatMessage,
    Delta,
    Finished,
    FinishReason,
    GenerationControl,
    GenerationRequest,
    Role,
    SamplingParams,
    generate,
)
from engine.open_engine import describe_memory, open_engine
from tests.real.smollm2 import CAPITAL, CAPITAL_ANSWER, RIVER, SYSTEM, smollm2_path

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def engine():
    made = open_engine(smollm2_path(), "cpu", 1024)
    for _ in made.load(GenerationControl()):
        pass
    yield made
    made.close()


def ask(engine, messages, **options):
    """Text and the Finished event of a greedy reply."""
    options = {"sampling": SamplingParams(temperature=0.0), "max_new_tokens": 64} | options
    events = list(
        generate(engine, GenerationRequest("r", tuple(messages), **options), GenerationControl())
    )
    assert isinstance(events[-1], Finished), events[-1]
    deltas = [e for e in events if isinstance(e, Delta)]
    assert {e.channel for e in deltas} <= {Channel.ANSWER}
    return "".join(e.text for e in deltas), events[-1]


def test_two_turns_name_paris_and_the_seine(engine):
    messages = [ChatMessage(Role.SYSTEM, SYSTEM), ChatMessage(Role.USER, CAPITAL)]
    answer, finished = ask(engine, messages)
    assert answer == CAPITAL_ANSWER
    assert finished.reason is FinishReason.END
    messages += [ChatMessage(Role.ASSISTANT, answer), ChatMessage(Role.USER, RIVER)]
    answer, finished = ask(engine, messages)
    assert "Seine" in answer
    assert finished.reason is FinishReason.END
    # The whole first turn but its end token and line end came from the cache.
    assert finished.stats.reused_tokens >= 30


def test_the_second_turn_reads_the_same_without_the_cache(engine):
    messages = [
        ChatMessage(Role.SYSTEM, SYSTEM),
        ChatMessage(Role.USER, CAPITAL),
        ChatMessage(Role.ASSISTANT, CAPITAL_ANSWER),
        ChatMessage(Role.USER, RIVER),
    ]
    warm, _ = ask(engine, messages)
    ask(engine, [ChatMessage(Role.USER, "Say something else.")], max_new_tokens=1)
    cold, finished = ask(engine, messages)
    assert finished.stats.reused_tokens < 10
    assert cold == warm


def test_emoji_and_chinese_come_out_whole(engine):
    prompt = "Repeat exactly: 你好，世界 🙂🚀 é"
    events = list(
        generate(
            engine,
            GenerationRequest(
                "r",
                (ChatMessage(Role.USER, prompt),),
                SamplingParams(temperature=1.5, top_k=0, top_p=1.0, seed=1),
                max_new_tokens=60,
            ),
            GenerationControl(),
        )
    )
    pieces = "".join(e.text for e in events if isinstance(e, Delta))
    whole = engine._tokenizer.detokenize(
        [i for i in events[-1].stats.token_ids if i not in engine._tokenizer.stop_token_ids]
    )
    assert pieces == whole


def test_the_terminal_chat_answers_both_turns():
    command = [
        sys.executable, "-m", "engine", "chat", str(smollm2_path()), "-y", SYSTEM, "-t", "0",
        "-i", CAPITAL, "-i", RIVER, "--device", "cpu", "--context", "1024", "--json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=280)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["text"], first["finish_reason"]) == (CAPITAL_ANSWER, "end")
    assert "Seine" in second["text"]
    assert second["reused_tokens"] > 0


def test_the_plan_is_known_before_loading(engine):
    plan = describe_memory(smollm2_path(), 1024, "cpu")
    assert plan == engine.info().memory
    # 134.5 million parameters as float32.
    assert 530e6 < plan.weights_bytes < 550e6
