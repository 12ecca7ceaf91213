"""Notices when a model says the same thing over and over; pure functions over recent text.

Text counts as a loop when its end is one passage repeated exactly, long enough and often enough.
Bytes of UTF-8 stand in for tokens: a word of English and one of Chinese then weigh about the same.
Passages without a letter (rules of tables, indentation, drawings, rows of zeros) repeat in good
texts too, so that they must go on for much longer.
"""

from __future__ import annotations

from engine.api import Channel

WINDOW_BYTES = 12_288
"""How far back is looked: three times a paragraph of 4,000 letters."""

CHECK_EVERY_BYTES = 96
"""How much new text makes a new look worth while; a look takes well under a millisecond."""

_ANCHOR_BYTES = 48
_COPIES = ((100, 8), (400, 4), (WINDOW_BYTES, 3))
"""(period in bytes, copies needed): a long passage is a loop when it comes for the third time."""
_LEAST_BYTES = 400
_LEAST_BYTES_WITHOUT_LETTERS = 1_600


def loop_period(text: str) -> int:
    """Bytes of the passage that the end of `text` repeats; 0 where it is no loop."""
    data = text.encode("utf-8", "replace")[-WINDOW_BYTES:]
    anchor = data[-_ANCHOR_BYTES:]
    end = len(data)
    before = end - _ANCHOR_BYTES
    while before > 0:
        # The nearest earlier place of the last words gives the shortest period they can have.
        at = data.rfind(anchor, 0, before + _ANCHOR_BYTES - 1)
        if at < 0:
            return 0
        period = end - _ANCHOR_BYTES - at
        repeated = _repeated_bytes(data, period)
        if repeated >= _needed_bytes(data[end - period :]):
            return period
        # Other places inside this stretch are periods of it too, and break off where it does.
        before = end - repeated
    return 0


def _repeated_bytes(data: bytes, period: int) -> int:
    """How long the end of `data` is that repeats with this period."""
    end = len(data)
    low, high = period, end
    while low < high:
        middle = (low + high + 1) // 2
        if data[end - middle : end - period] == data[end - middle + period :]:
            low = middle
        else:
            high = middle - 1
    return low


def _needed_bytes(passage: bytes) -> int:
    """How many bytes of repetition make a loop of this passage; whole copies of it."""
    period = len(passage)
    copies = next(count for limit, count in _COPIES if period <= limit)
    has_letters = any(letter.isalpha() for letter in passage.decode("utf-8", "ignore"))
    least = _LEAST_BYTES if has_letters else _LEAST_BYTES_WITHOUT_LETTERS
    return period * max(copies, -(-least // period))


class LoopGuard:
    """Follows one reply; fires once for each of its two channels at most."""

    def __init__(self) -> None:
        self._channel: Channel | None = None
        self._text = ""
        self._unseen_bytes = 0
        self._fired: set[Channel] = set()

    def add(self, channel: Channel, text: str) -> bool:
        """Take streamed text; true when a loop shows for the first time in this channel."""
        if channel is not self._channel:
            self._channel, self._text, self._unseen_bytes = channel, "", 0
        if channel in self._fired:
            return False
        # Every letter has at least one byte, so this holds the window whatever the script.
        self._text = (self._text + text)[-WINDOW_BYTES:]
        self._unseen_bytes += len(text.encode("utf-8", "replace"))
        if self._unseen_bytes < CHECK_EVERY_BYTES:
            return False
        self._unseen_bytes = 0
        if not loop_period(self._text):
            return False
        self._fired.add(channel)
        return True
