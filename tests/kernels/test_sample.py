"""The sampler kernels: exact cases, and equality with the rules in engine/cpu/sampler.py."""

import math

import numpy as np
import pytest

from engine.api import Detail, SamplingParams
from engine.cpu.sampler import Sampler, philox4x32_10, random_bits24
from tests.kernels.device_sampler import BY_CAPACITY, BY_NAN, BY_TOKEN, LIVE, DeviceSampler

ONE_ORDER = {"orders": (0,)}


def plain(temperature: float = 1.0, **other) -> SamplingParams:
    """Parameters with every filter off."""
    return SamplingParams(**{"temperature": temperature, "top_k": 0, "top_p": 1.0, **other})


def device(vocab: int, sampling: SamplingParams, seed: int = 0, **state) -> DeviceSampler:
    sampler = DeviceSampler(vocab)
    sampler.set(0, sampling, seed, **state)
    return sampler


def drawn_ids(logits, sampling: SamplingParams, draws: int, **state) -> set[int]:
    """Ids that come up; penalties never see what was drawn before."""
    found = set()
    for seed in range(draws):
        found.add(device(len(logits), sampling, seed, **state).draw(logits, **ONE_ORDER))
    return found


# ------------------------------------------------------------- small exact cases


def test_top_p_looks_at_the_probabilities_after_temperature():
    # At temperature 0.5 the first has 0.867, at 1 only 0.665: 0.8 then keeps one, or two.
    assert drawn_ids([3, 2, 1], plain(0.5, top_p=0.8), 20) == {0}
    assert drawn_ids([3, 2, 1], plain(1.0, top_p=0.8), 20) == {0, 1}


def test_greedy_takes_the_lowest_of_equal_ids():
    assert device(5, plain(0.0)).draw([1, 7, 3, 7, 7]) == 1
    assert device(3, plain(0.0)).draw([-0.0, 0.0, -0.0]) == 0


@pytest.mark.emulation
@pytest.mark.parametrize("vocab", [1, 2, 31, 33, 1023, 1024, 1025, 4097])
def test_greedy_finds_first_and_last_id(vocab):
    for best in {0, vocab // 2, vocab - 1}:
        logits = np.full(vocab, -3.0, np.float32)
        logits[best] = 2.5
        assert device(vocab, plain(0.0)).draw(logits, **ONE_ORDER) == best


@pytest.mark.emulation
def test_top_k_keeps_exactly_k_of_equal_scores_the_lowest_ids():
    assert drawn_ids([1, 5, 5, 5, 5], plain(top_k=2), 20) == {1, 2}
    assert drawn_ids([-0.0, 0.0, -0.0], plain(top_k=2), 30) == {0, 1}


@pytest.mark.emulation
def test_top_p_keeps_the_id_that_crosses_and_the_lowest_of_equals():
    assert drawn_ids([1, 1, 1, 1], plain(top_p=0.5), 20) == {0, 1}
    assert drawn_ids([1, 1, 1, 1], plain(top_p=0.51), 30) == {0, 1, 2}
    assert drawn_ids([9, 1, 1, 1], plain(top_p=1e-6), 20) == {0}


@pytest.mark.emulation
def test_min_p_compares_with_the_best():
    logits = [math.log(0.6), math.log(0.3), math.log(0.1)]
    assert drawn_ids(logits, plain(min_p=0.4), 20) == {0, 1}
    assert drawn_ids(logits, plain(min_p=0.55), 20) == {0}


@pytest.mark.emulation
def test_top_p_takes_its_share_of_what_top_k_left():
    # Of 0.4, 0.3, 0.2, 0.1 top-k 2 leaves 0.57 and 0.43: top-p 0.5 keeps the first alone.
    logits = [math.log(p) for p in (0.4, 0.3, 0.2, 0.1)]
    assert drawn_ids(logits, plain(top_k=2, top_p=0.5), 20) == {0}
    assert drawn_ids(logits, plain(top_p=0.5), 20) == {0, 1}


@pytest.mark.emulation
def test_penalties():
    greedy = plain(0.0)
    assert device(3, plain(0.0, presence_penalty=1.5), generated=[0, 0]).draw([3, 2, 1]) == 1
    assert device(3, plain(0.0, presence_penalty=0.9), generated=[0, 0]).draw([3, 2, 1]) == 0
    assert device(3, plain(0.0, frequency_penalty=0.6), generated=[0]).draw([3, 2, 1]) == 0
    assert device(3, plain(0.0, frequency_penalty=0.6), generated=[0, 0]).draw([3, 2, 1]) == 1
    assert device(3, plain(0.0, repetition_penalty=2.0), prompt=[0]).draw([3, 2, 1]) == 1
    assert device(3, plain(0.0, repetition_penalty=2.0), prompt=[0]).draw([-1, -1.5, -3]) == 1
    # The prompt counts for the repetition penalty alone.
    assert device(3, plain(0.0, presence_penalty=2.0), prompt=[0]).draw([3, 2, 1]) == 0
    assert device(3, greedy, prompt=[0], generated=[0]).draw([3, 2, 1]) == 0


# ------------------------------------------------------------- random numbers


def test_philox_matches_the_published_numbers():
    # Known answers of Random123 (kat_vectors, philox4x32 10).
    assert philox4x32_10(0, 0) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)


@pytest.mark.emulation
def test_the_number_depends_on_seed_and_index_as_in_the_reference():
    # With 2^10 equal ids the drawn id shows the upper ten bits of the random number.
    logits = np.zeros(1024, np.float32)
    for seed, index in [(0, 0), (1, 0), (2**63 - 1, 5), (0xDEADBEEF12345678 >> 1, 77)]:
        sampler = device(1024, plain(), seed, generated=[0] * index)
        assert sampler.draw(logits, **ONE_ORDER) == random_bits24(seed, index) >> 14


@pytest.mark.emulation
def test_a_seed_replays_the_whole_reply():
    rng = np.random.default_rng(8)
    rows = rng.normal(0, 3, (12, 300)).astype(np.float32)
    replies = []
    for _ in range(2):
        sampler = device(300, SamplingParams(frequency_penalty=0.3), seed=42)
        replies.append([sampler.draw(row, **ONE_ORDER) for row in rows])
    assert replies[0] == replies[1]
    sampler = device(300, SamplingParams(frequency_penalty=0.3), seed=43)
    assert [sampler.draw(row, **ONE_ORDER) for row in rows] != replies[0]


@pytest.mark.emulation
def test_frequencies_follow_the_probabilities():
    probs = np.array([0.4, 0.25, 0.2, 0.1, 0.05])
    logits = np.log(probs).astype(np.float32)
    draws = 500
    sampler = device(5, plain(), seed=9)
    for _ in range(draws):
        sampler.draw(logits, **ONE_ORDER)
    counts = sampler.occurrences[0].astype(float)
    chi_square = float(((counts - draws * probs) ** 2 / (draws * probs)).sum())
    assert chi_square < 18.5  # 99.9 % of the distribution with 4 degrees of freedom


# ------------------------------------------------------------- against the NumPy rules

FILTERS = [
    plain(0.7),
    plain(1.5, top_k=1),
    plain(1.0, top_k=40),
    plain(0.6, top_p=0.95),
    plain(0.6, top_k=20, top_p=0.95),
    plain(1.3, top_k=300, top_p=0.5, min_p=0.02),
    plain(2.0, min_p=0.3),
    plain(0.01, top_k=5),
    plain(5.0, top_p=0.999),
    plain(0.8, top_k=50, presence_penalty=1.5, frequency_penalty=0.3, repetition_penalty=1.2),
    plain(0.8, top_p=0.9, presence_penalty=-1, frequency_penalty=-0.5, repetition_penalty=0.7),
]


def assert_same_reply(vocab: int, sampling: SamplingParams, rows: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    prompt, generated = rng.integers(0, vocab, 20).tolist(), rng.integers(0, vocab, 9).tolist()
    reference = Sampler(vocab)
    reference.set(sampling, seed, prompt, generated, Detail.ALTERNATIVES)
    sampler = DeviceSampler(vocab)
    sampler.set(0, sampling, seed, prompt, generated, Detail.ALTERNATIVES)
    for step, row in enumerate(rows):
        expected = reference.draw(row)
        assert sampler.draw(row, **ONE_ORDER) == expected.token_id
        record = sampler.records[0, (9 + step) % sampler.record_capacity]
        assert record["token_id"] == expected.token_id
        assert record["rank"] == expected.rank
        assert record["logprob"] == pytest.approx(expected.logprob, abs=2e-5)
        count = len(expected.alternatives)
        ids = [token_id for token_id, _ in expected.alternatives]
        assert record["alternative_ids"].tolist() == ids + [-1] * (10 - count)
        logprobs = [logprob for _, logprob in expected.alternatives]
        np.testing.assert_allclose(record["alternative_logprobs"][:count], logprobs, atol=2e-5)
    assert sampler.states[0]["index"] == 9 + len(rows)


@pytest.mark.emulation
@pytest.mark.parametrize("sampling", FILTERS)
def test_replies_equal_the_reference_on_smooth_and_on_tied_logits(sampling):
    rng = np.random.default_rng(11)
    smooth = rng.normal(0, 4, (6, 700)).astype(np.float32)
    tied = np.round(rng.normal(0, 2, (6, 700))).astype(np.float32)
    assert_same_reply(700, sampling, np.concatenate([smooth, tied]), seed=12)


@pytest.mark.emulation
@pytest.mark.parametrize("vocab", [1, 2, 9, 31, 33, 4097])
def test_replies_equal_the_reference_at_odd_vocabularies(vocab):
    rows = np.random.default_rng(13).normal(0, 2, (3, vocab)).astype(np.float32)
    assert_same_reply(vocab, plain(0.9, top_k=20, top_p=0.9), rows, seed=14)


@pytest.mark.emulation
@pytest.mark.parametrize("sampling", [FILTERS[4], FILTERS[0], FILTERS[9], plain(0.0)])
def test_replies_equal_the_reference_at_the_vocabulary_of_qwen3(sampling):
    rng = np.random.default_rng(15)
    rows = rng.normal(0, 2.5, (2, 151936)).astype(np.float32)
    rows[1, -1] = 14.0  # the best one is the last id
    assert_same_reply(151936, sampling, rows, seed=16)


@pytest.mark.emulation
def test_logits_of_extreme_size_overflow_nowhere():
    rng = np.random.default_rng(17)
    rows = (rng.normal(0, 1, (3, 500)) * np.array([[1e30], [1e-30], [3e5]])).astype(np.float32)
    assert_same_reply(500, plain(1e-5, top_k=20, top_p=0.9), rows, seed=18)
    assert_same_reply(500, plain(5.0, top_p=0.9), rows, seed=18)


# ------------------------------------------------------------- state


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_logit_that_is_not_finite_stops_the_slot_and_draws_nothing(bad):
    sampler = device(70, plain(0.0), generated=[3])
    before = sampler.occurrences.copy()
    logits = np.zeros((1, 70), np.float32)
    logits[0, 69] = bad
    token_ids, positions = sampler.step(logits, [0], [4])
    assert sampler.states[0]["stopped"] == BY_NAN
    assert (token_ids[0], positions[0]) == (-7, -1)
    assert sampler.states[0]["index"] == 1
    np.testing.assert_array_equal(sampler.occurrences, before)
    assert not sampler.records["token_id"].any()


@pytest.mark.emulation
def test_rows_move_their_own_slots_on_and_stopped_slots_stay():
    sampler = DeviceSampler(40, slots=4, record_capacity=4)
    greedy = plain(0.0)
    sampler.set(0, greedy, 0, stop_ids=[5, 6])
    sampler.set(1, greedy, 0, capacity=11)
    sampler.set(2, greedy, 0, stop_ids=[9])
    sampler.set(3, greedy, 0, generated=[1, 2, 3, 4, 5])
    sampler.states[2]["stopped"] = BY_TOKEN
    stopped_before = sampler.states[2].tobytes(), sampler.records[2].tobytes()
    logits = np.zeros((4, 40), np.float32)
    logits[0, 7], logits[1, 8], logits[2, 9], logits[3, 6] = 1, 1, 1, 1
    # Rows stand in another order than slots.
    token_ids, positions = sampler.step(logits, [3, 1, 2, 0], [20, 10, -1, 30])
    assert token_ids.tolist() == [7, 8, -7, 6]
    assert positions.tolist() == [21, -1, -1, -1]
    assert sampler.states["stopped"].tolist() == [BY_TOKEN, BY_CAPACITY, BY_TOKEN, LIVE]
    assert sampler.states["length"].tolist() == [31, 11, 0, 21]
    assert sampler.states["pending"].tolist() == [6, 8, 0, 7]
    assert (sampler.states[2].tobytes(), sampler.records[2].tobytes()) == stopped_before
    # Token number 5 of slot 3 stands at 5 % 4 of its ring.
    assert sampler.records[3, 1]["token_id"] == 7
    assert sampler.records[0, 0]["stopped"] == BY_TOKEN
    assert sampler.occurrences[3, [1, 7]].tolist() == [1, 1]


@pytest.mark.emulation
def test_a_prompt_flag_survives_the_count():
    sampler = device(8, plain(0.0), prompt=[2])
    sampler.draw([0, 0, 1, 0, 0, 0, 0, 0], **ONE_ORDER)
    assert sampler.occurrences[0, 2] == (1 << 31) + 1


@pytest.mark.emulation
@pytest.mark.parametrize("vocab", [33, 4097])
def test_clean_under_the_sanitizer(vocab):
    rng = np.random.default_rng(19)
    sampler = DeviceSampler(vocab, slots=2)
    for slot in range(2):
        sampler.set(slot, FILTERS[9], 3, prompt=[vocab - 1], detail=Detail.ALTERNATIVES)
    logits = rng.normal(0, 3, (2, vocab)).astype(np.float32)
    under_sanitizer, _ = sampler.step(logits, [1, 0], [0, 0], sanitize=True)
    for slot in range(2):
        sampler.set(slot, FILTERS[9], 3, prompt=[vocab - 1], detail=Detail.ALTERNATIVES)
    plain_run, _ = sampler.step(logits, [1, 0], [0, 0])
    np.testing.assert_array_equal(under_sanitizer, plain_run)
