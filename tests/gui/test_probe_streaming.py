"""A shortened run of the probe, with bounds that only a window that hangs can break."""

from __future__ import annotations

import argparse

from tests.gui import probe_streaming as probe
from tests.gui.probe_texts import answer_of, long_chat, long_reply, thinking_of


def test_the_window_stays_awake_while_a_fast_model_writes(qapp, tmp_path, monkeypatch):
    reply = long_reply(thinking_tokens=2_000, answer_lines=200)
    running = probe.Probe(tmp_path, reply, tokens_per_s=3_000)
    figures = running.ask("Think long.")
    answered = running.app.chats.shown.exchanges[-1].reply
    running.close()
    assert answered.thinking == "".join(thinking_of(2_000))
    assert answered.answer == "".join(answer_of(200))
    assert figures.tokens == len(reply.pieces)
    assert len(figures.gaps_s) > 50
    assert max(figures.gaps_s) < 30.0
    assert max(figures.busy_s) < 1.0


def test_the_probe_of_opening_a_long_chat_runs(qapp, tmp_path, capsys):
    probe.probe_open(tmp_path, argparse.Namespace(rate=3_000.0, runs=1))
    printed = capsys.readouterr().out
    assert "first screen after" in printed
    assert "a key takes at most" in printed


def test_the_probe_of_stop_runs(qapp, tmp_path, capsys):
    words = {"runs": 1, "thinking_tokens": 20_000, "answer_lines": 10}
    probe.probe_stop(tmp_path, argparse.Namespace(**words))
    taken_ms = float(capsys.readouterr().out.split()[2])
    assert 0 < taken_ms < 10_000


def test_the_long_chat_has_the_size_it_is_to_have():
    chat = long_chat(500, 1_000_000)
    size = sum(
        len((each.question + each.reply.thinking + each.reply.answer).encode()) for each in chat
    )
    assert len(chat) == 250
    assert 1_000_000 <= size < 1_200_000
