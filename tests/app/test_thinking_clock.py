"""How long it thought, as seen from the window (open-webui#24295)."""

from __future__ import annotations

import pytest

from app.conversation import ReplyStatus
from engine.api import Channel, Delta, PrefillProgress
from tests.app.fakes import Desk


@pytest.fixture
def desk(tmp_path) -> Desk:
    return Desk(tmp_path).with_model()


def think(desk: Desk, text: str, seconds: float) -> None:
    desk.clock.now += seconds
    desk.chat.on_engine_event(Delta(desk.request.request_id, Channel.THINKING, text, 1))


def test_the_clock_of_the_thinking_begins_with_its_first_token(desk):
    desk.chat.on_submitted("A long one?")
    desk.clock.now += 3.0  # the prompt is read
    desk.chat.on_engine_event(PrefillProgress(desk.request.request_id, 900, 900, 0))
    think(desk, "Hm", 0.1)
    for _ in range(4):
        think(desk, ", hm", 0.5)
    desk.clock.now += 0.25
    desk.chat.on_engine_event(Delta(desk.request.request_id, Channel.ANSWER, "So", 1))
    desk.clock.now += 2.0
    desk.chat.on_engine_event(Delta(desk.request.request_id, Channel.ANSWER, " it is", 1))
    desk.chat.close()  # then what the window saw is all there is
    reply = desk.chats.shown.exchanges[-1].reply
    assert reply.status is ReplyStatus.INTERRUPTED
    assert reply.thinking_s == pytest.approx(2.25), "3 s of reading are not thinking"
    assert reply.answer_s == pytest.approx(2.0)
    assert desk.view.status.prefill_tokens_per_s == pytest.approx(300.0)
    assert desk.view.status.first_token_s == pytest.approx(3.1)
