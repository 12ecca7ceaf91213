"""The trained demo model on the emulated GPU: the CUDA backend thinks and answers as on the CPU."""

import pytest

from app.paths import resource_dir
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
from engine.open_engine import open_engine
from tests.kernels.emulated_device import emulated_cupy

pytestmark = pytest.mark.emulation

QUESTION = "What is 48 + 76?"


def reply(device):
    engine = open_engine(resource_dir() / "demo_model", device, 256)
    for _ in engine.load(GenerationControl()):
        pass
    request = GenerationRequest(
        "1", (ChatMessage(Role.USER, QUESTION),), SamplingParams(temperature=0.0)
    )
    texts = dict.fromkeys(Channel, "")
    for event in generate(engine, request, GenerationControl()):
        if isinstance(event, Delta):
            texts[event.channel] += event.text
        if isinstance(event, Finished):
            assert event.reason is FinishReason.END
    engine.close()
    return texts[Channel.THINKING], texts[Channel.ANSWER]


def test_the_demo_model_thinks_and_answers_the_same_on_both_backends():
    with emulated_cupy():
        thinking, answer = reply("cuda")
    assert "124" in answer
    assert (thinking, answer) == reply("cpu")
