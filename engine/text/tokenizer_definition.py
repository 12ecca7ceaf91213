"""What a tokenizer is made of, wherever it was read from: a folder or a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import BadModelFile
from engine.text.control_literals import ControlToken

TOKEN_ID_LIMIT = 1 << 20
"""Ids at or above this are refused; the largest vocabularies in use have some 262,000 entries."""


@dataclass(frozen=True, slots=True)
class TokenizerDefinition:
    """A tokenizer as its files describe it, checked; `origin` names the file in errors.

    `document` has the shape of tokenizer.json. `named_tokens` are the texts that templates know as
    `bos_token`, `eos_token`, ...
    """

    origin: str
    document: Mapping[str, object]
    vocabulary: Mapping[str, int]
    control_tokens: tuple[ControlToken, ...]
    stop_token_ids: frozenset[int]
    named_tokens: Mapping[str, str]
    chat_template: str


def checked_token_id(origin: str, what: str, value: object) -> int:
    """`value` if it can be a token id. Raises BadModelFile."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < TOKEN_ID_LIMIT:
        raise BadModelFile(
            origin, f"{what}: expected a token id below {TOKEN_ID_LIMIT:,}, found {value!r:.80}"
        )
    return value


def pieces_by_id(definition: TokenizerDefinition) -> list[str | None]:
    """Vocabulary entries and control literals at their ids; None where an id stands for nothing.

    Raises:
        BadModelFile: an id is no id, or two texts share one.
    """
    entries = dict(definition.vocabulary)
    for token in definition.control_tokens:
        entries[token.literal] = token.token_id
    pieces: list[str | None] = []
    for piece, token_id in entries.items():
        if type(token_id) is not int or not 0 <= token_id < TOKEN_ID_LIMIT:
            # Called for its words alone: making them for 150,000 sound tokens takes a while.
            checked_token_id(definition.origin, f"token {piece!r:.80}", token_id)
        if token_id >= len(pieces):
            pieces.extend([None] * (token_id + 1 - len(pieces)))
        if pieces[token_id] is not None:
            raise BadModelFile(
                definition.origin,
                f"tokens {pieces[token_id]!r:.80} and {piece!r:.80} have the same id {token_id}",
            )
        pieces[token_id] = piece
    return pieces
