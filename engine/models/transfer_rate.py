"""Bytes per second over the last few seconds, on the monotonic clock."""

from __future__ import annotations

from collections import deque


class TransferRate:
    """A sliding window of `window_s` seconds; times come from `time.monotonic`."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._samples: deque[tuple[float, int]] = deque()
        self._window_bytes = 0
        self._first_s: float | None = None

    def add(self, byte_count: int, now_s: float) -> None:
        """Count bytes that have just arrived; the first call starts the clock."""
        if self._first_s is None:
            self._first_s = now_s
        self._samples.append((now_s, byte_count))
        self._window_bytes += byte_count
        self._drop_old(now_s)

    def bytes_per_s(self, now_s: float) -> float:
        """The rate now; 0 before the first sample."""
        if self._first_s is None:
            return 0.0
        self._drop_old(now_s)
        # At least half a second: the first chunk would else show an absurd speed.
        return self._window_bytes / max(0.5, min(self._window_s, now_s - self._first_s))

    def is_full(self, now_s: float) -> bool:
        """Whether the clock has run for a whole window."""
        return self._first_s is not None and now_s - self._first_s >= self._window_s

    def _drop_old(self, now_s: float) -> None:
        while self._samples and now_s - self._samples[0][0] > self._window_s:
            self._window_bytes -= self._samples.popleft()[1]
