"""Text to token ids and back, and whole conversations to prompts.

What a person or a model wrote is encoded by a tokenizer that knows no added token, so it can never
become a control id; control ids come from the template's own literals alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tokenizers
import tokenizers.models

from engine.api import ChatMessage, ReplyPrefix, ThinkingParams
from engine.errors import BadModelFile
from engine.text.byte_level import BYTE_CHARACTERS, piece_bytes
from engine.text.chat_template import ChatTemplate
from engine.text.control_literals import ControlLiterals, choose_marker
from engine.text.folder_vocabulary import definition_from_folder
from engine.text.gguf_vocabulary import definition_from_gguf
from engine.text.message_values import message_values, strings_in
from engine.text.thinking_splitter import ThinkingState, state_after_prompt
from engine.text.tokenizer_definition import TokenizerDefinition, pieces_by_id

if TYPE_CHECKING:
    from engine.models.gguf_file import GgufFile


_BPE_OPTIONS = (
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
)


class Tokenizer:
    """A model's tokenizer and chat template; safe to use from several threads.

    Attributes:
        stop_token_ids: The ids that end a reply, from the model's own files.
        think_start_id: Id of `<think>`, None where the model does not think.
        think_end_id: Id of `</think>`, None where the model does not think.
    """

    def __init__(self, definition: TokenizerDefinition) -> None:
        """Build from a checked definition; use `from_folder` or `from_gguf`.

        Raises:
            BadModelFile: the tokenizer or the template cannot be built.
        """
        self._origin = definition.origin
        self._pieces = pieces_by_id(definition)
        self._named_tokens = dict(definition.named_tokens)
        self._literals = ControlLiterals(definition.control_tokens)
        self._control_literals = {t.token_id: t.literal for t in definition.control_tokens}
        self._bytes: dict[int, bytes] = {}
        self._vocabulary = definition.vocabulary
        self._plain = _plain_tokenizer(definition)
        self._template = ChatTemplate(definition.chat_template, definition.origin)
        # Templates that take JSON text say so; the others write the arguments with `tojson`.
        self._parses_arguments = "arguments is string" not in self._template.source
        self.stop_token_ids = definition.stop_token_ids
        for token_id in self.stop_token_ids:
            if token_id >= len(self._pieces) or self._pieces[token_id] is None:
                raise BadModelFile(self._origin, f"the end token {token_id} is not a known token")
        ids = {token.literal: token.token_id for token in self._literals.tokens}
        knows_thinking = "<think>" in ids and "</think>" in ids and "think" in self._template.source
        self.think_start_id = ids["<think>"] if knows_thinking else None
        self.think_end_id = ids["</think>"] if knows_thinking else None

    @classmethod
    def from_folder(cls, path: Path) -> Tokenizer:
        """Read a Hugging Face folder: tokenizer.json, tokenizer_config.json and what names ends.

        Raises:
            ModelFileMissing: one of these two is not there.
            BadModelFile: a file is damaged.
            UnsupportedModel: not byte-level BPE.
        """
        return cls(definition_from_folder(path))

    @classmethod
    def from_gguf(cls, file: GgufFile) -> Tokenizer:
        """Build from a GGUF file's own vocabulary, merges and pre-tokenizer name.

        Raises:
            BadModelFile, UnsupportedModel: as `from_folder`.
        """
        return cls(definition_from_gguf(file))

    @property
    def vocab_size(self) -> int:
        """One more than the highest id with a text; a model's logits may have padding beyond."""
        return len(self._pieces)

    @property
    def supports_thinking(self) -> bool:
        """Whether the model marks its thinking with single ids and its template knows of it."""
        return self.think_start_id is not None

    def encode(self, text: str) -> list[int]:
        """Ids of plain text; never a control id, whatever the text says.

        Halves of characters (lone surrogates) count as U+FFFD.
        """
        return self._encode_batch([whole_characters(text)])[0]

    def render(
        self,
        messages: Sequence[ChatMessage],
        thinking: ThinkingParams,
        add_generation_prompt: bool = True,
        prefix: ReplyPrefix | None = None,
    ) -> list[int]:
        """Ids of the conversation by the model's template, up to where the reply goes on.

        Equal to transformers' `apply_chat_template` where no message holds a control literal.

        Raises:
            BadRequest: the template refuses these messages.
            BadModelFile: the template fails.
        """
        parses = self._parses_arguments
        values = [message_values(message, parses, whole_characters) for message in messages]
        fixed = (self._template.source, *self._literals.literals, *self._named_tokens.values())
        marker = choose_marker([*strings_in(values), *fixed])

        def guarded(text: str) -> str:
            return self._literals.break_in(whole_characters(text), marker)

        values = [message_values(message, parses, guarded) for message in messages]
        # A reply that has thought keeps its thinking even if thinking was switched off since.
        enabled = thinking.enabled or bool(prefix and prefix.thinking)
        variables = {**self._named_tokens, "enable_thinking": enabled}
        rendered = self._template.render(values, variables, add_generation_prompt)
        token_ids = self._encode_rendered(rendered, marker)
        if add_generation_prompt:
            token_ids += self._prefix_ids(token_ids, thinking, prefix or ReplyPrefix())
        return token_ids

    def token_text(self, token_id: int) -> str:
        """Text of one token for display: U+FFFD for a part of a character, "" for no token."""
        return self.token_bytes(token_id).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes:
        """UTF-8 bytes that a token stands for, a control token's literal; b"" for no token."""
        known = self._bytes.get(token_id)
        if known is None:
            known = self._bytes[token_id] = self._spelled(token_id)
        return known

    def _spelled(self, token_id: int) -> bytes:
        if not 0 <= token_id < len(self._pieces):
            return b""
        literal = self._control_literals.get(token_id)
        if literal is not None:
            return literal.encode("utf-8", "replace")
        return piece_bytes(self._pieces[token_id] or "")

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """Text of the ids, control tokens by their literal; U+FFFD for bytes that are no UTF-8."""
        return b"".join(map(self.token_bytes, token_ids)).decode("utf-8", "replace")

    def _encode_rendered(self, rendered: str, marker: str) -> list[int]:
        pieces = self._literals.split(rendered)
        texts = [piece.replace(marker, "") for piece in pieces if isinstance(piece, str)]
        encoded = iter(self._encode_batch(texts))
        token_ids: list[int] = []
        for piece in pieces:
            token_ids += next(encoded) if isinstance(piece, str) else [piece.token_id]
        return token_ids

    def _encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        try:
            # The batch call, unlike `encode`, lets other threads run meanwhile.
            encodings = self._plain.encode_batch_fast(texts, add_special_tokens=False)
        except BaseException as error:  # noqa: BLE001 (a Rust panic is no Exception)
            raise as_bad_file(self._origin, error) from None
        return [self._without_control_ids(encoding.ids) for encoding in encodings]

    def _without_control_ids(self, token_ids: list[int]) -> list[int]:
        """The ids, control ones spelled in bytes: some vocabularies hold a literal as a word."""
        if self._control_literals.keys().isdisjoint(token_ids):
            return token_ids
        spelled: list[int] = []
        for token_id in token_ids:
            literal = self._control_literals.get(token_id)
            if literal is None:
                spelled.append(token_id)
                continue
            byte_ids = [self._vocabulary.get(BYTE_CHARACTERS[byte]) for byte in literal.encode()]
            spelled += [byte_id for byte_id in byte_ids if byte_id is not None]
        return spelled

    def _prefix_ids(
        self, prompt: Sequence[int], thinking: ThinkingParams, prefix: ReplyPrefix
    ) -> list[int]:
        """Ids of the reply so far, as they would stand in the context had the model gone on.

        Empty for an empty prefix, but that thinking is closed where it is off and the template
        opened it all the same. A model that does not think gets the answer only.
        """
        start, end = self.think_start_id, self.think_end_id
        state = state_after_prompt(self, prompt)
        if start is None or end is None or state is ThinkingState.AFTER:
            return self.encode(prefix.answer)
        closed = prefix.thinking_closed or bool(prefix.answer) or not thinking.enabled
        if state is ThinkingState.BEFORE and not prefix.thinking and not prefix.thinking_closed:
            # The reply has no thinking, or has not begun.
            return self.encode(prefix.answer)
        opened = [] if state is ThinkingState.INSIDE else [start]
        line = "" if state is ThinkingState.INSIDE else "\n"
        if not closed:
            return [*opened, *self.encode(line + prefix.thinking)]
        return [
            *opened,
            *self.encode(f"{line}{prefix.thinking}\n"),
            end,
            *self.encode("\n\n" + prefix.answer),
        ]


def whole_characters(text: str) -> str:
    """`text` with surrogate pairs joined and lone surrogates, which are no text, as U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def as_bad_file(origin: str, error: BaseException) -> BaseException:
    """The error as BadModelFile; what is no fault of the file (an interrupt) comes back as it is.

    A panic of the Rust library is a BaseException, not an Exception, and its class has no public
    name.
    """
    if isinstance(error, Exception) or type(error).__name__ == "PanicException":
        return BadModelFile(origin, f"the tokenizer fails: {str(error)[:300]}")
    return error


def _plain_tokenizer(definition: TokenizerDefinition) -> tokenizers.Tokenizer:
    """The tokenizer without any added token: whatever it reads is text."""
    model = definition.document["model"]
    assert isinstance(model, dict)
    document = {
        **definition.document,
        # Truncation would cut prompts silently; dropout would make encoding random.
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "post_processor": None,
        "model": {"type": "BPE", "vocab": {}, "merges": []},
    }
    try:
        tokenizer = tokenizers.Tokenizer.from_str(json.dumps(document, ensure_ascii=False))
        # Not by way of JSON: writing and reading some 10 MB again takes longer than all the rest.
        tokenizer.model = tokenizers.models.BPE(
            vocab=dict(definition.vocabulary),
            merges=_merges(model.get("merges", ())),
            **{name: model[name] for name in _BPE_OPTIONS if model.get(name) is not None},
        )
    except BaseException as error:  # noqa: BLE001 (a Rust panic is no Exception)
        raise as_bad_file(definition.origin, error) from None
    return tokenizer


def _merges(entries: Iterable[object]) -> list[tuple[str, str]]:
    """The two pieces of each merge, which old files write with a blank between them."""
    # Compared by type alone: there are 150,000 of them, and whoever loads a model waits.
    merges: list[Any] = [tuple(e) if type(e) is list else _split_merge(e) for e in entries]
    if any(len(merge) != 2 for merge in merges):
        message = "merges: expected two pieces each"
        raise ValueError(message)
    return merges


def _split_merge(entry: object) -> tuple[str, ...]:
    if not isinstance(entry, str):
        message = f"merges: expected two pieces, found {entry!r:.80}"
        raise TypeError(message)
    return tuple(entry.split(" "))
