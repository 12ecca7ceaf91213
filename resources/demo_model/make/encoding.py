"""Conversations as token ids, as Qwen3's chat template and the engine's tokenizer make them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tokenizers

from resources.demo_model.make.conversations import Conversation
from resources.demo_model.make.problem import LETTER_MARK, plain

_CUT_SHARE = 0.015
"""Replies whose thinking is cut off, as "Answer now" does it."""

_LARGEST_GAP = 1200
"""Positions that may be left out before a turn: stands for a long chat between."""


@dataclass(frozen=True, slots=True)
class Example:
    """Prompt, reply and the position of every token of both."""

    prompt: list[int]
    reply: list[int]
    positions: list[int]


class Encoder:
    """Turns conversations to ids in batches; knows the ids of the control tokens."""

    def __init__(self, folder: Path) -> None:
        document = json.loads((folder / "tokenizer.json").read_text("utf-8"))
        self.control = {entry["content"]: entry["id"] for entry in document["added_tokens"]}
        # Text is encoded by a tokenizer without control tokens, as the engine does it.
        document["added_tokens"] = []
        self._plain = tokenizers.Tokenizer.from_str(json.dumps(document))
        self._vocabulary = document["model"]["vocab"]
        self.end = self.control["<|im_end|>"]
        self.ends = frozenset((self.end, self.control["<|endoftext|>"]))
        self.vocab_size = max(self.control.values()) + 1

    def examples(
        self, conversations: Sequence[Conversation], rng: random.Random, thinking_share: float
    ) -> list[Example]:
        """Training examples; of each `thinking_share` have the thinking on."""
        layouts = []
        for conversation in conversations:
            thinks = rng.random() < thinking_share
            cut = thinks and rng.random() < _CUT_SHARE
            gap = rng.randrange(_LARGEST_GAP) if rng.random() < 0.5 else 0
            prompt, starts = self._prompt(conversation, thinks)
            text = conversation.problem.thinking
            if cut:
                text = text[: rng.randrange(len(text))]
            reply = self._reply(text, conversation.problem.answer, thinks)
            layouts.append((prompt, starts, reply, gap, cut))
        ids = self._encode(part for prompt, _, reply, _, _ in layouts for part in (*prompt, *reply))
        examples = []
        for prompt, starts, reply, gap, cut in layouts:
            pieces = [next(ids) for _ in prompt]
            answer = [next(ids) for _ in reply]
            if cut:
                # What was cut is no example of good thinking: it is part of the prompt.
                pieces, answer = pieces + answer[:-2], answer[-2:]
            examples.append(_example(pieces, answer, rng.choice(starts), gap if starts[1:] else 0))
        return examples

    def prompts(self, conversations: Sequence[Conversation], thinks: bool) -> list[list[int]]:
        """Ids of the conversations up to where the reply begins."""
        layouts = [self._prompt(conversation, thinks)[0] for conversation in conversations]
        ids = self._encode(part for layout in layouts for part in layout)
        return [[i for _ in layout for i in next(ids)] for layout in layouts]

    def answer_text(self, reply: Sequence[int], thinks: bool) -> str:
        """The answer in a generated reply; "" where its thinking is not closed."""
        kept = [i for i in reply if i not in self.ends]
        if thinks:
            closed = self.control["</think>"]
            if closed not in kept:
                return ""
            kept = kept[kept.index(closed) + 1 :]
        return self.text(kept).strip("\n")

    def text(self, ids: Sequence[int]) -> str:
        """Text of ids, control tokens by their literal."""
        literals = {number: literal for literal, number in self.control.items()}
        parts: list[str] = []
        run: list[int] = []
        for number in ids:
            if number in literals:
                parts += [self._plain.decode(run), literals[number]]
                run = []
            else:
                run.append(number)
        return "".join([*parts, self._plain.decode(run)])

    def _prompt(
        self, conversation: Conversation, thinks: bool
    ) -> tuple[list[str | int], list[int]]:
        """The parts (text or control id) and the indices at which a turn begins."""
        start, end = self.control["<|im_start|>"], self.end
        parts: list[str | int] = []
        starts = []
        if conversation.system:
            parts += [start, f"system\n{conversation.system}", end, "\n"]
        for question, answer in conversation.history:
            starts.append(len(parts))
            parts += [start, f"user\n{question}", end, "\n"]
            parts += [start, f"assistant\n{plain(answer)}", end, "\n"]
        starts.append(len(parts))
        parts += [start, f"user\n{conversation.problem.question}", end, "\n", start, "assistant\n"]
        if not thinks:
            parts += [self.control["<think>"], "\n\n", self.control["</think>"], "\n\n"]
        return parts, starts

    def _reply(self, thinking: str, answer: str, thinks: bool) -> list[str | int]:
        if not thinks:
            return [answer, self.end]
        opened, closed = self.control["<think>"], self.control["</think>"]
        # Blank lines and answer are one text in the template; no answer begins with a newline.
        return [opened, f"\n{thinking}\n", closed, "\n\n", answer, self.end]

    def _encode(self, parts: Iterable[str | int]) -> Iterator[list[int]]:
        """Ids of every part, in order."""
        every = list(parts)
        texts = [part for part in every if isinstance(part, str) and LETTER_MARK not in part]
        encoded = iter(self._plain.encode_batch_fast(texts, add_special_tokens=False))
        for part in every:
            if isinstance(part, int):
                yield [part]
            elif LETTER_MARK in part:
                yield [self._vocabulary[letter] for letter in plain(part)]
            else:
                yield next(encoded).ids


def _example(
    prompt: Sequence[list[int]], reply: Sequence[list[int]], gap_part: int, gap: int
) -> Example:
    """Join the parts; positions jump by `gap` where the part `gap_part` of the prompt begins."""
    ids = [i for part in prompt for i in part]
    before = sum(len(part) for part in prompt[:gap_part])
    answer = [i for part in reply for i in part]
    total = len(ids) + len(answer)
    positions = [*range(before), *range(before + gap, total + gap)]
    return Example(ids, answer, positions)
