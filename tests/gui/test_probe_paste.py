"""A shortened run of the probe, with bounds that only a window that hangs can break."""

from __future__ import annotations

from tests.gui import probe_paste as probe
from tests.gui.probe_texts import long_reply


def test_a_paste_of_a_megabyte_does_not_hang_the_window(qapp, tmp_path):
    running = probe.PasteProbe(tmp_path, long_reply(10, 10), 3_000.0)
    text = probe.text_of(probe.TEXTS["prose"], 1_000_000)
    pasted_s, _, meter = probe.paste(running, text)
    [chip] = running.app.window.composer.attachments.chips
    note = running.app.window.composer.attachments.note.text()
    running.close()
    assert chip.attachment.size_bytes == len(text) >= 1_000_000
    assert chip.attachment.tokens > 200_000
    assert f"{chip.attachment.tokens:,} tokens" in note
    assert pasted_s < 3.0
    assert max(meter.gaps_s) < 3.0
