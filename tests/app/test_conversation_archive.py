"""Whole chats as data: copies under new ids, the trash emptied for good, what never enters."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from app.conversation import Conversation, Exchange, Reply, ReplyStatus, StreamedText
from app.conversation_archive import ArchivedChat, with_new_ids
from app.conversation_database import backup_file, open_store
from app.conversation_store import ConversationStore
from tests.app.test_conversation_store import FULL_REPLY, chat, saved


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chats.db"


@pytest.fixture
def store(path: Path) -> Iterator[ConversationStore]:
    opened = open_store(path, 1000.0).store
    yield opened
    opened.close()


def rich_chat(store: ConversationStore, chat_id: str = "c1") -> Conversation:
    """A chat with versions of a reply, an edited question with what followed it, and settings."""
    first = Exchange(
        f"{chat_id}-e0",
        "first?",
        (replace(FULL_REPLY, reply_id=f"{chat_id}-r0"), Reply(f"{chat_id}-r1", "t", "a")),
        0,
        left_out=True,
        created_at=3.5,
    )
    second = Exchange(f"{chat_id}-e1", "old second?", (Reply(f"{chat_id}-r2", answer="b"),))
    third = Exchange(f"{chat_id}-e2", "old third?", (Reply(f"{chat_id}-r3", answer="c"),))
    made = Conversation(
        chat_id, "Rich", (first, second, third), "a draft", 1.0, 2.0, None, True, '{"top_k": 5}'
    )
    saved(store, made)
    edited = replace(second, question="new second?", replies=(Reply(f"{chat_id}-r4"),))
    store.edit_exchange(replace(made, exchanges=(first, edited)), edited, f"{chat_id}-b1")
    return made


def counted() -> Iterator[str]:
    return (f"new-{n}" for n in itertools.count())


def test_an_archive_holds_every_version_and_branch(store):
    rich_chat(store)
    found = store.archive("c1")
    assert found is not None
    assert [(e.question, e.branch, len(e.replies)) for e in found.exchanges] == [
        ("first?", "", 2),
        ("old second?", "c1-b1", 1),
        ("old third?", "c1-b1", 1),
        ("new second?", "", 1),
    ]
    assert (found.title, found.draft, found.pinned, found.settings) == (
        "Rich",
        "a draft",
        True,
        '{"top_k": 5}',
    )
    assert found.exchanges[0].replies[0] == replace(FULL_REPLY, reply_id="c1-r0")
    assert store.archive("nowhere") is None


def test_a_copy_is_the_same_chat_under_other_ids_and_lives_on_its_own(store):
    rich_chat(store)
    original = store.archive("c1")
    ids = counted()
    copy = with_new_ids(original, lambda: next(ids))
    store.add_archives([copy])
    store.add_archives([copy])  # as the store thread does after a full disk
    assert [s.title for s in store.summaries()] == ["Rich", "Rich"]
    loaded = store.load(copy.conversation_id)
    assert loaded is not None
    [first, second] = loaded.exchanges
    assert len(second.question_versions) == 2
    branch = second.question_versions[0]
    store.restore_branch(copy.conversation_id, second.exchange_id, branch, "b9")
    again = store.load(copy.conversation_id)
    assert again is not None
    assert [e.question for e in again.exchanges] == ["first?", "old second?", "old third?"]
    assert store.archive("c1") == original, "what is done to the copy leaves the original alone"
    names = {e.exchange_id for e in copy.exchanges} | {r.reply_id for r in first.replies}
    assert not names & {e.exchange_id for e in original.exchanges}


def test_a_copy_of_a_running_reply_is_an_interrupted_one(store):
    saved(store, chat("c1"))
    store.save_exchange(chat("c1"), Exchange("e", "q?", (Reply("r"),)))
    ids = counted()
    copy = with_new_ids(store.archive("c1"), lambda: next(ids))
    assert copy.exchanges[0].replies[0].status is ReplyStatus.INTERRUPTED


def test_archives_come_in_the_order_of_the_list_and_go_back_in_it(store, tmp_path):
    for chat_id in ("a", "b", "c"):
        saved(store, chat(chat_id, "q?"))
    store.delete("b", 5.0)
    found = store.archives()
    assert [each.conversation_id for each in found] == ["c", "a"]
    with closing(open_store(tmp_path / "other.db", 1000.0).store) as other:
        other.add_archives(found)
        assert other.archives() == found


def test_the_trash_lists_what_was_deleted_last_first(store):
    for n, chat_id in enumerate(("a", "b", "c")):
        saved(store, chat(chat_id, "q?"))
        store.delete(chat_id, 10.0 + n)
    store.undo_delete("b")
    assert [(s.conversation_id, s.deleted_at) for s in store.trash()] == [("c", 12.0), ("a", 10.0)]
    assert [s.conversation_id for s in store.summaries()] == ["b"]


def test_erasing_takes_only_what_is_in_the_trash(store):
    for chat_id in ("a", "b"):
        saved(store, chat(chat_id, "q?"))
    store.delete("a", 10.0)
    store.erase(["a", "b", "nowhere"])
    assert store.load("a") is None
    assert store.load("b") is not None


def test_of_an_erased_chat_no_word_stays_on_the_disk_while_the_app_runs(store, path):
    saved(store, chat("keep", "unrelated?"))
    saved(store, chat("c1", "secretquestion?"))
    store.save_reply("c1-e0", replace(FULL_REPLY, answer="secretanswer"), 0)
    open_store(path, 1000.0).store.close()
    assert backup_file(path).exists()
    assert any(b"secret" in file.read_bytes() for file in path.parent.iterdir())
    store.delete("c1", 10.0)
    store.erase(["c1"])
    for file in path.parent.iterdir():
        content = file.read_bytes()
        assert b"secret" not in content, file
        assert b"cretan" not in content, f"{file} still has pieces of the words"
    assert b"unrelated" in backup_file(path).read_bytes()


def test_a_temporary_chat_is_refused_by_the_store_itself(store, path):
    temporary = Conversation("t", "Title", temporary=True)
    exchange = Exchange("te", "secretquestion?", (Reply("tr", answer="secretanswer"),))
    for write in (
        lambda: store.save_conversation(temporary),
        lambda: store.save_exchange(temporary, exchange),
        lambda: store.save_draft(replace(temporary, draft="secretdraft")),
        lambda: store.edit_exchange(temporary, exchange, "tb"),
    ):
        with pytest.raises(ValueError, match="is temporary"):
            write()
    with pytest.raises(Exception, match="FOREIGN KEY"):
        store.save_reply("te", exchange.replies[0], 0)
    store.append_text("tr", StreamedText(answer="secretstream"))
    for file in path.parent.iterdir():
        assert b"secret" not in file.read_bytes(), file


def test_an_empty_archive_adds_an_empty_chat(store):
    store.add_archives([ArchivedChat("c1", "Nothing yet", draft="a draft")])
    found = store.draft_conversation()
    assert found is not None
    assert found.draft == "a draft"
