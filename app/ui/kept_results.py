"""Results that were slow to get, kept as long as there is room for them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class KeptResults(Generic[K, V]):
    """A dictionary with a limit to the size of all it holds; the oldest go first.

    A count alone is no limit: the picture of one long formula is a hundred times that of a short
    one.

    Args:
        most: all sizes together; the newest stays even if it alone is larger.
        size_of: of a key with its value, in any unit; at least 1, so that the count is limited too.
    """

    def __init__(self, most: int, size_of: Callable[[K, V], int]) -> None:
        self._most = most
        self._size_of = size_of
        self._values: dict[K, V] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._values)

    @property
    def size(self) -> int:
        """Of all that is held."""
        return self._size

    def get(self, key: K) -> V | None:
        """What is kept under that key, or None."""
        return self._values.get(key)

    def put(self, key: K, value: V) -> None:
        """Keep it as the newest."""
        self._drop(key)
        self._values[key] = value
        self._size += self._size_of(key, value)
        while self._size > self._most and len(self._values) > 1:
            self._drop(next(iter(self._values)))

    def _drop(self, key: K) -> None:
        if key in self._values:
            self._size -= self._size_of(key, self._values.pop(key))
