"""The chat database: round trips, order, search, trash, edits, damage, newer and older files."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.conversation import Conversation, Exchange, Reply, ReplyStatus, StreamedText
from app.conversation_database import TRASH_KEPT_S, backup_file, open_store
from app.conversation_schema import SCHEMA_VERSION
from app.conversation_store import ConversationStore

FULL_REPLY = Reply(
    "r1", "Let me see…", "42 😀", ReplyStatus.STOPPED, "cancelled", "", "Qwen3-0.6B", False, True,
    4.25, 1.5, 310, 12, 99, 2**62, 1234.5, 66.5,
)  # fmt: skip


def chat(chat_id: str = "c1", *questions: str, **changes) -> Conversation:
    exchanges = tuple(
        Exchange(f"{chat_id}-e{i}", q, (Reply(f"{chat_id}-r{i}", answer=f"Answer to {q}"),))
        for i, q in enumerate(questions)
    )
    made = Conversation(chat_id, f"Title {chat_id}", exchanges, created_at=1.0, updated_at=2.0)
    return replace(made, **changes)


def saved(store: ConversationStore, conversation: Conversation) -> Conversation:
    store.save_conversation(conversation)
    for exchange in conversation.exchanges:
        store.save_exchange(conversation, exchange)
    return conversation


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture
def store(path: Path) -> Iterator[ConversationStore]:
    opened = open_store(path, 1000.0).store
    yield opened
    opened.close()


def load_again(store: ConversationStore, path: Path, chat_id: str) -> Conversation | None:
    """The chat as the next start of the app finds it."""
    store.close()
    again = open_store(path, 1000.0).store
    with closing(again):
        return again.load(chat_id)


def test_every_field_of_a_chat_comes_back_after_a_restart(store, path):
    assert all(
        getattr(FULL_REPLY, f.name) != f.default or f.name == "error_text" for f in fields(Reply)
    ), "the sample must differ from every default, or a forgotten column would not show"
    sample = replace(FULL_REPLY, error_text="It failed.")
    exchange = Exchange("e1", "Why?\nReally?", (sample, Reply("r2", answer="b")), 1, True, 3.5)
    conversation = Conversation("c1", "A title", (exchange,), "a draft", 1.0, 2.0)
    store.save_exchange(conversation, exchange)
    loaded = load_again(store, path, "c1")
    assert loaded is not None
    # The second one was running when the app ended; text in the answer means thinking was over.
    expected = replace(exchange.replies[1], status=ReplyStatus.INTERRUPTED, thinking_closed=True)
    assert loaded == replace(
        conversation, exchanges=(replace(exchange, replies=(sample, expected)),)
    )


def test_the_list_is_in_order_of_use_even_when_the_clock_goes_back(store):
    saved(store, chat("old", "a?", updated_at=9e9))
    saved(store, chat("new", "b?", updated_at=5.0))
    assert [s.conversation_id for s in store.summaries()] == ["new", "old"]
    saved(store, chat("old", "a?", "c?", updated_at=1.0))
    assert [s.conversation_id for s in store.summaries()] == ["old", "new"]


def test_a_chat_without_a_question_is_not_listed_but_its_draft_is_found(store):
    assert store.draft_conversation() is None
    store.save_draft(Conversation("c1", draft="half a thou"))
    assert store.summaries() == []
    found = store.draft_conversation()
    assert found is not None
    assert found.draft == "half a thou"
    store.save_draft(Conversation("c1", draft=""))
    assert store.draft_conversation() is None


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ("title c2", ["c2"]),
        ("ROCKET", ["c1"]),
        ("answer to why", ["c2"]),
        ("100%", ["c3"]),
        ("%", ["c3"]),
        ("_", []),
        ("\\", []),
        ("天气", ["c3"]),
        ("nowhere", []),
    ],
)
def test_search_looks_in_titles_questions_and_answers(store, search, found):
    saved(store, chat("c1", "How does a rocket fly?"))
    saved(store, chat("c2", "why is the sky blue?"))
    saved(store, chat("c3", "今天天气 100% 好?"))
    assert [s.conversation_id for s in store.summaries(search)] == found


def test_the_snippet_shows_the_place_of_the_match(store):
    saved(store, chat("c1", "word " * 40 + "needle " + "word " * 40))
    [summary] = store.summaries("needle")
    assert "needle" in summary.snippet
    assert store.summaries("")[0].snippet == "", "the title says it already"
    assert len(summary.snippet) < 140


def test_deleted_chats_come_back_with_undo_and_are_erased_after_the_trash_time(store, path):
    saved(store, chat("c1", "unforgettable zebra?"))
    store.delete("c1", now=1000.0)
    assert store.summaries() == []
    assert store.summaries("zebra") == []
    store.undo_delete("c1")
    assert len(store.summaries()) == 1
    store.delete("c1", now=1000.0)
    assert store.purge_trash(deleted_before=999.0) == 0
    assert store.purge_trash(deleted_before=1001.0) == 1
    assert store.load("c1") is None
    store.close()
    assert b"zebra" not in path.read_bytes(), "erased means erased"


def test_an_edit_keeps_what_it_replaced_and_undo_swaps_it_back(store):
    before = saved(store, chat("c1", "a?", "b?", "c?"))
    edited = Exchange("c1-e1", "B instead?", (Reply("new"),))
    after = replace(before, exchanges=(before.exchanges[0], edited))
    for _ in range(2):  # repeated after a full disk
        store.edit_exchange(after, edited, "branch-1")
    loaded = store.load("c1")
    assert loaded is not None
    assert [e.question for e in loaded.exchanges] == ["a?", "B instead?"]
    assert [each.snippet for each in store.summaries("c?")] == ["Another version: c?"]
    for _ in range(2):
        store.restore_branch("c1", "c1-e1", "branch-1", "branch-2")
    loaded = store.load("c1")
    assert loaded is not None
    kept = replace(before.exchanges[1], question_versions=("", "branch-2"))
    assert loaded.exchanges == (before.exchanges[0], kept, before.exchanges[2])


def test_streamed_chunks_become_an_interrupted_reply_at_the_next_start(store, path):
    saved(store, chat("c1"))
    exchange = Exchange(
        "e1", "q?", (Reply("r1", thinking="I ", thinking_tokens=3, thinking_s=1.0),)
    )
    store.save_exchange(chat("c1"), exchange)
    store.append_text("r1", StreamedText("think", "", 1, 0, 0.5))
    store.append_text("r1", StreamedText(".", "So", 1, 1, 0.25, 0.125))
    store.append_text("r1", StreamedText("", " be it", 0, 2, 0.0, 0.5))
    store.close()
    opened = open_store(path, 1000.0)
    assert any("Continue" in notice for notice in opened.notices)
    loaded = opened.store.load("c1")
    assert loaded is not None
    reply = loaded.exchanges[0].reply
    assert reply is not None
    assert (reply.thinking, reply.answer) == ("I think.", "So be it")
    assert (reply.thinking_tokens, reply.answer_tokens) == (5, 3)
    assert (reply.thinking_s, reply.answer_s) == (1.75, 0.625)
    assert reply.status is ReplyStatus.INTERRUPTED
    opened.store.close()
    again = open_store(path, 1000.0)
    assert again.notices == ()
    assert again.store.load("c1") == loaded, "chunks are not added twice"
    again.store.close()


def test_an_ended_reply_is_not_doubled_by_its_chunks(store, path):
    exchange = Exchange("e1", "q?", (Reply("r1"),))
    store.save_exchange(chat("c1"), exchange)
    store.append_text("r1", StreamedText(answer="Yes"))
    store.save_reply("e1", Reply("r1", answer="Yes.", status=ReplyStatus.DONE), 0)
    loaded = load_again(store, path, "c1")
    assert loaded is not None
    reply = loaded.exchanges[0].reply
    assert reply is not None
    assert (reply.answer, reply.status) == ("Yes.", ReplyStatus.DONE)


def test_a_continued_reply_that_is_interrupted_holds_its_text_once(store, path):
    store.save_exchange(chat("c1"), Exchange("e1", "q?", (Reply("r1"),)))
    store.append_text("r1", StreamedText(answer="One "))
    stopped = Reply("r1", answer="One ", status=ReplyStatus.STOPPED)
    store.save_reply("e1", stopped, 0)
    running = replace(stopped, status=ReplyStatus.RUNNING)
    store.save_exchange(chat("c1"), Exchange("e1", "q?", (running,)))
    store.append_text("r1", StreamedText(answer="two"))
    loaded = load_again(store, path, "c1")
    assert loaded is not None
    reply = loaded.exchanges[0].reply
    assert reply is not None
    assert reply.answer == "One two"


def damage_header(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(100))


def damage_all(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def damage_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def damage_page(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xab" * 4096)


def damage_empty(path: Path) -> None:
    path.write_bytes(b"")


def damage_foreign(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    other.close()


@pytest.mark.parametrize(
    "damage",
    [damage_header, damage_all, damage_half, damage_page, damage_empty, damage_foreign],
)
@pytest.mark.parametrize("with_backup", [True, False])
def test_a_damaged_database_is_moved_aside_told_and_never_deleted(
    store, path, damage, with_backup, caplog
):
    saved(store, chat("c1", *[f"question {i}?" for i in range(50)]))
    store.close()
    open_store(path, 1000.0 + 2 * 24 * 3600).store.close()
    if not with_backup:
        backup_file(path).unlink()
    damage(path)
    bad = path.read_bytes()
    opened = open_store(path, 1000.0)
    [notice] = opened.notices
    [kept] = path.parent.glob("chats.db.damaged-*")
    assert kept.read_bytes() == bad
    assert str(kept) in notice
    assert ("it is empty" in caplog.text) is (damage is damage_empty)
    assert opened.on_disk
    assert len(opened.store.summaries()) == (1 if with_backup else 0)
    saved(opened.store, chat("c2", "still works?"))
    opened.store.close()


def test_a_newer_database_is_left_untouched_and_the_app_still_works(store, path):
    saved(store, chat("c1", "a?"))
    store.close()
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA user_version=101")
    raw.close()
    before = path.read_bytes()
    opened = open_store(path, 1000.0)
    assert not opened.on_disk
    assert "newer version" in opened.notices[0]
    saved(opened.store, chat("c2", "b?"))
    assert [s.conversation_id for s in opened.store.summaries()] == ["c2"]
    opened.store.close()
    assert path.read_bytes() == before


def test_a_folder_that_cannot_be_written_gives_a_store_in_memory_and_a_sentence(tmp_path):
    in_the_way = tmp_path / "file"
    in_the_way.write_text("not a folder")
    opened = open_store(in_the_way / "chats.db", 1000.0)
    assert not opened.on_disk
    assert "could not be opened" in opened.notices[0]
    saved(opened.store, chat("c1", "a?"))
    assert len(opened.store.summaries()) == 1
    opened.store.close()


def test_migration_runs_once_after_a_backup_of_the_old_schema(store, path):
    saved(store, chat("c1", "a?"))
    store.close()

    def add_column(db: sqlite3.Connection) -> None:
        db.execute("ALTER TABLE conversation ADD COLUMN colour INTEGER NOT NULL DEFAULT 0")

    opened = open_store(
        path, 1000.0, {SCHEMA_VERSION: add_column}, schema_version=SCHEMA_VERSION + 1
    )
    assert len(opened.store.summaries()) == 1
    opened.store.close()
    with sqlite3.connect(path.with_name(f"chats.db.schema-{SCHEMA_VERSION}")) as old:
        assert old.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,)
        assert old.execute("SELECT COUNT(*) FROM exchange").fetchone() == (1,)
    old.close()
    again = open_store(path, 1000.0, {}, schema_version=SCHEMA_VERSION + 1)
    assert again.on_disk
    again.store.close()


def test_copies_of_old_schemas_go_when_the_trash_goes(store, path):
    copy = path.with_name("chats.db.schema-1")
    copy.write_bytes(b"chats that may have been deleted since")
    kept_aside = path.with_name("chats.db.damaged-1")
    kept_aside.write_bytes(b"never deleted")
    store.close()
    now = copy.stat().st_mtime
    for later_s, there in ((TRASH_KEPT_S - 60, True), (TRASH_KEPT_S + 60, False)):
        open_store(path, now + later_s).store.close()
        assert copy.exists() is there
    assert kept_aside.exists()


def test_chats_of_the_first_schema_are_brought_up_to_date(store, path):
    store.save_exchange(chat("c1"), Exchange("e1", "q?", (Reply("r1"),)))
    store.close()
    with closing(sqlite3.connect(path)) as old:
        old.executescript(
            "DROP TABLE reply_chunk; CREATE TABLE reply_chunk (sequence INTEGER PRIMARY KEY, "
            "reply_id TEXT NOT NULL, thinking TEXT NOT NULL, answer TEXT NOT NULL);"
            "INSERT INTO reply_chunk (reply_id, thinking, answer) VALUES ('r1', 'Hm', 'So');"
            "PRAGMA user_version=1"
        )
    opened = open_store(path, 1000.0)
    assert opened.on_disk
    loaded = opened.store.load("c1")
    assert loaded is not None
    reply = loaded.exchanges[0].reply
    assert reply is not None
    assert (reply.thinking, reply.answer, reply.answer_tokens) == ("Hm", "So", 0)
    opened.store.close()


def test_chats_that_can_be_read_but_not_written_are_shown_and_left_alone(store, path, monkeypatch):
    store.save_exchange(chat("c1"), Exchange("e1", "q?", (Reply("r1"),)))
    store.close()
    before = path.read_bytes()
    recover = ConversationStore.recover_interrupted

    refused: list[ConversationStore] = []

    def full(opened: ConversationStore) -> int:
        if not refused:  # the one on disk; the copy in memory comes after it
            refused.append(opened)
            raise sqlite3.OperationalError("database or disk is full")
        return recover(opened)

    with monkeypatch.context() as patch:
        patch.setattr(ConversationStore, "recover_interrupted", full)
        patch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=0))
        opened = open_store(path, 1000.0)
    assert not opened.on_disk
    [notice] = opened.notices
    assert "the disk is full" in notice
    assert "Free some space" in notice
    loaded = opened.store.load("c1")
    assert loaded is not None
    saved(opened.store, chat("c2", "new?"))
    assert len(opened.store.summaries()) == 2
    opened.store.close()
    assert path.read_bytes() == before


def test_a_migration_that_fails_changes_nothing(store, path):
    saved(store, chat("c1", "a?"))
    store.close()

    def half_way(db: sqlite3.Connection) -> None:
        db.execute("DROP TABLE reply_chunk")
        raise sqlite3.OperationalError("database or disk is full")

    opened = open_store(path, 1000.0, {SCHEMA_VERSION: half_way}, schema_version=SCHEMA_VERSION + 1)
    assert not opened.on_disk
    opened.store.close()
    again = open_store(path, 1000.0)
    assert again.on_disk
    again.store.append_text("r", StreamedText(answer="the table is still there"))
    again.store.close()


def test_the_database_is_readable_by_the_user_alone(store, path):
    old = os.umask(0)
    try:
        saved(store, chat("c1", "a?"))
    finally:
        os.umask(old)
    for file in path.parent.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file
