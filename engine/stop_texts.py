"""Finds the stop texts of a request in streamed text, wherever the pieces are cut."""

from __future__ import annotations

from collections.abc import Sequence


class StopTextFilter:
    """Lets text through up to the first stop text; holds back what may be the start of one."""

    def __init__(self, stop_texts: Sequence[str]) -> None:
        self._stop_texts = tuple(stop_texts)
        self._held = ""
        self.stopped = False
        """Whether a stop text has been found."""

    def add(self, text: str) -> str:
        """The text that may be shown now; nothing more once `stopped`."""
        if self.stopped:
            return ""
        text = self._held + text
        found = [at for at in map(text.find, self._stop_texts) if at >= 0]
        if found:
            self.stopped = True
            self._held = ""
            return text[: min(found)]
        cut = len(text) - self._possible_start(text)
        self._held = text[cut:]
        return text[:cut]

    def finish(self) -> str:
        """What is still held back, when no more text comes."""
        held, self._held = self._held, ""
        return held

    def _possible_start(self, text: str) -> int:
        """Length of the longest end of `text` with which a stop text begins."""
        longest = 0
        for stop_text in self._stop_texts:
            for length in range(min(len(stop_text) - 1, len(text)), longest, -1):
                if text.endswith(stop_text[:length]):
                    longest = length
                    break
        return longest
