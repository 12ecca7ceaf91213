"""The writer thread: order, gathering, full disk, orderly close, and kill -9 while streaming."""

from __future__ import annotations

import os
import queue
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.conversation import Conversation, Exchange, Reply, ReplyStatus, StreamedText
from app.conversation_database import open_store
from app.conversation_store import ConversationStore
from app.store_thread import StoreOpened, StoreThread, StoreTrouble

ROOT = Path(__file__).resolve().parents[2]


class Owner:
    """Plays the GUI thread: carries out what the store thread delivers."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path = path
        self.calls: queue.Queue[Callable[[], None]] = queue.Queue()
        self.events: list[StoreOpened | StoreTrouble] = []
        self.thread = StoreThread(path, self.calls.put, self.events.append, **options)
        self.thread.start()

    def turn(self) -> None:
        self.calls.get(timeout=20)()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self.turn()

    def read(self, read: Callable[[ConversationStore], Any]) -> Any:
        answers: list[Any] = []
        self.thread.read(read, answers.append)
        self.wait_until(lambda: bool(answers))
        return answers[0]


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Owner]:
    made = Owner(tmp_path / "chats.db", retry_every_s=0.02)
    yield made
    made.thread.close(20.0)


CHAT = Conversation("c1", "T")


def begin(owner: Owner) -> None:
    exchange = Exchange("e1", "q?", (Reply("r1"),))
    owner.thread.write(lambda store: store.save_exchange(CHAT, exchange))


def test_opening_is_told_first(owner):
    owner.turn()
    assert owner.events == [StoreOpened(True, ())]


def test_a_read_sees_every_write_before_it(owner):
    for i in range(20):
        exchange = Exchange(f"e{i}", f"q{i}?")
        owner.thread.write(lambda store, e=exchange: store.save_exchange(CHAT, e))
    loaded = owner.read(lambda store: store.load("c1"))
    assert [e.question for e in loaded.exchanges] == [f"q{i}?" for i in range(20)]


def test_streamed_text_is_gathered_and_keeps_its_place_in_the_order(tmp_path):
    owner = Owner(tmp_path / "chats.db", flush_every_s=3600.0)
    begin(owner)
    for word in ("a ", "b ", "c"):
        owner.thread.append_text("r1", StreamedText(answer=word))
    chunks = owner.read(lambda s: s._db.execute("SELECT answer FROM reply_chunk").fetchall())
    assert [row[0] for row in chunks] == ["a b c"], "one row, written because a read came after it"
    owner.thread.append_text("r1", StreamedText(thinking="late"))
    assert owner.thread.close(20.0)
    store = open_store(owner.path, 0.0).store
    loaded = store.load("c1")
    assert loaded is not None
    assert loaded.exchanges[0].reply.thinking == "late"
    store.close()


def test_text_is_written_about_once_a_second_without_being_asked(tmp_path):
    owner = Owner(tmp_path / "chats.db", flush_every_s=0.05)
    owner.turn()  # opened
    begin(owner)
    owner.thread.append_text("r1", StreamedText(answer="by itself"))
    watcher = sqlite3.connect(f"file:{owner.path}?mode=ro", uri=True, timeout=20)
    rows: list[Any] = []
    while not rows:  # the test's own time limit ends this if nothing is ever written
        rows = watcher.execute("SELECT answer FROM reply_chunk").fetchall()
    watcher.close()
    assert rows == [("by itself",)]
    assert owner.thread.close(20.0)


def test_drafts_are_kept_on_close(tmp_path):
    owner = Owner(tmp_path / "chats.db", flush_every_s=3600.0)
    owner.thread.save_draft(Conversation("c9", draft="hal"))
    owner.thread.save_draft(Conversation("c9", draft="half"))
    assert owner.thread.close(20.0)
    store = open_store(owner.path, 0.0).store
    found = store.draft_conversation()
    assert found is not None
    assert found.draft == "half"
    store.close()


def test_a_full_disk_is_told_once_and_nothing_is_lost_when_there_is_room_again(owner):
    begin(owner)
    owner.read(lambda s: s._db.execute("PRAGMA wal_checkpoint(TRUNCATE)"))
    owner.read(lambda s: s._db.execute("PRAGMA max_page_count=1"))
    big = "x" * 100_000
    owner.thread.append_text("r1", StreamedText(answer=big))
    done = Reply("r1", answer=big, status=ReplyStatus.DONE)
    owner.thread.write(lambda store: store.save_reply("e1", done, 0))
    owner.wait_until(lambda: any(isinstance(e, StoreTrouble) for e in owner.events))
    trouble = owner.events[-1]
    assert isinstance(trouble, StoreTrouble)
    assert "disk is full" in trouble.text
    # Room again: the limit goes away from the side, as a disk that was cleaned would.
    owner.thread._work.appendleft(lambda s: s._db.execute("PRAGMA max_page_count=1000000"))
    owner.wait_until(lambda: owner.events[-1] == StoreTrouble(""))
    loaded = owner.read(lambda store: store.load("c1"))
    assert loaded.exchanges[0].reply.answer == big
    assert sum(isinstance(e, StoreTrouble) and bool(e.text) for e in owner.events) == 1


def test_closing_with_a_full_disk_says_that_not_all_was_written(tmp_path):
    owner = Owner(tmp_path / "chats.db", retry_every_s=0.02)
    owner.read(lambda s: s._db.execute("PRAGMA max_page_count=1"))
    exchange = Exchange("e1", "x" * 100_000)
    owner.thread.write(lambda store: store.save_exchange(CHAT, exchange))
    assert owner.thread.close(20.0) is False


@pytest.mark.slow
def test_a_slow_disk_is_waited_for_as_long_as_it_gets_on(tmp_path):
    owner = Owner(tmp_path / "chats.db")
    begin(owner)
    for number in range(12):
        owner.thread.write(lambda store: time.sleep(0.5))
        owner.thread.append_text("r1", StreamedText(f"{number} ", ""))
    assert owner.thread.close(5.0), "all of it takes longer than that, no single write does"
    store = open_store(tmp_path / "chats.db", 0.0).store
    stored = store.load("c1").exchanges[0].reply.thinking
    store.close()
    assert stored == "".join(f"{number} " for number in range(12))


def test_a_disk_that_hangs_is_not_waited_for_without_end(tmp_path):
    owner = Owner(tmp_path / "chats.db")
    disk_answers = threading.Event()
    owner.thread.write(lambda store: disk_answers.wait(60))
    begin(owner)
    assert owner.thread.close(0.3) is False
    disk_answers.set()
    assert owner.thread.close(20.0)


def test_a_write_that_can_never_succeed_does_not_block_the_others(owner):
    owner.thread.write(lambda store: store.save_reply("no such exchange", Reply("r9"), 0))
    owner.thread.write(lambda store: store.rename("c1", "a\ud800"))
    begin(owner)
    assert owner.read(lambda store: store.load("c1")) is not None


STREAMER = """
import sys, time, queue
from pathlib import Path
from app.conversation import Conversation, Exchange, Reply, StreamedText
from app.store_thread import StoreThread

thread = StoreThread(Path(sys.argv[1]), lambda call: None, lambda event: None)
thread.start()
chat = Conversation("c1", "T")
done = queue.Queue()
for n in range(3):
    exchange = Exchange(f"e{n}", f"question {n}", (Reply(f"r{n}"),))
    thread.write(lambda store, e=exchange: (store.save_exchange(chat, e), done.put(1)))
    done.get()
    print(f"asked {n} 0", flush=True)
number = 0
while True:
    thread.append_text("r2", StreamedText(answer=f"{number} "))
    print(f"said {number} {time.monotonic()}", flush=True)
    number += 1
    time.sleep(0.01)
"""


@pytest.mark.parametrize("lines", [3, 4, 90, pytest.param(260, marks=pytest.mark.slow)])
def test_kill_9_loses_no_question_and_at_most_the_last_second_of_an_answer(tmp_path, lines):
    path = tmp_path / "chats.db"
    child = subprocess.Popen(
        [sys.executable, "-c", STREAMER, str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert child.stdout is not None
    said = [child.stdout.readline().split() for _ in range(lines)]
    os.kill(child.pid, signal.SIGKILL)
    said += [line.split() for line in child.stdout.read().splitlines()]
    child.stdout.close()
    child.wait()
    store = open_store(path, 0.0).store
    loaded = store.load("c1")
    store.close()
    assert loaded is not None
    assert [e.question for e in loaded.exchanges] == [f"question {n}" for n in range(3)]
    reply = loaded.exchanges[2].reply
    assert reply is not None
    assert reply.status is ReplyStatus.INTERRUPTED
    kept = len(reply.answer.split())
    assert reply.answer == "".join(f"{n} " for n in range(kept)), "no hole and no repetition"
    times = [float(line[2]) for line in said if line[0] == "said" and len(line) == 3]
    # One second of gathering; the rest is room for a slow disk and a busy machine.
    lost_s = times[-1] - times[kept] if kept < len(times) else 0.0
    assert lost_s <= 1.0 + 1.0
    if lines == 260:
        assert kept > 0
