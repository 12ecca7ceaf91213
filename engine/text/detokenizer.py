"""Token ids to text while they stream in: never half a character, constant work per token."""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.text.tokenizer import Tokenizer


class StreamingDetokenizer:
    """Turns one token after another into text; bytes of an unfinished character are held back.

    What `add` returned, joined, plus `finish()`, equals `Tokenizer.detokenize` of all the ids:
    bytes that are no UTF-8 become U+FFFD (as soon as no later byte can mend them), and a U+FFFD
    that the model wrote as such comes through.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token_id: int) -> str:
        """The text that this token completes; "" while a character is unfinished."""
        return self._decoder.decode(self._tokenizer.token_bytes(token_id))

    def finish(self) -> str:
        """U+FFFD for an unfinished character, else ""; afterwards a new text may begin."""
        return self._decoder.decode(b"", final=True)
