"""Full-text search over the chats: FTS5 tables beside the rows, kept in step by triggers.

The index holds no text of its own (external content) and can be built anew from the rows at any
time, so nothing is lost with it: it is made wherever it is missing, whatever schema the database
came from. Trigrams find parts of words and Chinese, where no blanks stand between words. The index
knows only which trigrams a row has, not where (detail=none: a quarter of the size, a third of the
time), so that each row it names is looked at. Words of one or two characters, and all words on an
SQLite without FTS5, are looked for in every row.
"""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import dataclass

from app.conversation_rows import text_of
from app.conversation_search import holds, snippet_of
from app.language import translate

logger = logging.getLogger(__name__)

SHORTEST_INDEXED = 3
"""Characters that a word must have to be found through trigrams."""


MOST_TRIGRAMS = 32
"""Characters of a long word that are looked for in the index; the row itself decides."""


@dataclass(frozen=True, slots=True)
class _Indexed:
    """A table whose texts are searched."""

    table: str
    columns: tuple[str, ...]
    hidden: str
    """SQL: whether the row t, of the exchange e, is of a version that is not shown."""

    @property
    def index(self) -> str:
        """Name of its full-text table."""
        return f"{self.table}_text"

    @property
    def triggers(self) -> tuple[str, ...]:
        """Names of the triggers that keep the index in step."""
        return tuple(f"{self.index}_{event}" for event in ("insert", "delete", "update"))

    @property
    def statements(self) -> tuple[str, ...]:
        """SQL that makes the index with its triggers and fills it."""
        index, names = self.index, ", ".join(self.columns)
        new, old = (", ".join(f"{r}.{name}" for name in self.columns) for r in ("new", "old"))
        add = f"INSERT INTO {index} (rowid, {names}) VALUES (new.sequence, {new});"
        # The old values must be told exactly: the index could not find them by itself.
        remove = (
            f"INSERT INTO {index} ({index}, rowid, {names}) VALUES ('delete', old.sequence, {old});"
        )
        changed = " OR ".join(f"old.{name} IS NOT new.{name}" for name in self.columns)
        on_insert, on_delete, on_update = self.triggers
        return (
            f"CREATE VIRTUAL TABLE {index} USING fts5({names}, content='{self.table}', "
            "content_rowid='sequence', tokenize='trigram', detail='none')",
            f"CREATE TRIGGER {on_insert} AFTER INSERT ON {self.table} BEGIN {add} END",
            f"CREATE TRIGGER {on_delete} AFTER DELETE ON {self.table} BEGIN {remove} END",
            f"CREATE TRIGGER {on_update} AFTER UPDATE OF {names} ON {self.table} "
            f"WHEN {changed} BEGIN {remove} {add} END",
            f"INSERT INTO {index} ({index}) VALUES ('rebuild')",
        )


_INDEXED = (
    _Indexed("exchange", ("question",), "e.branch != ''"),
    _Indexed(
        "reply",
        ("thinking", "answer"),
        "e.branch != '' OR e.chosen != (SELECT COUNT(*) FROM reply o "
        "WHERE o.exchange_id = t.exchange_id AND o.sequence < t.sequence)",
    ),
)

_AFTER_ALL = 1 << 62
"""More than any sequence."""


@dataclass(frozen=True, slots=True)
class _Place:
    """A row that holds a word, and whether it is of a version that is not shown."""

    table: str
    sequence: int
    is_hidden: bool


def has_full_text(db: sqlite3.Connection) -> bool:
    """Whether this SQLite has FTS5 with trigrams."""
    try:
        db.execute("CREATE VIRTUAL TABLE temp.full_text_probe USING fts5(x, tokenize='trigram')")
        db.execute("DROP TABLE temp.full_text_probe")
    except sqlite3.Error:
        return False
    return True


def is_index_damage(error: BaseException) -> bool:
    """Whether a write or a search failed on the index itself; broken rules of our own tables have
    a name in their message.
    """
    broken_rule = isinstance(error, sqlite3.IntegrityError) and str(error) == "constraint failed"
    return type(error) is sqlite3.DatabaseError or broken_rule


class ConversationIndex:
    """Finds chats by words; builds its tables when it is made, where they are missing."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._usable = False
        db.create_function("holds", 2, _holds, deterministic=True)
        try:
            self._ensure()
        except sqlite3.Error:
            # Without an index (a full disk) every row is looked at; the chats themselves work.
            logger.exception("the search index could not be made")

    @property
    def usable(self) -> bool:
        """Whether words are found through FTS5."""
        return self._usable

    def _ensure(self) -> None:
        if not has_full_text(self._db):
            # A trigger that is left would fail every write; the next start with FTS5 builds anew.
            self._drop_triggers()
            return
        there = {row[0] for row in self._db.execute("SELECT name FROM sqlite_master")}
        wanted = {name for each in _INDEXED for name in (each.index, *each.triggers)}
        if not wanted <= there or not self._can_be_read():
            self.rebuild()
        self._usable = True

    def _can_be_read(self) -> bool:
        try:
            for each in _INDEXED:
                self._db.execute(f"SELECT rowid FROM {each.index} LIMIT 1").fetchall()
        except sqlite3.DatabaseError as error:
            if not is_index_damage(error):
                raise
            return False
        return True

    def rebuild(self) -> None:
        """Make the index anew from the rows, as where it was found damaged."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._drop_triggers()
            for each in _INDEXED:
                self._drop(each.index)
                for statement in each.statements:
                    self._db.execute(statement)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise

    def _drop(self, index: str) -> None:
        try:
            self._db.execute(f"DROP TABLE IF EXISTS {index}")
        except sqlite3.DatabaseError:
            # FTS5 must be able to read its record of segments (10) before it can drop itself.
            empty = "INSERT OR REPLACE INTO {}_data VALUES (10, zeroblob(5))"
            self._db.execute(empty.format(index))
            self._db.execute(f"DROP TABLE IF EXISTS {index}")

    def _drop_triggers(self) -> None:
        for each in _INDEXED:
            for trigger in each.triggers:
                self._db.execute(f"DROP TRIGGER IF EXISTS {trigger}")

    def forget_deleted(self) -> None:
        """Take the words of erased chats out of the index's pages, where they would linger."""
        if self._usable:
            for each in _INDEXED:
                self._db.execute(f"INSERT INTO {each.index} ({each.index}) VALUES ('optimize')")

    def find(self, words: tuple[str, ...]) -> dict[str, str]:
        """Ids of the chats that hold every word somewhere (title, question, answer or thinking, of
        versions that are not shown too), each with a line around a place of it, one that is shown
        if there is one; "" where only the title holds them.
        """
        try:
            return self._find(words)
        except sqlite3.DatabaseError as error:
            if not is_index_damage(error):
                raise
            logger.exception("the search index is damaged and is made anew")
            self.rebuild()
            return self._find(words)

    def _find(self, words: tuple[str, ...]) -> dict[str, str]:
        titled: set[str] | None = None
        places: dict[str, _Place] = {}
        for word in words:
            found = self._places(word)
            ids = found.keys() | self._titles(word)
            titled = ids if titled is None else titled & ids
            for chat, place in found.items():
                places[chat] = min(place, places.get(chat, place), key=lambda each: each.is_hidden)
        return {
            chat: self._snippet(words, places[chat]) if chat in places else ""
            for chat in titled or ()
        }

    def _titles(self, word: str) -> set[str]:
        rows = self._db.execute(
            "SELECT id FROM conversation WHERE holds(CAST(title AS BLOB), ?)", (word,)
        )
        return {row[0] for row in rows}

    def _places(self, word: str) -> dict[str, _Place]:
        """By chat: the first place, what is shown before what is not, a question before an
        answer.
        """
        places: dict[str, tuple[int, _Place]] = {}
        through_index = self._usable and len(word) >= SHORTEST_INDEXED
        for each in _INDEXED:
            source = f"{each.table} t"
            condition = " OR ".join(f"holds(CAST(t.{c} AS BLOB), :word)" for c in each.columns)
            if through_index:
                source = f"{each.index} JOIN {each.table} t ON t.sequence = {each.index}.rowid"
                condition = f"{each.index} MATCH :trigrams AND ({condition})"
            exchange = "id" if each.table == "exchange" else "exchange_id"
            rows = self._db.execute(
                # SQLite takes the other columns from the row that has the least.
                f"SELECT e.conversation_id, MIN(({each.hidden}) * {_AFTER_ALL} + e.sequence), "
                f"t.sequence FROM {source} JOIN exchange e ON e.id = t.{exchange} "
                f"WHERE ({condition}) GROUP BY e.conversation_id",
                {"word": word, "trigrams": _trigrams(word)},
            )
            for chat, at, sequence in rows:
                if chat not in places or at < places[chat][0]:
                    places[chat] = (at, _Place(each.table, sequence, at >= _AFTER_ALL))
        return {chat: place for chat, (_, place) in places.items()}

    def hidden_in(self, conversation_id: str, words: tuple[str, ...]) -> list[tuple[str, str]]:
        """Where edits of a chat hide a word: the edited exchange that is shown, and the branch of
        its wording that leads there.
        """
        query = "SELECT id, branch FROM exchange WHERE conversation_id = ?"
        branches: dict[str, str] = dict(self._db.execute(query, (conversation_id,)).fetchall())
        edited = {id_.partition("@")[2]: id_.partition("@")[0] for id_ in branches if "@" in id_}
        found: dict[tuple[str, str], None] = {}
        for branch in self._hidden_branches(conversation_id, words):
            # An edit may lie in what another one hides: out to the one that is shown.
            for _ in edited:
                if not branches.get(edited.get(branch, "")):
                    break
                branch = branches[edited[branch]]
            found[edited.get(branch, ""), branch] = None
        return list(found)

    def _hidden_branches(self, conversation_id: str, words: tuple[str, ...]) -> list[str]:
        found: dict[str, None] = {}
        for word in words:
            rows = self._db.execute(
                "SELECT e.branch FROM exchange e WHERE e.conversation_id = :chat AND "
                "e.branch != '' AND (holds(CAST(e.question AS BLOB), :word) OR EXISTS (SELECT 1 "
                "FROM reply r WHERE r.exchange_id = e.id AND (holds(CAST(r.answer AS BLOB), :word) "
                "OR holds(CAST(r.thinking AS BLOB), :word)))) ORDER BY e.sequence",
                {"chat": conversation_id, "word": word},
            )
            found |= dict.fromkeys(row[0] for row in rows)
        return list(found)

    def _snippet(self, words: tuple[str, ...], place: _Place) -> str:
        line = self._line(words, place.table, place.sequence)
        if not place.is_hidden:
            return line
        return translate("Chats", "Another version: {text}").format(text=line)

    def _line(self, words: tuple[str, ...], table: str, sequence: int) -> str:
        if table == "exchange":
            query = "SELECT question, '' FROM exchange WHERE sequence = ?"
        else:
            query = "SELECT answer, thinking FROM reply WHERE sequence = ?"
        first, second = map(text_of, self._db.execute(query, (sequence,)).fetchone())
        in_first = any(holds(first, word) for word in words)
        return snippet_of(words, first if in_first else second)


def _trigrams(word: str) -> str:
    """A query for the rows that have every trigram of the word, in whatever order."""
    found = dict.fromkeys(word[at : at + 3] for at in range(min(len(word), MOST_TRIGRAMS) - 2))
    return " AND ".join('"' + each.replace('"', '""') + '"' for each in found)


def _holds(value: bytes | None, word: str) -> bool:
    return value is not None and holds(value.decode("utf-8", "replace"), word)
