"""Quiet information: nothing on the status bar moves as numbers count, and it says what comes."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from PySide6.QtTest import QTest

from app.chat_view import Status
from app.settings import with_value
from app.ui.status_bar import StatusBar

GB = 10**9
LOADED = Status("q", "NVIDIA RTX 3060", capacity_tokens=8_192, gpu_total_bytes=12 * GB)
PHASES = ("", "Reading the chat", "Thinking", "Answering", "Stopping")


def places(bar: StatusBar) -> list[tuple[str, int]]:
    """Left edge of every entry that is to be seen, but that of the phase, which comes and goes."""
    QTest.qWait(0)
    parts = [*bar._widest, bar.meter]
    return [
        (part.accessibleName(), part.geometry().left())
        for part in parts
        if part.isVisible() and part is not bar._phase
    ]


@pytest.mark.parametrize("width", [480, 700, 900, 1440])
def test_nothing_moves_while_numbers_count(window, width):
    window.resize(width, 700)
    chance = random.Random(7)
    status = replace(LOADED, gpu_used_bytes=GB, gpu_others_bytes=GB // 2)
    window.show_status(status)
    QTest.qWait(30)
    before = places(window.status)
    assert before
    for _ in range(150):
        used = chance.randrange(12 * GB)
        status = replace(
            status,
            phase=chance.choice(PHASES),
            prefill_tokens_per_s=chance.choice([0.0, chance.uniform(0.1, 60_000)]),
            decode_tokens_per_s=chance.choice([0.0, chance.uniform(0.1, 5_000)]),
            first_token_s=chance.choice([0.0, chance.uniform(0.001, 59.0)]),
            context_tokens=chance.randrange(8_192),
            gpu_used_bytes=used,
            gpu_others_bytes=chance.randrange(used + 1),
        )
        window.show_status(status)
        assert places(window.status) == before, status


def test_every_number_is_seen_whole_in_a_wide_window(window):
    window.resize(1440, 700)
    window.show_status(
        replace(
            LOADED,
            phase="Reading the chat",
            prefill_tokens_per_s=48_888,
            decode_tokens_per_s=2_888,
            first_token_s=0.888,
            context_tokens=8_192,
            gpu_used_bytes=11_800_000_000,
            gpu_others_bytes=8_800_000_000,
        )
    )
    QTest.qWait(30)
    for part in window.status._widest:
        assert part.isVisible(), part.accessibleName()
        assert part.width() >= part.fontMetrics().horizontalAdvance(part.text())


@pytest.mark.parametrize(
    ("used", "said"),
    [
        (100, "10 %"),
        (700, "When it is full"),
        (899, "When it is full"),
        (900, "Soon a reply will break off"),
        (1_000, "must be left out"),
    ],
)
def test_the_meter_says_what_will_happen_before_it_does(window, used, said):
    window.show_status(Status(context_tokens=used, capacity_tokens=1_000))
    meter = window.status.meter
    assert said in meter.toolTip()
    assert said in meter.accessibleDescription(), "also to a screen reader"
    assert said in window.status._context.toolTip()


def test_memory_of_other_programs_is_told_apart(window):
    window.show_status(
        replace(LOADED, gpu_used_bytes=39 * GB // 10, gpu_others_bytes=22 * GB // 10)
    )
    assert "GPU memory 3.9 of 12 GB, 2.2 by others" in window.status.texts
    tip = window.status._memory.toolTip()
    assert "1.7 GB" in tip
    assert "2.2 GB" in tip
    assert "8.1 GB are free" in tip


def test_speeds_and_first_token_stand_apart_and_stay_while_the_next_reply_runs(window):
    status = replace(
        LOADED, prefill_tokens_per_s=4_812, decode_tokens_per_s=252, first_token_s=0.009
    )
    window.show_status(replace(status, phase="Thinking"))
    for text in ("prefill 4,812 tok/s", "decode 252 tok/s", "first token 9 ms", "Thinking"):
        assert text in window.status.texts


def test_after_larger_text_and_back_the_numbers_stand_where_they_stood(window):
    window.resize(1440, 700)
    window.show_status(replace(LOADED, prefill_tokens_per_s=2_073, decode_tokens_per_s=211))
    before = places(window.status)
    for size in (*range(16, 29), 15):
        window.show_settings(with_value(window.settings, "font_size", size))
    window.show_status(window.status._status)
    assert places(window.status) == before
