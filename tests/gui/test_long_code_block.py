"""A code block of 3,000 lines at full speed, and the moment in which its fence closes.

nomic-ai/gpt4all#1575: the window stood still when output reached the end of a code block. The bound
is one that only a window that hangs can break.
"""

from __future__ import annotations

import pytest

from engine.api import Channel
from engine.scripted_engine import ScriptedReply
from tests.gui import probe_streaming as probe

LINES = 3_000
CODE = "".join(f"    total_{n} = sum(values[:{n}])  # line {n}\n" for n in range(LINES))


def reply() -> ScriptedReply:
    """The block in pieces of about a token, and a sentence after it."""
    pieces = [CODE[start : start + 5] for start in range(0, len(CODE), 5)]
    texts = ("Here it is:\n\n```python\n", *pieces, "```", "\n\n", "That is all.")
    return ScriptedReply(tuple((Channel.ANSWER, text) for text in texts))


@pytest.mark.slow
def test_a_long_code_block_and_its_end_do_not_stop_the_window(qapp, tmp_path):
    running = probe.Probe(tmp_path, reply(), tokens_per_s=3_000)
    figures = running.ask("A long program?")
    app = running.app
    [exchange] = app.chats.shown.exchanges
    body = app.window.transcript.exchange_widget(exchange.exchange_id).answer.body
    probe.wait_until(lambda: not app.window.transcript.is_behind)
    _, block, after = body.segments
    shown, text = block.view.toPlainText(), after.toPlainText()
    print("\n".join(figures.lines()))
    running.close()
    assert exchange.reply.answer == f"Here it is:\n\n```python\n{CODE}```\n\nThat is all."
    assert (shown.strip("\n"), text.strip()) == (CODE.strip("\n"), "That is all.")
    assert max(figures.gaps_s) < 5.0
    assert max(figures.busy_s) < 1.0
