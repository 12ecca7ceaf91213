"""Which slot a prompt gets, and how much of it is reused."""

from engine.prompt_cache import PromptCache, common_prefix_length


def test_common_prefix_compares_ids():
    assert common_prefix_length([1, 2, 3], [1, 2, 4, 3]) == 2
    # 65 and 321 are equal modulo 256; a hash of bytes would take them for the same.
    assert common_prefix_length([65], [321]) == 0
    assert common_prefix_length([], [1]) == 0


def test_the_last_prompt_token_is_always_computed():
    cache = PromptCache(1)
    assert cache.take([1, 2, 3]) == (0, 0)
    cache.release(0, [1, 2, 3, 4])
    assert cache.take([1, 2, 3]) == (0, 2)


def test_no_free_slot_gives_none():
    cache = PromptCache(1)
    cache.take([1])
    assert cache.take([1]) is None


def test_the_slot_that_shares_most_is_taken_and_else_the_emptiest():
    cache = PromptCache(3)
    for slot in range(3):
        assert cache.take([9])[0] == slot
    cache.release(0, [1, 2, 3, 4])
    cache.release(1, [1, 2])
    cache.release(2, [5])
    assert cache.take([1, 2, 3, 9]) == (0, 3)
    assert cache.take([7, 7]) == (2, 0)
