"""Thinking and answer are parted by token id; newlines of the convention go, all else stays."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.api import Channel, ChatMessage, ReplyPrefix, Role, ThinkingParams
from engine.text.thinking_splitter import ThinkingSplitter, ThinkingState, state_after_prompt
from engine.text.tokenizer import Tokenizer
from tests.engine.text.tiny_tokenizer import write_tiny_folder

OPEN, CLOSE = 262, 263
QUESTION = [ChatMessage(Role.USER, "hello")]


def _ids(tokenizer: Tokenizer, parts: Iterable[str | int]) -> list[int]:
    ids: list[int] = []
    for part in parts:
        ids += [part] if isinstance(part, int) else tokenizer.encode(part)
    return ids


def _split(splitter: ThinkingSplitter, ids: list[int]) -> tuple[str, str]:
    """Thinking and answer, joined; no piece may be empty."""
    pieces = [piece for token_id in ids for piece in splitter.add(token_id)]
    pieces += splitter.finish()
    assert all(text for _, text in pieces)
    thinking = "".join(text for channel, text in pieces if channel is Channel.THINKING)
    return thinking, "".join(text for channel, text in pieces if channel is Channel.ANSWER)


@pytest.mark.parametrize(
    ("parts", "thinking", "answer"),
    [
        ((OPEN, "\nHm.\n", CLOSE, "\n\nYes."), "Hm.", "Yes."),
        ((OPEN, "\n\n", CLOSE, "\n\nYes."), "", "Yes."),
        ((OPEN, CLOSE, "Yes."), "", "Yes."),
        ((OPEN, "\na\n\nb\n\n\n", CLOSE, "\n\n\nYes.\n\n"), "a\n\nb", "Yes.\n\n"),
        ((OPEN, "\n  a  \n", CLOSE, " x"), "  a  ", " x"),
        (("Yes, no thinking.",), "", "Yes, no thinking."),
        (("\n", OPEN, "\nHm.\n", CLOSE, "\n\nYes."), "Hm.", "Yes."),
        (("  ", OPEN, "\nHm.\n", CLOSE, "\n\nYes."), "Hm.", "  Yes."),
        (("a", OPEN, "b", CLOSE, "c"), "", "a<think>b</think>c"),
        ((OPEN, "\na", OPEN, "b\n", CLOSE, "\n\nc"), "a<think>b", "c"),
        ((OPEN, "\na\n", CLOSE, "\n\nb", OPEN, "c", CLOSE, "d"), "a", "b<think>c</think>d"),
        ((OPEN, "\na\n", CLOSE, CLOSE, "\nb"), "a", "</think>\nb"),
        ((CLOSE, "a"), "", "</think>a"),
        ((OPEN, "\ncut off\n"), "cut off\n", ""),
        ((OPEN,), "", ""),
        (("\n\n",), "", "\n\n"),
        ((OPEN, "\na <think> typed </think>\n", CLOSE, "b"), "a <think> typed </think>", "b"),
    ],
)
def test_channels_of_a_reply(
    tiny: Tokenizer, parts: tuple[str | int, ...], thinking: str, answer: str
) -> None:
    splitter = ThinkingSplitter(tiny, ThinkingState.BEFORE)
    assert _split(splitter, _ids(tiny, parts)) == (thinking, answer)


@settings(max_examples=150, deadline=None)
@given(parts=st.lists(st.sampled_from([OPEN, CLOSE, "a", "é", "\n", "\n\n", " ", 0xF0, 264])))
def test_nothing_but_newlines_and_the_two_tags_is_ever_lost(
    tiny: Tokenizer, parts: list[str | int]
) -> None:
    ids = _ids(tiny, parts)
    thinking, answer = _split(ThinkingSplitter(tiny, ThinkingState.BEFORE), ids)
    whole = tiny.detokenize(ids).replace("\n", "")
    shown = (thinking + answer).replace("\n", "")
    dropped = len(whole) - len(shown)
    # At most the two tags that part the channels; and those in their places.
    assert dropped in (0, len("<think>"), len("<think></think>"))
    for tag in ("<think>", "</think>"):
        whole, shown = whole.replace(tag, ""), shown.replace(tag, "")
    assert sorted(shown) == sorted(whole)


def test_text_comes_as_soon_as_it_is_sure(tiny: Tokenizer) -> None:
    splitter = ThinkingSplitter(tiny, ThinkingState.BEFORE)
    steps = [splitter.add(t) for t in _ids(tiny, (OPEN, "\na\nb\n", CLOSE, "\n\nc\n"))]
    thinking, answer = Channel.THINKING, Channel.ANSWER
    assert steps == [
        [], [], [(thinking, "a")], [], [(thinking, "\nb")], [], [], [], [], [(answer, "c")],
        [(answer, "\n")],
    ]  # fmt: skip


def test_a_half_character_at_the_end_of_thinking_stays_in_thinking(tiny: Tokenizer) -> None:
    splitter = ThinkingSplitter(tiny, ThinkingState.BEFORE)
    assert _split(splitter, [OPEN, 0xF0, 0x9F, CLOSE, 97]) == ("\ufffd", "a")


def test_a_model_that_does_not_think_answers_everything(tmp_path) -> None:
    folder = write_tiny_folder(tmp_path, template="{{ messages[0].content }}")
    tokenizer = Tokenizer.from_folder(folder)
    assert not tokenizer.supports_thinking
    assert tokenizer.think_start_id is None
    splitter = ThinkingSplitter.after_prompt(tokenizer, tokenizer.encode("x"))
    ids = _ids(tokenizer, ("\n", OPEN, "\na\n", CLOSE, "\n\nb"))
    assert _split(splitter, ids) == ("", "\n<think>\na\n</think>\n\nb")
    assert splitter.closing_token_ids() == []


@pytest.mark.parametrize(
    ("enabled", "prefix", "state", "tail"),
    [
        (True, None, ThinkingState.BEFORE, ""),
        (False, None, ThinkingState.AFTER, "<think>\n\n</think>\n\n"),
        (True, ReplyPrefix(thinking="Hm"), ThinkingState.INSIDE, "<think>\nHm"),
        (
            True,
            ReplyPrefix(thinking="Hm", thinking_closed=True),
            ThinkingState.AFTER,
            "<think>\nHm\n</think>\n\n",
        ),
        (
            True,
            ReplyPrefix(thinking="Hm", thinking_closed=True, answer="It"),
            ThinkingState.AFTER,
            "<think>\nHm\n</think>\n\nIt",
        ),
        (
            True,
            ReplyPrefix(thinking_closed=True, answer="It"),
            ThinkingState.AFTER,
            "<think>\n\n</think>\n\nIt",
        ),
        (True, ReplyPrefix(answer="It"), ThinkingState.BEFORE, "It"),
        (False, ReplyPrefix(answer="It"), ThinkingState.AFTER, "<think>\n\n</think>\n\nIt"),
        # Thinking was switched off after the reply had begun to think: it is closed.
        (False, ReplyPrefix(thinking="Hm"), ThinkingState.AFTER, "<think>\nHm\n</think>\n\n"),
    ],
)
def test_a_reply_goes_on_where_its_prefix_ends(
    qwen3: Tokenizer, enabled: bool, prefix: ReplyPrefix | None, state: ThinkingState, tail: str
) -> None:
    ids = qwen3.render(QUESTION, ThinkingParams(enabled), prefix=prefix)
    head = "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    assert qwen3.detokenize(ids) == head + tail
    assert state_after_prompt(qwen3, ids) is state


def test_a_prefix_has_the_ids_that_the_model_would_have_written(qwen3: Tokenizer) -> None:
    base = qwen3.render(QUESTION, ThinkingParams())
    prefix = ReplyPrefix("Let me see.\nYes.", thinking_closed=True, answer="It is so.")
    ids = qwen3.render(QUESTION, ThinkingParams(), prefix=prefix)
    assert ids[: len(base)] == base
    closed = [151668, *qwen3.encode("\n\n"), *qwen3.encode("It is so.")]
    written = [151667, *qwen3.encode("\n"), *qwen3.encode("Let me see.\nYes.\n"), *closed]
    assert ids[len(base) :] == written


def test_a_continued_reply_keeps_its_newlines(tiny: Tokenizer) -> None:
    for prefix, thinking, answer in (
        (ReplyPrefix(thinking="a"), "\n\nb", "c"),
        (ReplyPrefix(thinking="x", thinking_closed=True), "", "\n\nb\n</think>\nc"),
        (ReplyPrefix(answer="a"), "", "\n\nb\n</think>\nc"),
    ):
        ids = tiny.render(QUESTION, ThinkingParams(), prefix=prefix)
        found = _split(
            ThinkingSplitter.after_prompt(tiny, ids), _ids(tiny, ("\n\nb\n", CLOSE, "\nc"))
        )
        # Right after the closed thinking of the prefix, newlines are still the convention's.
        expected = answer.lstrip("\n") if prefix.thinking_closed else answer
        assert found == (thinking, expected)


def test_thinking_of_earlier_turns_says_nothing_about_this_reply(qwen3: Tokenizer) -> None:
    messages = [
        ChatMessage(Role.USER, "weather?"),
        ChatMessage(Role.ASSISTANT, "calling", "I need a tool."),
        ChatMessage(Role.TOOL, "sunny"),
    ]
    ids = qwen3.render(messages, ThinkingParams())
    assert 151668 in ids
    assert state_after_prompt(qwen3, ids) is ThinkingState.BEFORE


def test_a_template_that_opens_the_thinking_itself(tmp_path) -> None:
    template = (
        "{% for m in messages %}{{ m.content }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|start|>assistant\n<think>\n{% endif %}"
    )
    tokenizer = Tokenizer.from_folder(write_tiny_folder(tmp_path, template=template))
    ids = tokenizer.render(QUESTION, ThinkingParams())
    assert state_after_prompt(tokenizer, ids) is ThinkingState.INSIDE
    parts = ("\nHm.\n", CLOSE, "\n\nYes.")
    assert _split(ThinkingSplitter.after_prompt(tokenizer, ids), _ids(tokenizer, parts)) == (
        "Hm.",
        "Yes.",
    )
    off = tokenizer.render(QUESTION, ThinkingParams(enabled=False))
    assert tokenizer.detokenize(off).endswith("<think>\n\n</think>\n\n")
    prefix = ReplyPrefix(thinking="Hm", thinking_closed=True, answer="It")
    ids = tokenizer.render(QUESTION, ThinkingParams(), prefix=prefix)
    assert tokenizer.detokenize(ids).endswith("assistant\n<think>\nHm\n</think>\n\nIt")


@pytest.mark.parametrize(
    ("parts", "closing"),
    [
        ((), "<think>\n\n</think>\n\n"),
        ((OPEN,), "\n\n</think>\n\n"),
        ((OPEN, "\n"), "\n</think>\n\n"),
        ((OPEN, "\n\n"), "</think>\n\n"),
        ((OPEN, "\nHm"), "\n</think>\n\n"),
        ((OPEN, "\nHm.\n"), "</think>\n\n"),
        ((OPEN, "\nHm.\n", CLOSE), ""),
        (("An answer",), ""),
    ],
)
def test_injected_end_of_thinking(
    qwen3: Tokenizer, parts: tuple[str | int, ...], closing: str
) -> None:
    own = {OPEN: 151667, CLOSE: 151668}
    ids = _ids(qwen3, [own[p] if isinstance(p, int) else p for p in parts])
    splitter = ThinkingSplitter(qwen3, ThinkingState.BEFORE)
    for token_id in ids:
        splitter.add(token_id)
    injected = splitter.closing_token_ids()
    assert qwen3.detokenize(injected) == closing
    for token_id in injected:
        assert all(channel is Channel.THINKING for channel, _ in splitter.add(token_id))
    assert splitter.state is ThinkingState.AFTER
    assert splitter.channel is Channel.ANSWER
    assert splitter.add(qwen3.encode("Yes")[0]) == [(Channel.ANSWER, "Yes")]


def test_injection_into_a_continued_thinking(qwen3: Tokenizer) -> None:
    for text, closing in (("Hm", "\n</think>\n\n"), ("Hm.\n", "</think>\n\n")):
        ids = qwen3.render(QUESTION, ThinkingParams(), prefix=ReplyPrefix(thinking=text))
        splitter = ThinkingSplitter.after_prompt(qwen3, ids)
        assert splitter.channel is Channel.THINKING
        assert qwen3.detokenize(splitter.closing_token_ids()) == closing
