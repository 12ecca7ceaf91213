"""The shipped weights on our own CPU engine."""

import json

import pytest

from app.paths import resource_dir
from app.settings import THINKING_DEFAULTS
from engine.models.model_files import open_model
from resources.demo_model.make.conversations import Conversation
from resources.demo_model.make.engine_replies import load_engine, replies
from resources.demo_model.make.problem import Problem
from resources.demo_model.make.refusals import REFUSAL, REFUSAL_ZH, TOO_LARGE
from resources.demo_model.make.scores import Score, held_out, total

FOLDER = resource_dir() / "demo_model"
MAX_WEIGHT_BYTES = 12_000_000


@pytest.fixture(scope="module")
def engine():
    loaded = load_engine("cpu", slots=8)
    yield loaded
    loaded.close()


def asked(engine, question, *, history=(), thinks=True):
    problem = Problem("any", ("any",), question, "", "")
    ((_, reply),) = replies(engine, [Conversation(problem, history)], thinks=thinks)
    return reply


def suggestions():
    languages = json.loads((FOLDER / "suggestions.json").read_text("utf-8"))["prompts"]
    return [(each["question"], each["answer"]) for found in languages.values() for each in found]


def test_the_model_is_a_small_qwen3():
    files = open_model(FOLDER)
    config = files.config
    assert (config.num_hidden_layers, config.hidden_size, config.head_dim) == (6, 256, 64)
    assert (config.num_attention_heads, config.num_key_value_heads) == (4, 2)
    assert config.tie_word_embeddings
    assert config.vocab_size % 8 == 0
    assert {tensor.dtype for tensor in files.tensors.values()} == {"BF16"}
    assert (FOLDER / "model.safetensors").stat().st_size <= MAX_WEIGHT_BYTES


def test_there_are_ten_different_suggestions_in_each_language():
    assert len({question for question, _ in suggestions()}) == 2 * 10


@pytest.mark.parametrize(("question", "answer"), suggestions())
def test_a_suggested_prompt_is_thought_about_and_answered_right(engine, question, answer):
    reply = asked(engine, question)
    assert reply.answer == answer
    assert reply.thinking
    assert reply.ended


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the capital of France?", REFUSAL),
        ("Write a poem about the sea", REFUSAL),
        ("Why is the sky blue?", REFUSAL),
        ("translate hello to german", REFUSAL),
        ("法国的首都是哪里？", REFUSAL_ZH),
        ("12345 + 67890", TOO_LARGE),
    ],
)
def test_what_it_cannot_do_it_says(engine, question, answer):
    assert asked(engine, question).answer == answer


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("Who are you?", "I am the demo model"),
        ("Hello, who are you?", "I am the demo model"),
        ("hi", "Hello!"),
        ("What can you do?", "I can add"),
        ("What is Thinkpane?", "private chat"),
        ("你是谁？", "演示模型"),
        ("你能做什么？", "加法"),
        ("thanks", "You are welcome"),
    ],
)
def test_it_knows_what_it_is(engine, question, part):
    assert part in asked(engine, question).answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("I have 5 apples and eat 2. How many are left?", "5 - 2 = 3"),
        ("1 centimeter in millimeters", "1 centimeter = 10 millimeters"),
        ("2+2", "2 + 2 = 4"),
        ("9.11 vs 9.9", "9.9 is larger than 9.11."),
        ("How many r's are in strawberry?", "The letter r appears 3 times in strawberry."),
        ("12加34等于多少？", "12 + 34 = 46"),
    ],
)
def test_it_understands_other_wordings(engine, question, answer):
    assert asked(engine, question).answer == answer


def test_a_next_question_goes_on_from_the_answer(engine):
    history = (("What is 25 + 26?", "25 + 26 = 51"),)
    assert asked(engine, "and times two?", history=history).answer == "51 × 2 = 102"


def test_without_thinking_the_answer_comes_at_once(engine):
    reply = asked(engine, "What is 2 + 3?", thinks=False)
    assert (reply.thinking, reply.answer) == ("", "2 + 3 = 5")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_suggested_prompts_are_answered_right_when_sampled_as_the_app_does(engine):
    expected = dict(suggestions())
    asked = [Conversation(Problem("any", ("any",), q, "", ""), ()) for q in expected]
    wrong = [
        (seed, conversation.problem.question, reply.answer)
        for seed in range(1, 6)
        for conversation, reply in replies(
            engine, asked, thinks=True, temperature=THINKING_DEFAULTS.temperature, seed=seed
        )
        if reply.answer != expected[conversation.problem.question]
    ]
    # 300 of 300 were right over 30 seeds; one slip in 50 is the most that is let pass.
    assert len(wrong) <= 2, wrong


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_thinking_makes_held_out_answers_right(engine):
    conversations = held_out(20, 8)
    scores = {}
    for thinks in (True, False):
        scores[thinks] = Score()
        for conversation, reply in replies(engine, conversations, thinks=thinks):
            scores[thinks].add(conversation, reply.answer, ended=reply.ended, reply=reply.answer)
    on, off = scores[True], scores[False]
    assert on.right / on.asked >= 0.95, on.mistakes
    assert on.right / on.asked >= off.right / off.asked + 0.05
    assert on.ended + off.ended >= 0.99 * (on.asked + off.asked)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_sampled_replies_end_by_themselves(engine):
    score = Score()
    for conversation, reply in replies(engine, held_out(21, 8), thinks=True, temperature=0.6):
        score.add(conversation, reply.answer, ended=reply.ended, reply=reply.answer)
    assert total({"all": score}).ended == score.asked
