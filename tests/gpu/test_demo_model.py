"""The demo model answers the same on the GPU as on the processor."""

import pytest

pytest.importorskip("cupy")

from resources.demo_model.make.engine_replies import load_engine, replies
from resources.demo_model.make.scores import held_out

PROMPTS = 200


def final_answers(device):
    engine = load_engine(device, slots=8)
    conversations = held_out(11, 1 + PROMPTS // 15)[:PROMPTS]
    assert len(conversations) == PROMPTS
    answers = {
        (c.history, c.problem.question): reply.answer
        for c, reply in replies(engine, conversations, thinks=True)
    }
    engine.close()
    return answers


def test_200_prompts_end_in_the_same_answers_on_both_backends():
    on_cpu, on_gpu = final_answers("cpu"), final_answers("cuda")
    different = {key: (on_cpu[key], on_gpu[key]) for key in on_cpu if on_cpu[key] != on_gpu[key]}
    assert not different
