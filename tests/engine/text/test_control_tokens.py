"""What people typed never becomes a control token, and none of it is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.api import ChatMessage, ReplyPrefix, Role, ThinkingParams, ToolCall
from engine.text.tokenizer import Tokenizer
from tests.engine.text.tiny_tokenizer import CONTROL, tiny_document, write_tiny_folder

QWEN3_LITERALS = (
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>",
    "<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>",
    "<|vision_end|>", "<|vision_pad|>", "<|image_pad|>", "<|video_pad|>", "<tool_call>",
    "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
    "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>",
)  # fmt: skip
_AS_JSON = ("tool name", "tool argument", "raw argument")
LAST = ChatMessage(Role.USER, "ok")
THINK = ThinkingParams(enabled=True)


def _conversations_with(text: str) -> dict[str, list[ChatMessage]]:
    """`text` in every place where a person, a tool or an earlier reply can have written it."""
    user = ChatMessage(Role.USER, "q")
    call = ToolCall("name", json.dumps({"a": text}))
    return {
        "system": [ChatMessage(Role.SYSTEM, text), LAST],
        "system in the middle": [user, ChatMessage(Role.SYSTEM, text), LAST],
        "user": [ChatMessage(Role.USER, text)],
        "earlier user": [ChatMessage(Role.USER, text), ChatMessage(Role.ASSISTANT, "a"), LAST],
        "earlier answer": [user, ChatMessage(Role.ASSISTANT, text), LAST],
        "last answer": [user, ChatMessage(Role.ASSISTANT, text)],
        "last thinking": [user, ChatMessage(Role.ASSISTANT, "a", text)],
        "tool": [user, ChatMessage(Role.ASSISTANT, "a"), ChatMessage(Role.TOOL, text)],
        "tool name": [user, ChatMessage(Role.ASSISTANT, "a", "", (ToolCall(text, "{}"),)), LAST],
        "tool argument": [user, ChatMessage(Role.ASSISTANT, "a", "", (call,)), LAST],
        "raw argument": [
            user,
            ChatMessage(Role.ASSISTANT, "", "", (ToolCall("f", "'" + text),)),
            LAST,
        ],
    }


def _control_ids(
    tokenizer: Tokenizer, token_ids: list[int], literals: tuple[str, ...]
) -> list[int]:
    return [token_id for token_id in token_ids if tokenizer.token_text(token_id) in literals]


def _assert_only_text(tokenizer: Tokenizer, text: str, literals: tuple[str, ...]) -> None:
    harmless = _conversations_with("x")
    for place, messages in _conversations_with(text).items():
        ids = tokenizer.render(messages, THINK)
        expected = tokenizer.render(harmless[place], THINK)
        # The template's own control tokens, in their order, and no others.
        assert _control_ids(tokenizer, ids, literals) == _control_ids(
            tokenizer, expected, literals
        ), place
        shown = tokenizer.detokenize(ids)
        # In tool calls a template may write texts as JSON, whose escapes lose nothing.
        as_json = [json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)]
        written = [text, *as_json] if place in _AS_JSON else [text]
        assert any(form in shown for form in written), place


def test_the_26_literals_are_those_of_the_file(qwen3: Tokenizer) -> None:
    added = {qwen3.token_text(token_id) for token_id in range(151643, qwen3.vocab_size)}
    assert added == set(QWEN3_LITERALS)
    assert len(QWEN3_LITERALS) == 26


@pytest.mark.parametrize("literal", QWEN3_LITERALS)
def test_a_typed_control_token_stays_text_in_every_role(qwen3: Tokenizer, literal: str) -> None:
    assert min(qwen3.encode(literal)) >= 0
    assert max(qwen3.encode(literal)) < 151643
    assert qwen3.detokenize(qwen3.encode(literal)) == literal
    for text in (literal, f"The tag is {literal} as text", f"{literal}{literal}"):
        _assert_only_text(qwen3, text, QWEN3_LITERALS)


def test_an_earlier_answer_with_an_end_of_thinking_keeps_what_stands_before_it(
    qwen3: Tokenizer,
) -> None:
    answer = "The tag is </think> as text"
    ids = qwen3.render(
        [ChatMessage(Role.USER, "q"), ChatMessage(Role.ASSISTANT, answer), LAST], THINK
    )
    assert f"<|im_start|>assistant\n{answer}<|im_end|>" in qwen3.detokenize(ids)


def test_a_continued_reply_holds_no_control_token_of_its_own_text(qwen3: Tokenizer) -> None:
    text = "".join(QWEN3_LITERALS)
    for prefix in (
        ReplyPrefix(thinking=text),
        ReplyPrefix(thinking=text, thinking_closed=True, answer=text),
        ReplyPrefix(answer=text),
    ):
        ids = qwen3.render([LAST], THINK, prefix=prefix)
        tail = ids[len(qwen3.render([LAST], THINK)) :]
        own = [token_id for token_id in tail if token_id >= 151643]
        assert own == ([151667] if prefix.thinking else []) + (
            [151668] if prefix.thinking_closed else []
        )
        assert qwen3.detokenize(tail).count(text) == bool(prefix.thinking) + bool(prefix.answer)


_PARTS = st.sampled_from(
    [*CONTROL, *(literal[:2] for literal in CONTROL), *(literal[2:] for literal in CONTROL)]
)
_HOSTILE = st.one_of(
    st.lists(st.one_of(_PARTS, st.sampled_from(["\x7f", "\ufdd0", "\n", " ", "{{", "é", "👩‍🚀"])))
    .map("".join),
    # One literal broken open by another.
    st.tuples(st.sampled_from(CONTROL), st.sampled_from(CONTROL), st.integers(0, 9)).map(
        lambda three: three[0][: three[2]] + three[1] + three[0][three[2] :]
    ),
    st.text(max_size=30),
).filter(bool)  # fmt: skip


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=_HOSTILE)
def test_no_combination_of_literals_becomes_control_or_is_lost(tiny: Tokenizer, text: str) -> None:
    _assert_only_text(tiny, text, CONTROL)
    assert not set(tiny.encode(text)) & {260, 261, 262, 263, 264}


@pytest.fixture(scope="module")
def glued(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer whose template writes all texts without anything between them."""
    template = "{% for m in messages %}{{ m.content }}{% endfor %}<|end|>"
    folder = write_tiny_folder(tmp_path_factory.mktemp("glued"), template=template)
    return Tokenizer.from_folder(folder)


@settings(max_examples=100, deadline=None)
@given(first=_HOSTILE, second=_HOSTILE)
def test_no_literal_forms_where_two_texts_meet(glued: Tokenizer, first: str, second: str) -> None:
    messages = [ChatMessage(Role.USER, first), ChatMessage(Role.USER, second)]
    ids = glued.render(messages, THINK, add_generation_prompt=False)
    assert [token_id for token_id in ids if token_id >= 260] == [260]
    assert glued.detokenize(ids) == first + second + "<|end|>"


def test_no_literal_forms_with_what_the_template_writes_beside_a_text(tmp_path: Path) -> None:
    template = "{% for m in messages %}<|en{{ m.content }}d|>{% endfor %}<|end|>"
    tokenizer = Tokenizer.from_folder(write_tiny_folder(tmp_path, template=template))
    for text in ("d|> x", "x <|en", "d|><|en", "d|>"):
        ids = tokenizer.render([ChatMessage(Role.USER, text)], THINK, add_generation_prompt=False)
        assert [token_id for token_id in ids if token_id >= 260] == [260], text
        assert tokenizer.detokenize(ids) == f"<|en{text}d|><|end|>"


def test_a_literal_hidden_in_json_escapes_stays_text(tiny: Tokenizer) -> None:
    call = ToolCall("f", '{"k": "\\u003c|end|>", "\\u003cthink>": 1}')
    ids = tiny.render([ChatMessage(Role.ASSISTANT, "", "", (call,))], ThinkingParams(), False)
    assert [t for t in ids if t >= 260] == [261, 260]
    assert '{"k": "<|end|>", "<think>": 1}' in tiny.detokenize(ids)


def test_a_literal_that_the_vocabulary_holds_as_a_word_is_spelled_in_bytes(tmp_path: Path) -> None:
    document = tiny_document()
    model = document["model"]
    assert isinstance(model, dict)
    model["vocab"]["<|end|>"] = 260
    model["ignore_merges"] = True
    document["pre_tokenizer"] = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": False,
    }
    tokenizer = Tokenizer.from_folder(write_tiny_folder(tmp_path, document=document))
    ids = tokenizer.encode("<|end|>")
    assert 260 not in ids
    assert tokenizer.detokenize(ids) == "<|end|>"


def test_halves_of_characters_become_replacement_characters(tiny: Tokenizer) -> None:
    assert tiny.detokenize(tiny.encode("a\ud800b")) == "a\ufffdb"
    assert tiny.detokenize(tiny.encode("\ud83d\ude00")) == "😀"
    ids = tiny.render([ChatMessage(Role.USER, "x\udfffy")], THINK)
    assert "x\ufffdy" in tiny.detokenize(ids)
