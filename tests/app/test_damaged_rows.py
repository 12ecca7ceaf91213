"""One damaged row of the chat database never hides the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.conversation import ReplyStatus
from tests.app.fakes import FakeStore
from tests.app.test_conversation_store import chat, saved
from tests.gui.conftest import theme, window  # noqa: F401 - fixtures


def test_one_damaged_row_does_not_hide_the_rest(tmp_path):
    fake = FakeStore(tmp_path / "chats.db")
    saved(fake.store, chat("c1", "a?", "b?"))
    with fake.raw() as raw:
        raw.execute("UPDATE reply SET status = 'from the future' WHERE reply_id = 'c1-r0'")
        raw.execute("UPDATE reply SET answer = CAST(x'ff41' AS TEXT) WHERE reply_id = 'c1-r1'")
        raw.execute("UPDATE exchange SET chosen = 17, created_at = 'x' WHERE id = 'c1-e1'")
    raw.close()
    first, second = fake.conversation("c1").exchanges
    assert first.reply is not None
    assert first.reply.status is ReplyStatus.FAILED
    assert first.reply.answer == "Answer to a?"
    assert second.reply is not None
    assert second.reply.answer == "\ufffdA"


@pytest.mark.parametrize(
    "damage",
    [
        "updated_at = 'yesterday'",
        "updated_at = 1e300",
        "updated_at = -1e300",
        "updated_at = 9e999",
        "title = x'ff00ff'",
        "draft = x'00'",
        "created_at = x'00'",
    ],
)
def test_a_damaged_chat_is_listed_and_opened_with_the_others(
    tmp_path: Path,
    window,  # noqa: F811 - the fixture
    damage: str,
) -> None:
    fake = FakeStore(tmp_path / "chats.db")
    for chat_id in ("c1", "c2"):
        saved(fake.store, chat(chat_id, "a?"))
    with fake.raw() as raw:
        raw.execute(f"UPDATE conversation SET {damage} WHERE id = 'c1'")
    raw.close()
    window.show_conversations(fake.store.summaries(), "c2")
    assert {summary.conversation_id for summary in fake.store.summaries("a?")} == {"c1", "c2"}
    assert window.chats.list.count() == 3, "a group and two chats"
    window.show_conversation(fake.conversation("c1"))
    assert window.transcript.exchange_ids == ("c1-e0",)
