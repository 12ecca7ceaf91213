"""Chats out to files and in again: nothing lost, nothing replaced, hostile files refused whole."""

from __future__ import annotations

import json
import os
import stat
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import chat_files, conversation_json
from app.chat_files import ChatFiles
from app.chat_view import ExportFormat
from app.conversation import Conversation, Exchange, Reply, ReplyStatus, StreamedText
from app.conversation_archive import ArchivedChat, ArchivedExchange, with_new_ids
from app.conversation_json import (
    BadImport,
    BadValue,
    ImportTooLarge,
    NotAnExport,
    NotJson,
    UnknownVersion,
    from_json,
    to_json,
)
from app.conversation_markdown import to_markdown
from tests.app.fakes import Desk
from tests.app.test_conversation_archive import rich_chat
from tests.app.test_conversation_store import FULL_REPLY


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "profile").mkdir()
    return Desk(tmp_path / "profile").with_model()


@pytest.fixture
def files(desk: Desk) -> ChatFiles:
    return ChatFiles(desk.view, desk.chats, desk.jobs, wall_clock=lambda: 9000.0)


def without_ids(chat: ArchivedChat) -> ArchivedChat:
    """The chat with its ids replaced by their order of coming, to compare what they name."""
    numbers = iter(range(10_000))
    return with_new_ids(chat, lambda: f"n{next(numbers)}")


def test_json_out_and_in_again_loses_nothing(desk, files, tmp_path):
    rich_chat(desk.store.store)
    original = desk.store.store.archive("c1")
    assert {f.name for f in fields(ArchivedChat) if not getattr(original, f.name)} == set()
    files.on_export("c1", ExportFormat.JSON, str(tmp_path / "out.json"))
    assert desk.view.notices["export"].kind == "info"
    (tmp_path / "second").mkdir()
    other = Desk(tmp_path / "second")
    ChatFiles(other.view, other.chats, other.jobs).on_import(str(tmp_path / "out.json"))
    [copy] = other.store.store.archives()
    assert without_ids(copy) == without_ids(original)
    assert other.view.conversation.title == "Rich", "what was imported is shown"


def test_all_chats_go_into_one_file_in_the_order_of_the_list(desk, files, tmp_path):
    for question in ("One?", "Two?", "Three?"):
        desk.chats.on_new_chat()
        desk.ask(question)
    files.on_export("", ExportFormat.JSON, str(tmp_path / "all.json"))
    found = from_json((tmp_path / "all.json").read_bytes())
    assert [chat.title for chat in found] == ["Three?", "Two?", "One?"]
    files.on_import(str(tmp_path / "all.json"))
    assert [s.title for s in desk.view.summaries] == ["Three?", "Two?", "One?"] * 2
    assert "3 chats" in desk.view.notices["import"].text


def test_a_large_import_comes_in_parts_and_keeps_its_order(desk, files, tmp_path, monkeypatch):
    monkeypatch.setattr(chat_files, "CHATS_AT_ONCE", 2)
    for question in ("One?", "Two?", "Three?", "Four?", "Five?"):
        desk.chats.on_new_chat()
        desk.ask(question)
    order = [s.title for s in desk.view.summaries]
    files.on_export("", ExportFormat.JSON, str(tmp_path / "all.json"))
    desk.store.held = []
    files.on_import(str(tmp_path / "all.json"))
    assert "import" not in desk.view.notices
    desk.chat.on_submitted("Asked meanwhile?")
    while desk.store.held:
        held, desk.store.held = desk.store.held, []
        for answer in held:
            answer()
    desk.store.held = None
    desk.chats.refresh()
    titles = [s.title for s in desk.view.summaries]
    assert [t for t in titles if t != "Five?"][:4] == order[1:]
    assert len(titles) == 10
    assert "5 chats" in desk.view.notices["import"].text


def test_an_import_never_changes_what_is_there(desk, files, tmp_path):
    desk.ask("The original?", "The original answer.")
    chat_id = desk.chats.shown_id
    files.on_export(chat_id, ExportFormat.JSON, str(tmp_path / "out.json"))
    text = (tmp_path / "out.json").read_text("utf-8")
    (tmp_path / "out.json").write_text(text.replace("original", "forged"), "utf-8")
    before = desk.store.store.archive(chat_id)
    files.on_import(str(tmp_path / "out.json"))
    files.on_import(str(tmp_path / "out.json"))
    assert desk.store.store.archive(chat_id) == before
    assert len(desk.view.summaries) == 3


def test_a_running_reply_is_exported_with_what_has_come_of_it(desk, files, tmp_path):
    running = Exchange("e", "q?", (Reply("r"),))
    desk.store.store.save_exchange(Conversation("c9", "Running"), running)
    desk.store.store.append_text("r", StreamedText("So far", "so good", 2, 3, 1.0, 0.5))
    files.on_export("c9", ExportFormat.JSON, str(tmp_path / "out.json"))
    files.on_import(str(tmp_path / "out.json"))
    [exchange] = desk.view.conversation.exchanges
    reply = exchange.reply
    assert reply is not None
    assert (reply.thinking, reply.answer, reply.status) == (
        "So far",
        "so good",
        ReplyStatus.INTERRUPTED,
    )
    assert (reply.thinking_tokens, reply.answer_tokens) == (2, 3)


texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
numbers = st.floats(0, 1e9, allow_nan=False)
replies = st.builds(
    Reply,
    st.uuids().map(str),
    texts,
    texts,
    st.sampled_from([s for s in ReplyStatus if s is not ReplyStatus.RUNNING]),
    texts,
    thinking_enabled=st.booleans(),
    thinking_s=numbers,
    seed=st.integers(-1, 2**63 - 1),
)
exchanges = st.builds(
    ArchivedExchange,
    st.uuids().map(str),
    texts,
    st.lists(replies, min_size=1, max_size=3).map(tuple),
    created_at=numbers,
    branch=st.sampled_from(["", "b1"]),
)
archived = st.builds(
    ArchivedChat,
    st.uuids().map(str),
    texts,
    texts,
    numbers,
    numbers,
    st.booleans(),
    texts,
    st.lists(exchanges, max_size=3).map(tuple),
)


@given(st.lists(archived, max_size=3))
def test_whatever_a_chat_holds_comes_back_from_json(chats):
    assert from_json(to_json(chats, 1.0).encode("utf-8")) == chats


def export_of(chat: ArchivedChat, **changes: object) -> dict[str, object]:
    found: dict[str, object] = json.loads(to_json([chat], 1.0))
    return found | changes


SAMPLE = ArchivedChat(
    "c", "T", exchanges=(ArchivedExchange("e", "q?", (replace(FULL_REPLY, error_text="x"),)),)
)


def changed(path: str, value: object) -> bytes:
    """An export in which one value was replaced, such as "chats.0.exchanges.0.question"."""
    whole = export_of(SAMPLE)
    *steps, last = path.split(".")
    at: object = whole
    for step in steps:
        at = at[int(step)] if isinstance(at, list) else at[step]  # type: ignore[index]
    at[int(last) if isinstance(at, list) else last] = value  # type: ignore[index]
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", NotJson),
        (b"\x00\x01\x02", NotJson),
        (b"\xff\xfe\x00", NotJson),
        (b"not json", NotJson),
        (b"[" * 200_000, NotJson),
        (b'{"format": NaN}', NotJson),
        (b'{"version": ' + b"9" * 10_000 + b"}", NotJson),
        (b"[]", NotAnExport),
        (b"null", NotAnExport),
        (b'"thinkpane-chats"', NotAnExport),
        (b'{"format": "something else", "version": 1}', NotAnExport),
        (b'{"format": "thinkpane-chats"}', UnknownVersion),
        (changed("version", 2), UnknownVersion),
        (changed("version", "1"), UnknownVersion),
        (changed("version", True), UnknownVersion),
        (changed("chats", {}), BadValue),
        (changed("chats", None), BadValue),
        (changed("chats.0", "a chat"), BadValue),
        (changed("chats.0.id", ""), BadValue),
        (changed("chats.0.title", 5), BadValue),
        (changed("chats.0.pinned", "yes"), BadValue),
        (changed("chats.0.created_at", -1), BadValue),
        (changed("chats.0.created_at", 10**400), BadValue),
        (changed("chats.0.updated_at", "yesterday"), BadValue),
        (changed("chats.0.settings", {}), BadValue),
        (changed("chats.0.exchanges", "none"), BadValue),
        (changed("chats.0.exchanges.0.question", ["q"]), BadValue),
        (changed("chats.0.exchanges.0.chosen", 1), BadValue),
        (changed("chats.0.exchanges.0.chosen", -1), BadValue),
        (changed("chats.0.exchanges.0.replies", None), BadValue),
        (changed("chats.0.exchanges.0.replies.0.status", "excellent"), BadValue),
        (changed("chats.0.exchanges.0.replies.0.seed", 2**63), BadValue),
        (changed("chats.0.exchanges.0.replies.0.seed", -2), BadValue),
        (changed("chats.0.exchanges.0.replies.0.seed", 1.5), BadValue),
        (changed("chats.0.exchanges.0.replies.0.answer", 1), BadValue),
        (changed("chats.0.exchanges.0.replies.0.thinking_s", True), BadValue),
        (b'{"format": "thinkpane-chats", "version": 1, "chats": [{"id": "c", "exchanges": ['
         b'{"id": "e", "replies": []}, {"id": "e", "replies": []}]}]}', BadValue),
        (b'{"format": "thinkpane-chats", "version": 1, "chats": [{"id": "c", "created_at": 1e999, '
         b'"exchanges": []}]}', BadValue),
    ],
)  # fmt: skip
def test_a_hostile_file_is_refused_whole_with_a_sentence(desk, files, tmp_path, data, error):
    with pytest.raises(error):
        from_json(data)
    path = tmp_path / "hostile.json"
    path.write_bytes(data)
    files.on_import(str(path))
    notice = desk.view.notices["import"]
    assert notice.kind == "error"
    assert "hostile.json" in notice.text
    assert "othing was imported" in notice.text
    assert desk.view.summaries == []


def test_the_place_of_a_bad_value_is_told():
    with pytest.raises(BadValue) as told:
        from_json(changed("chats.0.exchanges.0.replies.0.seed", "seven"))
    assert told.value.place == "chats[0].exchanges[0].replies[0].seed"
    assert "chats[0].exchanges[0].replies[0].seed" in chat_files.import_error_text(told.value, "f")


def test_a_value_that_is_missing_has_its_default_and_an_unknown_one_is_passed_over():
    data = (
        b'{"format": "thinkpane-chats", "version": 1, "new": 1, "chats": [{"id": "c", "more": {}, '
        b'"exchanges": [{"id": "e", "replies": [{"reply_id": "r", "status": "done"}]}]}]}'
    )
    [chat] = from_json(data)
    expected = ArchivedExchange("e", "", (Reply("r", status=ReplyStatus.DONE),))
    assert chat == ArchivedChat("c", exchanges=(expected,))


def test_a_lone_surrogate_is_replaced_not_fatal(desk, files, tmp_path):
    path = tmp_path / "odd.json"
    path.write_bytes(changed("chats.0.title", "a\ud800b"))
    files.on_import(str(path))
    assert desk.view.summaries[0].title == "a?b"


def test_a_file_that_is_too_large_is_not_read_whole(desk, files, tmp_path, monkeypatch):
    monkeypatch.setattr(chat_files, "MAX_IMPORT_BYTES", 1 << 20)
    monkeypatch.setattr(conversation_json, "MAX_IMPORT_BYTES", 1 << 20)
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(3 << 20)
    files.on_import(str(path))
    assert "3 MB" in desk.view.notices["import"].text
    with pytest.raises(ImportTooLarge):
        from_json(bytes((1 << 20) + 1))


def test_a_file_that_cannot_be_read_or_written_is_told(desk, files, tmp_path):
    desk.ask("One?")
    files.on_import(str(tmp_path / "nowhere.json"))
    assert "could not be read" in desk.view.notices["import"].text
    files.on_import(str(tmp_path))
    assert "could not be read" in desk.view.notices["import"].text
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    for path in (tmp_path / "no folder" / "out.json", blocked / "out.json"):
        files.on_export(desk.chats.shown_id, ExportFormat.JSON, str(path))
        assert desk.view.notices["export"].kind == "error"
        assert "could not be written" in desk.view.notices["export"].text


def test_an_export_that_fails_leaves_the_old_file_and_no_half_one(
    desk, files, tmp_path, monkeypatch
):
    desk.ask("One?")
    target = tmp_path / "out.json"
    target.write_text("the export of last week")

    def full(self, other):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    files.on_export(desk.chats.shown_id, ExportFormat.JSON, str(target))
    assert "the disk is full" in desk.view.notices["export"].text
    assert target.read_text() == "the export of last week"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.json", "profile"]


def test_an_export_is_readable_by_the_user_alone(desk, files, tmp_path):
    desk.ask("One?")
    old = os.umask(0)
    try:
        files.on_export(desk.chats.shown_id, ExportFormat.JSON, str(tmp_path / "out.json"))
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "out.json").stat().st_mode) == 0o600


def test_markdown_has_the_shown_text_with_or_without_thinking(desk, files, tmp_path):
    desk.ask("Why?\nReally?", "# Because\n\n```py\nx = 1\n```", "Hm.\n\n```\nodd")
    chat_id = desk.chats.shown_id
    for kind in (ExportFormat.MARKDOWN, ExportFormat.MARKDOWN_WITH_THINKING):
        files.on_export(chat_id, kind, str(tmp_path / f"{kind.value}.md"))
    plain = (tmp_path / "markdown.md").read_bytes().decode()
    full = (tmp_path / "markdown_with_thinking.md").read_bytes().decode()
    assert plain.startswith("# Why?\n\n*")
    assert "## Question\n\nWhy?\nReally?\n\n## Answer" in plain
    assert plain.endswith("# Because\n\n```py\nx = 1\n```\n")
    assert "Hm." not in plain
    assert "## Thinking\n\n> Hm.\n>\n> ```\n> odd\n\n## Answer" in full
    assert "\r" not in full


def test_markdown_leaves_hidden_branches_and_other_versions_out(desk):
    rich_chat(desk.store.store)
    text = to_markdown(desk.store.store.archives(), with_thinking=True)
    assert "new second?" in text
    assert "old second?" not in text
    assert "## Answer (Qwen3-0.6B)" in text


def test_several_chats_in_one_markdown_file_stand_apart():
    text = to_markdown([ArchivedChat("a", "One"), ArchivedChat("b", "")], with_thinking=False)
    assert text == "# One\n\n---\n\n# New chat\n"


def test_every_kind_of_bad_import_has_its_sentence():
    for kind in BadImport.__subclasses__():
        samples = {
            ImportTooLarge: ImportTooLarge(5 << 20, 1 << 20),
            NotJson: NotJson("odd"),
            NotAnExport: NotAnExport(),
            UnknownVersion: UnknownVersion(9, 1),
            BadValue: BadValue("chats", "a list", 1),
        }
        assert chat_files.import_error_text(samples[kind], "f.json").startswith("f.json ")
