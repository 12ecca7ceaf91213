"""The generator of the demo model's text: answers are right, and the split keeps its word."""

import random
import re
from itertools import pairwise
from pathlib import Path

import pytest

from app.paths import resource_dir
from engine.api import ChatMessage, Role, ThinkingParams
from engine.text.tokenizer import Tokenizer
from resources.demo_model.make.conversations import (
    FOLLOW_UP,
    TASKS,
    any_conversation,
    training_conversation,
)
from resources.demo_model.make.encoding import Encoder
from resources.demo_model.make.engine_replies import messages_of
from resources.demo_model.make.problem import KNOWN, is_held_out, may_test, may_train, plain
from resources.demo_model.make.rows import ROW_TOKENS, pack_rows
from resources.demo_model.make.scores import held_out
from resources.demo_model.make.sequences import sequence_thinking
from resources.demo_model.make.time_tasks import DAYS

FOLDER = resource_dir() / "demo_model"


def problems(task, count=300, seed=5):
    rng = random.Random(seed)
    return [TASKS[task](rng) for _ in range(count)]


@pytest.mark.parametrize("task", ["add", "subtract", "multiply"])
def test_every_line_of_column_arithmetic_is_true(task):
    for problem in problems(task):
        left, _, right = problem.answer.partition(" = ")
        assert eval(left.replace("×", "*")) == int(right), problem
        for line in problem.thinking.splitlines():
            for chain in re.findall(r"[\d+*-]+(?:=[\d+*-]+)+", line):
                parts = [re.sub(r"\b0+(?=\d)", "", part) for part in chain.split("=")]
                for part, following in pairwise(parts):
                    # "5*3=15+1=16" goes on from left to right, as people write it.
                    first = re.match(r"-?\d+", following)[0]
                    assert eval(part) in (int(first), eval(following)), (problem, line)


def test_the_thinking_ends_with_the_answer():
    for task in ("add", "subtract", "multiply"):
        for problem in problems(task):
            assert problem.thinking.split()[-1] == problem.answer.split()[-1]


def test_sorted_lists_and_the_one_that_is_asked_for_are_right():
    for problem in problems("sort"):
        numbers = [int(n) for n in problem.keys[0].split()[2:] if n.isdigit()]
        down = "largest" in problem.keys[0]
        expected = sorted(numbers, reverse=down)
        found = [int(n) for n in re.findall(r"\d+", problem.answer)]
        assert found == (expected[:1] if problem.keys[0].startswith("one") else expected)


def test_letters_are_counted_and_words_reversed_right():
    for problem in problems("letters"):
        kind, *rest = problem.keys[0].split()
        word = rest[-1]
        counts = {"count": word.count(rest[0]), "length": len(word)}
        counts["vowels"] = sum(letter in "aeiou" for letter in word)
        assert int(re.findall(r"\d+", problem.answer)[0]) == counts[kind]
    for problem in problems("reverse"):
        kind, *words = problem.keys[0].split()
        if kind == "reverse":
            assert plain(problem.answer) == words[0][::-1]
        else:
            assert problem.answer.split() == words[::-1]


def test_weekdays_count_from_the_day_that_is_named():
    for problem in problems("weekday"):
        _, start, shift = problem.keys[0].split()
        day = DAYS[(int(start) + int(shift)) % 7]
        assert problem.thinking.splitlines()[-1] == day
        assert problem.value == f"day {DAYS.index(day)}"


def test_clock_times_lie_as_far_apart_as_asked():
    def minutes(text):
        hours, rest = text.split(":")
        return 60 * int(hours) + int(rest)

    for problem in problems("clock"):
        _, kind, first, second = problem.keys[0].split()
        found = [int(n) for n in re.findall(r"\d+", problem.answer)]
        if kind == "between":
            span = (minutes(second) - minutes(first)) % 1440
            hours = found[0] if "hour" in problem.answer else 0
            assert hours * 60 + (found[-1] if "minute" in problem.answer else 0) == span
        else:
            sign = 1 if kind == "later" else -1
            assert found[0] * 60 + found[1] == (minutes(first) + sign * minutes(second)) % 1440


@pytest.mark.parametrize(
    ("terms", "following"),
    [
        ([5, 8, 11, 14], 17),
        ([20, 15, 10, 5], 0),
        ([1, 2, 4, 7, 11], 16),
        ([2, 4, 8, 16], 32),
        ([1, 1, 2, 3, 5], 8),
        ([7, 3, 9, 2], None),
    ],
)
def test_a_sequence_goes_on_by_the_first_rule_that_fits(terms, following):
    assert sequence_thinking(terms)[1] == following


def test_no_training_problem_is_or_contains_a_test_problem():
    rng = random.Random(8)
    for _ in range(2000):
        problem = training_conversation(rng).problem
        assert may_train(problem)
        assert not any(map(is_held_out, problem.keys))
    for task in (*TASKS, FOLLOW_UP):
        problem = any_conversation(rng, task, may_test).problem
        assert is_held_out(problem.keys[0])


def test_parts_of_a_multiplication_are_problems_of_their_own():
    problem = next(p for p in problems("multiply") if len(p.keys) == 2)
    a, b = problem.keys[1].split()[1:]
    assert f"{a}+{b}" in problem.thinking or f"{b}+{a}" in problem.thinking


def test_about_a_sixteenth_is_held_out_and_known_wordings_never():
    share = sum(is_held_out(f"add {n} 1") for n in range(4000)) / 4000
    assert 0.05 < share < 0.075
    assert not any(is_held_out(f"{KNOWN}{n}") for n in range(200))


def test_held_out_problems_differ_and_depend_on_the_seed():
    first, again, other = held_out(1, 6), held_out(1, 6), held_out(2, 6)
    assert first == again
    assert first != other
    assert {c.problem.task for c in first} == {*TASKS, FOLLOW_UP}


@pytest.mark.parametrize("thinks", [True, False])
def test_training_prompts_are_what_the_engine_renders(thinks):
    rng = random.Random(4)
    conversations = [training_conversation(rng) for _ in range(150)]
    tokenizer, encoder = Tokenizer.from_folder(FOLDER), Encoder(FOLDER)
    prompts = encoder.prompts(conversations, thinks)
    for conversation, prompt in zip(conversations, prompts, strict=True):
        messages = messages_of(conversation)
        assert tokenizer.render(messages, ThinkingParams(enabled=thinks)) == prompt


def test_a_training_reply_reads_as_the_template_would_write_it():
    rng = random.Random(4)
    conversations = [training_conversation(rng) for _ in range(60)]
    tokenizer, encoder = Tokenizer.from_folder(FOLDER), Encoder(FOLDER)
    examples = encoder.examples(conversations, random.Random(0), thinking_share=1.0)
    for conversation, example in zip(conversations, examples, strict=True):
        problem = conversation.problem
        reply = ChatMessage(Role.ASSISTANT, plain(problem.answer), problem.thinking)
        messages = (*messages_of(conversation), reply)
        rendered = tokenizer.render(messages, ThinkingParams(), add_generation_prompt=False)
        text = tokenizer.detokenize([*example.prompt, *example.reply])
        if text.endswith(f"{problem.thinking}\n</think>\n\n{plain(problem.answer)}<|im_end|>"):
            assert tokenizer.detokenize(rendered) == f"{text}\n"
        else:
            # A cut-off thinking: the beginning stands in the prompt and only the rest is learned.
            assert "<think>" in tokenizer.detokenize(example.prompt)


def test_the_letters_of_a_reversed_word_are_single_tokens():
    encoder = Encoder(FOLDER)
    conversation = next(
        c
        for seed in range(50)
        if (c := any_conversation(random.Random(seed), "reverse", may_train))
        .problem.keys[0]
        .startswith("reverse ")
    )
    (example,) = encoder.examples([conversation], random.Random(0), thinking_share=0.0)
    assert len(example.reply) == len(plain(conversation.problem.answer)) + 1


def test_rows_hold_whole_conversations_and_mark_only_replies():
    encoder = Encoder(FOLDER)
    rng = random.Random(6)
    examples = encoder.examples([training_conversation(rng) for _ in range(120)], rng, 0.5)
    tokens, positions, marks = pack_rows(iter(examples), 12)
    assert tokens.shape == positions.shape == marks.shape == (12, ROW_TOKENS)
    wanted = {tuple(e.prompt + e.reply): (len(e.prompt), tuple(e.positions)) for e in examples}
    seen = 0
    for row in range(12):
        for place in range(1, marks[row].max() // 2 + 1):
            (at,) = (marks[row] // 2 == place).nonzero()
            prompt, expected = wanted[tuple(tokens[row, at].tolist())]
            assert tuple(positions[row, at].tolist()) == expected
            assert (marks[row, at] % 2).tolist() == [int(i >= prompt) for i in range(len(at))]
            seen += 1
    assert seen >= 30


def test_tokenizer_has_qwen3s_parts():
    shared = Path(__file__).resolve().parents[3] / "shared" / "qwen3-0.6b"
    if not shared.is_dir():
        pytest.skip("../shared/qwen3-0.6b is not here")
    ours, theirs = Tokenizer.from_folder(FOLDER), Tokenizer.from_folder(shared)
    assert ours.encode("1234") == [ours.encode(d)[0] for d in "1234"]
    assert ours._template.source == theirs._template.source
    assert set(ours._control_literals.values()) == set(theirs._control_literals.values())
