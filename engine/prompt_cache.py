"""Which slot still holds the beginning of a prompt, so that only the rest is prefilled."""

from __future__ import annotations

from collections.abc import Sequence


def common_prefix_length(first: Sequence[int], second: Sequence[int]) -> int:
    """Number of leading ids that are equal; the ids themselves are compared, no hashes."""
    length = 0
    for one, other in zip(first, second, strict=False):
        if one != other:
            break
        length += 1
    return length


class PromptCache:
    """The token ids that each slot's KV cache holds, and which slots are taken."""

    def __init__(self, slots: int) -> None:
        self._token_ids: list[list[int]] = [[] for _ in range(slots)]
        self._free = set(range(slots))

    def take(self, prompt_token_ids: Sequence[int]) -> tuple[int, int] | None:
        """Take the free slot that shares most with the prompt: (slot, tokens to keep).

        At least the last prompt token is left to compute, since its logits are needed. None where
        no slot is free. Among equals the slot that holds least is taken, so that other
        conversations keep theirs.
        """
        if not self._free:
            return None
        shared = {s: common_prefix_length(self._token_ids[s], prompt_token_ids) for s in self._free}
        slot = min(self._free, key=lambda s: (-shared[s], len(self._token_ids[s]), s))
        self._free.remove(slot)
        return slot, min(shared[slot], len(prompt_token_ids) - 1)

    def release(self, slot: int, token_ids: Sequence[int]) -> None:
        """Give a slot back, with the ids that its cache holds now."""
        self._token_ids[slot] = list(token_ids)
        self._free.add(slot)
