"""The sampler rules: order, ties, penalties, distribution, repeatability."""

import math

import numpy as np
import pytest

from engine.api import Detail, SamplingParams
from engine.cpu.sampler import ALTERNATIVES, Sampler, _pick, philox4x32_10, random_bits24
from engine.errors import NumericalError

OFF = {"top_k": 0, "top_p": 1.0, "min_p": 0.0, "temperature": 1.0}


def f32(values):
    return np.asarray(values, np.float32)


def sampler(size, seed=0, prompt=(), generated=(), detail=Detail.NONE, **parameters):
    made = Sampler(size)
    made.set(SamplingParams(**(OFF | parameters)), seed, prompt, generated, detail)
    return made


def kept(logits, **parameters):
    ids, _ = sampler(len(logits), **parameters).kept_masses(f32(logits))
    return ids.tolist()


def drawn_ids(logits, count, **parameters):
    """`count` independent draws: one per seed, each the first token of its reply."""
    return [
        sampler(len(logits), seed=seed, **parameters).draw(f32(logits)).token_id
        for seed in range(count)
    ]


@pytest.mark.parametrize(
    ("key", "counter", "words"),
    [
        # Known answers of Random123 (kat_vectors, philox4x32 10).
        (0, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (2**64 - 1, 2**128 - 1, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            0x299F31D0A4093822,
            0x0370734413198A2E85A308D3243F6A88,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_numbers(key, counter, words):
    assert philox4x32_10(key, counter) == words


def test_random_bits_depend_on_seed_and_index():
    values = {random_bits24(seed, index) for seed in (0, 1, 2**40) for index in range(5)}
    assert len(values) == 15
    assert all(0 <= value < 2**24 for value in values)


def test_temperature_zero_is_greedy_and_ties_go_to_the_lowest_id():
    assert sampler(4, temperature=0.0).draw(f32([1, 3, 3, 2])).token_id == 1


def test_a_tiny_temperature_does_not_overflow():
    assert sampler(3, temperature=2e-6).draw(f32([1e4, 3e4, -3e4])).token_id == 1


def test_temperature_comes_before_top_p():
    # Hugging Face's order keeps id 0 alone; filtering first would keep ids 0 and 1.
    assert kept([3, 2, 1], temperature=0.5, top_p=0.8) == [0]
    assert kept([3, 2, 1], temperature=1.0, top_p=0.8) == [0, 1]


def test_top_k_keeps_the_lowest_ids_of_equals():
    assert kept([1, 2, 2, 2, 0], top_k=2) == [1, 2]


def test_top_k_comes_before_top_p():
    # Of the two kept by top-k, id 0 has 0.731 of the mass; of all four it has 0.644.
    assert kept([3, 2, 1, 0], top_k=2, top_p=0.7) == [0]
    assert kept([3, 2, 1, 0], top_p=0.7) == [0, 1]


def test_top_p_always_keeps_the_best():
    assert kept([0, 5, 0], top_p=1e-6) == [1]


def test_top_p_that_is_reached_exactly_keeps_no_more():
    assert kept([1, 1, 1, 1], top_p=0.5) == [0, 1]


def test_a_share_of_the_uniform_number_goes_to_each_id():
    ids, masses = np.array([3, 8]), np.array([4, 4], np.uint64)
    # Half of the 2^24 uniform numbers are below 2^23; they belong to the first id, no more.
    assert [_pick(ids, masses, bits) for bits in (0, 2**23 - 1, 2**23, 2**24 - 1)] == [3, 3, 8, 8]


def test_min_p_is_relative_to_the_best():
    logits = [math.log(p) for p in (0.5, 0.3, 0.15, 0.05)]
    assert kept(logits, min_p=0.31) == [0, 1]
    assert kept(logits, min_p=0.29) == [0, 1, 2]


@pytest.mark.parametrize("seed", range(8))
def test_filters_equal_a_plain_restatement_of_hugging_face(seed):
    rng = np.random.default_rng(seed)
    scores = f32(rng.normal(0, 3, 200))
    temperature, top_k, top_p, min_p = 0.7, 40, 0.9, 0.02
    z = scores.astype(np.float64) / temperature
    z[z < np.sort(z)[-top_k]] = -np.inf
    order = np.argsort(z)
    probs = np.exp(z[order] - z.max())
    probs /= probs.sum()
    z[order[np.cumsum(probs) <= 1 - top_p]] = -np.inf
    probs = np.exp(z - z.max())
    probs /= probs.sum()
    expected = np.flatnonzero((probs > 0) & (probs >= min_p * probs.max()))
    found = kept(scores, temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p)
    assert found == expected.tolist()


def test_presence_counts_once_and_frequency_each_time_and_the_prompt_not():
    logits = f32([2.0, 1.5, 1.0])
    # id 0 three times: presence takes 0.4 once, so it still leads.
    one = sampler(3, prompt=[1], generated=[0, 0, 0], temperature=0.0, presence_penalty=0.4)
    assert one.draw(logits).token_id == 0
    each = sampler(3, prompt=[1], generated=[0, 0, 0], temperature=0.0, frequency_penalty=0.4)
    assert each.draw(logits).token_id == 1


def test_repetition_penalty_counts_the_prompt_and_follows_the_sign():
    # Positive logits are divided, negative ones multiplied: both get less likely.
    made = sampler(3, prompt=[0], temperature=0.0, repetition_penalty=2.0)
    assert made.draw(f32([2.0, 1.5, 1.0])).token_id == 1
    made = sampler(2, prompt=[0], temperature=0.0, repetition_penalty=2.0)
    assert made.draw(f32([-1.0, -1.5])).token_id == 1


def test_a_drawn_token_is_penalized_at_the_next_draw():
    made = sampler(2, temperature=0.0, presence_penalty=1.0)
    assert [made.draw(f32([1.0, 0.5])).token_id for _ in range(3)] == [0, 1, 0]


def test_draws_follow_the_distribution():
    # Chi-square over 6 ids and 4,000 seeds; 20.5 is the 99.9 % point for 5 degrees of freedom.
    probs = np.array([0.4, 0.25, 0.15, 0.1, 0.07, 0.03])
    counts = np.bincount(drawn_ids(np.log(probs), 4000), minlength=6)
    assert (((counts - 4000 * probs) ** 2) / (4000 * probs)).sum() < 20.5


def test_draws_of_one_reply_follow_the_distribution():
    probs = np.array([0.5, 0.3, 0.2])
    made = sampler(3, seed=7)
    counts = np.bincount([made.draw(f32(np.log(probs))).token_id for _ in range(3000)])
    # 13.8 is the 99.9 % point for 2 degrees of freedom.
    assert (((counts - 3000 * probs) ** 2) / (3000 * probs)).sum() < 13.8


def test_a_filtered_id_is_never_drawn():
    assert set(drawn_ids([3, 2.9, 2.8, 2.7], 300, top_k=2)) == {0, 1}


def test_a_reply_replays_from_the_middle():
    rng = np.random.default_rng(3)
    rows = f32(rng.normal(size=(12, 50)))
    whole = sampler(50, seed=99, prompt=[4], presence_penalty=0.5, repetition_penalty=1.2)
    ids = [whole.draw(row).token_id for row in rows]
    resumed = sampler(
        50, seed=99, prompt=[4], generated=ids[:7], presence_penalty=0.5, repetition_penalty=1.2
    )
    assert [resumed.draw(row).token_id for row in rows[7:]] == ids[7:]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_logit_that_is_not_finite_raises_and_records_nothing(bad):
    made = sampler(3, temperature=0.0, presence_penalty=2.0)
    with pytest.raises(NumericalError, match="generated token 0"):
        made.draw(f32([0, bad, 1]))
    assert made.draw(f32([0, 0, 1])).token_id == 2


def test_detail_is_of_the_raw_logits():
    logits = f32([2.0, 1.0, 0.0])
    made = sampler(
        3, generated=[0], temperature=0.0, presence_penalty=2.0, detail=Detail.ALTERNATIVES
    )
    token = made.draw(logits)
    log_sum = math.log(sum(math.exp(v) for v in (2.0, 1.0, 0.0)))
    assert token.token_id == 1
    assert token.rank == 1
    assert token.logprob == pytest.approx(1.0 - log_sum, abs=1e-6)
    assert [i for i, _ in token.alternatives] == [0, 1, 2]
    assert token.alternatives[0][1] == pytest.approx(2.0 - log_sum, abs=1e-6)


def test_alternatives_are_limited_and_ranked_with_ties_by_id():
    token = sampler(50, temperature=0.0, detail=Detail.ALTERNATIVES).draw(f32([1.0] * 50))
    assert [i for i, _ in token.alternatives] == list(range(ALTERNATIVES))


def test_logprob_detail_has_no_alternatives():
    token = sampler(3, temperature=0.0, detail=Detail.LOGPROB).draw(f32([0, 1, 1]))
    assert (token.token_id, token.rank, token.alternatives) == (1, 0, ())
