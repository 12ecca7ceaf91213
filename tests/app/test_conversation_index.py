"""Full-text search: what is found, the index in step with the rows, damage, SQLite without it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app import conversation_index
from app.conversation import Conversation, Exchange, Reply, ReplyStatus, StreamedText
from app.conversation_database import open_store
from app.conversation_search import places_of, snippet_of, words_of
from app.conversation_store import ConversationStore
from tests.app.test_conversation_store import chat, saved


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture(params=["index", "scan"])
def store(path: Path, request, monkeypatch) -> Iterator[ConversationStore]:
    """With FTS5, and as on an SQLite that was built without it."""
    if request.param == "scan":
        monkeypatch.setattr(conversation_index, "has_full_text", lambda db: False)
    opened = open_store(path, 1000.0).store
    assert opened.index.usable is (request.param == "index")
    yield opened
    opened.close()


def add(
    store: ConversationStore,
    chat_id: str,
    question: str = "q?",
    answer: str = "",
    thinking: str = "",
    title: str = "",
) -> None:
    reply = Reply(f"{chat_id}-r", thinking, answer, ReplyStatus.DONE)
    saved(
        store, Conversation(chat_id, title or "T", (Exchange(f"{chat_id}-e", question, (reply,)),))
    )


def found(store: ConversationStore, search: str) -> list[str]:
    return [summary.conversation_id for summary in store.summaries(search)]


def index_agrees_with_the_rows(path: Path) -> None:
    """FTS5's own comparison of the index with the tables it speaks of; raises where they differ."""
    with closing(sqlite3.connect(path)) as db:
        for table in ("exchange_text", "reply_text"):
            db.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("scattering", ["answer"]),
        ("CATTER", ["answer"]),
        ("fourth power", ["thinking"]),
        ("tomatoes", ["question"]),
        ("holiday", ["title"]),
        ("ÄRGER", ["umlaut"]),
        ("二进制搜索", ["chinese"]),
        ("搜索", ["chinese"]),
        ("索", ["chinese"]),
        ("😀", ["emoji"]),
        ("50%", ["signs"]),
        ("a_b", ["signs"]),
        ('say "hi', ["signs"]),
        ("NEAR(x", ["signs"]),
        ("nowhere to be seen", []),
        ("aaab", []),
        ("x" * 60, ["long"]),
        ("x" * 61, []),
    ],
)
def test_titles_questions_answers_and_thinking_are_searched(store, search, expected):
    add(store, "answer", answer="Rayleigh scattering")
    add(store, "thinking", thinking="It goes with the fourth power.")
    add(store, "question", question="Which tomatoes are sweet?")
    add(store, "title", title="My holiday")
    add(store, "umlaut", answer="Das gibt Ärger.")
    add(store, "chinese", question="请问二进制搜索怎么写？")
    add(store, "emoji", answer="Well done 😀")
    add(store, "signs", answer='50% of a_b; NEAR(x) and say "hi" too')
    add(store, "near", answer="500 aXb")
    add(store, "pieces", answer="aab aaa: every three letters of another word")
    add(store, "long", answer="x" * 60)
    assert found(store, search) == expected


def test_all_words_must_be_in_the_chat_but_not_in_one_place(store):
    add(store, "both", question="Why is the sky blue?", answer="Because of Rayleigh.")
    add(store, "one", question="Why is the sky dark?")
    assert found(store, "rayleigh sky") == ["both"]
    assert found(store, '"sky blue"') == ["both"]
    assert found(store, '"blue sky"') == []


def test_a_line_around_the_place_is_told(store):
    add(store, "c1", answer="word " * 50 + "and here is the needle in the hay " + "more " * 50)
    [summary] = store.summaries("NEEDLE")
    assert "the needle in" in summary.snippet
    assert summary.snippet.startswith("…")
    assert len(summary.snippet) < 130
    add(store, "c2", title="A needle alone")
    by_id = {s.conversation_id: s.snippet for s in store.summaries("needle")}
    assert by_id["c2"] == ""


def test_pinned_chats_stand_first_also_among_what_is_found(store):
    for chat_id in ("a", "b", "c"):
        add(store, chat_id, question="the same words")
    store.set_pinned("a", True)
    assert found(store, "") == found(store, "same words") == ["a", "c", "b"]
    store.save_conversation(Conversation("a", "Renamed"))
    assert found(store, "")[0] == "a", "a later change of the chat does not take its pin away"
    store.set_pinned("a", False)
    assert [s.pinned for s in store.summaries()] == [False] * 3


def snippets(store, search):
    return [summary.snippet for summary in store.summaries(search)]


def test_what_an_edit_hides_is_found_and_said_to_be_hidden(store):
    add(store, "c1", question="an apple", answer="red fruit")
    store.edit_exchange(Conversation("c1"), Exchange("c1-e", "a pear"), "b1")
    assert snippets(store, "apple") == ["Another version: an apple"]
    assert snippets(store, "fruit") == ["Another version: red fruit"]
    assert snippets(store, "pear") == ["a pear"]
    for search in ("apple pear", "pear apple"):
        assert snippets(store, search) == ["a pear"], "what is shown comes first"
    store.restore_branch("c1", "c1-e", "b1", "b2")
    assert snippets(store, "apple") == ["an apple"]
    assert snippets(store, "pear") == ["Another version: a pear"]
    store.delete("c1", 5.0)
    assert found(store, "apple") == []


@pytest.mark.parametrize("search", ["first", "fi"])
def test_an_answer_that_is_not_the_chosen_one_is_said_to_be_hidden(store, search):
    replies = (Reply("r1", answer="the first"), Reply("r2", answer="the second"))
    exchange = Exchange("e", "Which?", replies, chosen=1)
    store.save_exchange(Conversation("c1"), exchange)
    assert snippets(store, search) == ["Another version: the first"]
    assert snippets(store, "second") == ["the second"]
    assert snippets(store, "the") == ["the second"], "what is shown comes first"
    store.set_chosen("e", 0)
    assert snippets(store, search) == ["the first"]


def test_the_way_to_a_hidden_question_leads_over_one_that_is_shown(store):
    chat = Conversation("c1")
    for number in range(3):
        store.save_exchange(
            chat, Exchange(f"e{number}", f"question {number}", (Reply(f"r{number}"),))
        )
    store.edit_exchange(chat, Exchange("e2", "a pear"), "b1")  # hides question 2
    store.edit_exchange(chat, Exchange("e1", "an apple"), "b2")  # hides question 1 and the pear
    assert store.hidden_versions("c1", "apple") == []
    assert store.hidden_versions("c1", "nowhere") == []
    [(exchange_id, index)] = store.hidden_versions("c1", '"question 1"')
    shown = next(e for e in store.load("c1").exchanges if e.exchange_id == exchange_id)
    assert (exchange_id, shown.question_versions[index]) == ("e1", "b2")
    # Of two edits, one in what the other hides, the outer one is the way to both.
    assert store.hidden_versions("c1", "pear") == [("e1", index)]
    assert store.hidden_versions("c1", '"question 2"') == [("e1", index)]
    assert store.hidden_versions("c1", "question pear") == [("e1", index)], "told once"
    store.restore_branch("c1", "e1", "b2", "b3")
    assert [place[0] for place in store.hidden_versions("c1", '"question 2"')] == ["e2"]
    assert store.hidden_versions("c1", "pear") == []


def test_the_index_follows_every_way_a_row_can_change(path):
    store = open_store(path, 1000.0).store
    add(store, "c1", question="alpha", answer="beta", thinking="gamma")
    running = Exchange("c1-e2", "delta", (Reply("c1-r2"),))
    store.save_exchange(Conversation("c1"), running)
    store.append_text("c1-r2", StreamedText(thinking="epsilon", answer="zeta"))
    store.save_reply("c1-e", Reply("c1-r", "gamma", "eta", ReplyStatus.DONE), 0)
    store.edit_exchange(Conversation("c1"), Exchange("c1-e2", "theta"), "b1")
    assert (found(store, "beta"), found(store, "eta")) == ([], ["c1"])
    index_agrees_with_the_rows(path)
    store.close()
    store = open_store(path, 1000.0).store
    store.restore_branch("c1", "c1-e2", "b1", "b2")
    assert found(store, "epsilon") == ["c1"], "what had been streamed before a crash is indexed"
    store.delete("c1", 5.0)
    store.erase(["c1"])
    index_agrees_with_the_rows(path)
    with closing(sqlite3.connect(path)) as db:
        [left] = db.execute("SELECT COUNT(*) FROM reply_text WHERE reply_text MATCH '\"eta\"'")
    assert left == (0,)
    store.close()


def test_a_database_made_without_full_text_gets_its_index_later(path, monkeypatch):
    with monkeypatch.context() as without:
        without.setattr(conversation_index, "has_full_text", lambda db: False)
        store = open_store(path, 1000.0).store
        add(store, "c1", answer="written without an index")
        store.close()
    store = open_store(path, 1000.0).store
    assert store.index.usable
    assert found(store, "without an index") == ["c1"]
    index_agrees_with_the_rows(path)
    store.close()


def test_a_database_with_an_index_still_works_where_full_text_is_missing(path, monkeypatch):
    store = open_store(path, 1000.0).store
    add(store, "c1", answer="an old answer")
    store.close()
    with monkeypatch.context() as without:
        without.setattr(conversation_index, "has_full_text", lambda db: False)
        store = open_store(path, 1000.0).store
        add(store, "c2", answer="a new answer")
        assert sorted(found(store, "answer")) == ["c1", "c2"]
        store.close()
    store = open_store(path, 1000.0).store
    assert sorted(found(store, "answer")) == ["c1", "c2"]
    index_agrees_with_the_rows(path)
    store.close()


def test_a_damaged_index_is_made_anew_and_no_chat_is_lost(path):
    store = open_store(path, 1000.0).store
    add(store, "c1", answer="the answer of old")
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("DELETE FROM reply_text_data WHERE id = 10")
        db.commit()
    store = open_store(path, 1000.0).store
    assert found(store, "answer of old") == ["c1"]
    index_agrees_with_the_rows(path)
    store.close()


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM reply_text_data WHERE id = 10",
        "UPDATE reply_text_data SET block = x'00ff00ff' WHERE id = 10",
    ],
)
def test_a_write_that_a_damaged_index_refuses_succeeds_when_it_is_repeated(path, damage):
    store = open_store(path, 1000.0).store
    add(store, "c1", answer="the answer of old")
    with closing(sqlite3.connect(path)) as db:
        db.execute(damage)
        db.commit()
    changed = Reply("c1-r", "", "the answer of now", ReplyStatus.DONE)
    with pytest.raises(sqlite3.DatabaseError) as refused:
        store.save_reply("c1-e", changed, 0)
    assert type(refused.value) is sqlite3.DatabaseError, "an IntegrityError would not be repeated"
    store.save_reply("c1-e", changed, 0)
    assert found(store, "answer of now") == ["c1"]
    index_agrees_with_the_rows(path)
    store.close()


SCHEMA_2 = """
CREATE TABLE conversation (id TEXT PRIMARY KEY, title TEXT NOT NULL,
  draft TEXT NOT NULL DEFAULT '', created_at REAL NOT NULL, updated_at REAL NOT NULL,
  deleted_at REAL, activity INTEGER NOT NULL);
CREATE TABLE exchange (sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
  conversation_id TEXT NOT NULL REFERENCES conversation(id) ON DELETE CASCADE,
  question TEXT NOT NULL, chosen INTEGER NOT NULL, left_out INTEGER NOT NULL,
  created_at REAL NOT NULL, branch TEXT NOT NULL DEFAULT '');
CREATE INDEX exchange_of_conversation ON exchange(conversation_id, branch, sequence);
CREATE TABLE reply (sequence INTEGER PRIMARY KEY AUTOINCREMENT, reply_id TEXT NOT NULL UNIQUE,
  exchange_id TEXT NOT NULL REFERENCES exchange(id) ON DELETE CASCADE ON UPDATE CASCADE,
  thinking TEXT NOT NULL, answer TEXT NOT NULL, status TEXT NOT NULL, finish_reason TEXT NOT NULL,
  error_text TEXT NOT NULL, model TEXT NOT NULL, thinking_enabled INTEGER NOT NULL,
  thinking_closed INTEGER NOT NULL, thinking_s REAL NOT NULL, answer_s REAL NOT NULL,
  thinking_tokens INTEGER NOT NULL, answer_tokens INTEGER NOT NULL, prompt_tokens INTEGER NOT NULL,
  seed INTEGER NOT NULL, prefill_tokens_per_s REAL NOT NULL, decode_tokens_per_s REAL NOT NULL);
CREATE INDEX reply_of_exchange ON reply(exchange_id, sequence);
CREATE TABLE reply_chunk (sequence INTEGER PRIMARY KEY, reply_id TEXT NOT NULL,
  thinking TEXT NOT NULL, answer TEXT NOT NULL, thinking_tokens INTEGER NOT NULL,
  answer_tokens INTEGER NOT NULL, thinking_s REAL NOT NULL, answer_s REAL NOT NULL);
PRAGMA application_id=0x54505443;
PRAGMA user_version=2;
"""


def test_a_database_of_the_version_before_keeps_every_row_and_becomes_searchable(path):
    with closing(sqlite3.connect(path)) as old:
        old.executescript(SCHEMA_2)
        for n in range(20):
            deleted = 900.0 if n == 19 else None
            old.execute(
                "INSERT INTO conversation VALUES (?, ?, 'a draft', 1, 2, ?, ?)",
                (f"c{n}", f"Title {n}", deleted, n),
            )
            old.execute(
                "INSERT INTO exchange VALUES (NULL, ?, ?, ?, 0, 0, 3, '')",
                (f"e{n}", f"c{n}", f"question {n}?"),
            )
            old.execute(
                "INSERT INTO reply VALUES (NULL, ?, ?, ?, ?, 'done', 'end', '', 'm', 1, 1, "
                "1.5, 2.5, 3, 4, 5, 6, 7.5, 8.5)",
                (f"r{n}", f"e{n}", f"thought {n}.", f"answer {n}."),
            )
        old.execute("INSERT INTO reply_chunk VALUES (NULL, 'r0', 'a', 'b', 1, 1, 0.5, 0.5)")
        old.execute("UPDATE reply SET status = 'running' WHERE reply_id = 'r0'")
        old.commit()
    opened = open_store(path, 1000.0)
    assert opened.on_disk
    store = opened.store
    assert len(store.summaries()) == 19
    assert [s.conversation_id for s in store.trash()] == ["c19"]
    for n in range(1, 20):
        loaded = store.load(f"c{n}")
        assert loaded is not None
        reply = Reply(
            f"r{n}", f"thought {n}.", f"answer {n}.", ReplyStatus.DONE, "end", "", "m", True, True,
            1.5, 2.5, 3, 4, 5, 6, 7.5, 8.5,
        )  # fmt: skip
        exchange = Exchange(f"e{n}", f"question {n}?", (reply,), created_at=3.0)
        deleted = 900.0 if n == 19 else None
        expected = Conversation(f"c{n}", f"Title {n}", (exchange,), "a draft", 1.0, 2.0, deleted)
        assert loaded == expected
    assert found(store, '"thought 7."') == ["c7"]
    assert found(store, '"answer 0.b"') == ["c0"], "what had been streamed belongs to it"
    store.close()
    index_agrees_with_the_rows(path)


@pytest.mark.parametrize(
    ("search", "words"),
    [
        ("", ()),
        ("   ", ()),
        ("sky blue", ("sky", "blue")),
        ("Sky sky SKY", ("Sky",)),
        ('"sky blue" sea', ("sky blue", "sea")),
        ("“天空 蓝”", ("天空 蓝",)),
        ('say "hi', ("say", '"hi')),
        ('""', ('""',)),
        ("a\0b", ("a", "b")),
    ],
)
def test_words_of_a_search(search, words):
    assert words_of(search) == words


def test_places_prefer_the_longer_word_and_do_not_overlap():
    assert places_of(("sun", "sunset"), "Sunset and SUN") == [(0, 6), (11, 14)]
    assert places_of((), "text") == []
    assert places_of(("a.c",), "abc a.c") == [(4, 7)]


def test_a_snippet_is_one_line():
    assert snippet_of(("b",), "a\n\n  b\tc") == "a b c"
    assert snippet_of(("zz",), "the beginning") == "the beginning"


def test_a_reply_that_is_stored_again_unchanged_is_not_indexed_again(path):
    store = open_store(path, 1000.0).store
    sample = chat("c1", "one?")
    saved(store, sample)
    with closing(sqlite3.connect(path)) as db:
        before = db.execute("SELECT COUNT(*) FROM reply_text_data").fetchone()
    for n in range(20):
        store.save_exchange(replace(sample, updated_at=float(n)), sample.exchanges[0])
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT COUNT(*) FROM reply_text_data").fetchone() == before
    store.close()
