"""Opens the chat database: makes it, migrates it after a backup, and moves a damaged one aside.

A damaged file is never deleted and never silently replaced by an empty history: it is renamed, the
last backup takes its place where there is one, and a sentence tells the user.
"""

from __future__ import annotations

import logging
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from app.conversation_schema import APPLICATION_ID, MIGRATIONS, SCHEMA, SCHEMA_VERSION, Migration
from app.conversation_store import ConversationStore
from app.fault_text import database_reason
from app.store_text import damaged_text, interrupted_text, newer_text, not_opened_text

logger = logging.getLogger(__name__)

BACKUP_EVERY_S = 24 * 3600.0
TRASH_KEPT_S = 30 * 24 * 3600.0
_BUSY_TIMEOUT_S = 10.0
_ROOM_TO_OPEN_BYTES = 1 << 20


class NewerDatabase(Exception):
    """The database was written by a later version of the app (`found`, `supported`)."""

    def __init__(self, found: int, supported: int) -> None:
        super().__init__(f"schema version {found} found, {supported} supported")
        self.found = found
        self.supported = supported


class DamagedDatabase(Exception):
    """The file is not a sound database of ours (`reason`)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """The store, whether it lies on disk, and what the user has to be told."""

    store: ConversationStore
    on_disk: bool
    notices: tuple[str, ...] = ()


def open_store(
    path: Path,
    now: float,
    migrations: dict[int, Migration] | None = None,
    schema_version: int = SCHEMA_VERSION,
) -> OpenedStore:
    """Open the database, whatever is in its place; the worst case is a store in memory."""
    notices: list[str] = []
    steps = MIGRATIONS if migrations is None else migrations
    try:
        try:
            connection = _open_sound(path, steps, schema_version)
        except DamagedDatabase as error:
            notices.append(_replace_damaged(path, error.reason))
            connection = _open_sound(path, steps, schema_version)
        store = ConversationStore(connection)
        store.erased = partial(_renew_backup, connection, path)
        interrupted = _recover(store, now)
    except NewerDatabase:
        notices.append(newer_text(path))
        return OpenedStore(memory_store(schema_version), False, tuple(notices))
    except (OSError, sqlite3.Error) as error:
        copy = _copy_in_memory(path, schema_version)
        notices.append(_not_opened_text(path, error, shown=copy is not None))
        in_memory = copy if copy is not None else memory_store(schema_version)
        return OpenedStore(in_memory, False, tuple(notices))
    if interrupted:
        notices.append(interrupted_text())
    _backup_when_old(connection, path, now)
    _drop_old_copies(path, now)
    return OpenedStore(store, True, tuple(notices))


def _recover(store: ConversationStore, now: float) -> int:
    """Settle what the last session left; returns how many replies it left running."""
    try:
        interrupted = store.recover_interrupted()
        store.purge_trash(now - TRASH_KEPT_S)
    except BaseException:
        store.close()
        raise
    return interrupted


def _not_opened_text(path: Path, error: OSError | sqlite3.Error, *, shown: bool) -> str:
    logger.warning("the chat database cannot be opened: %s", error)
    try:
        is_full = shutil.disk_usage(path.parent).free < _ROOM_TO_OPEN_BYTES
    except OSError:
        is_full = False
    return not_opened_text(path, database_reason(error), disk_full=is_full, shown=shown)


def _copy_in_memory(path: Path, schema_version: int) -> ConversationStore | None:
    """The chats of a file that can be read but not written; None where it cannot be read."""
    try:
        # immutable: SQLite then makes no lock and no log beside the file.
        uri = f"{path.absolute().as_uri()}?immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as source:
            _check(source, schema_version)
            if source.execute("PRAGMA user_version").fetchone()[0] != schema_version:
                return None
            copy = _connect(":memory:")
            source.backup(copy)
        store = ConversationStore(copy)
        store.recover_interrupted()
    except (OSError, sqlite3.Error, DamagedDatabase, NewerDatabase):
        return None
    return store


def memory_store(
    schema_version: int = SCHEMA_VERSION, *, keeps_temporary: bool = False
) -> ConversationStore:
    """An empty store that is gone with the process and writes no file at any time."""
    connection = _connect(":memory:")
    # Large sorts would go to a temporary file otherwise.
    connection.execute("PRAGMA temp_store=MEMORY")
    _create(connection, schema_version)
    return ConversationStore(connection, keeps_temporary=keeps_temporary)


def _connect(name: str) -> sqlite3.Connection:
    # The store thread alone uses it; autocommit, since transactions are written out in the store.
    connection = sqlite3.connect(
        name, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    # One invalid byte must not make a whole chat unreadable.
    connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA secure_delete=ON")
    return connection


def _create(connection: sqlite3.Connection, schema_version: int) -> None:
    connection.executescript(
        f"BEGIN;{SCHEMA}PRAGMA application_id={APPLICATION_ID};"
        f"PRAGMA user_version={schema_version};COMMIT;"
    )


def _open_sound(
    path: Path, migrations: dict[int, Migration], schema_version: int
) -> sqlite3.Connection:
    """Open, check and migrate; raises DamagedDatabase, NewerDatabase, OSError, sqlite3.Error."""
    if not path.exists():
        _make_new(path, schema_version)
    # SQLite takes an empty file for a new database: the history would be gone without a word.
    if path.stat().st_size == 0:
        raise DamagedDatabase("it is empty")
    connection = _connect(str(path))
    try:
        _check(connection, schema_version)
        connection.execute("PRAGMA journal_mode=WAL")
        _migrate(connection, path, migrations, schema_version)
    except BaseException as error:
        connection.close()
        # OperationalError is a full disk or a lock; its parent is a file that is no database.
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(
            error, sqlite3.OperationalError
        ):
            raise DamagedDatabase(str(error)) from error
        raise
    return connection


def _make_new(path: Path, schema_version: int) -> None:
    """Make an empty history under another name first, so that no half-made file is ever found."""
    temporary = path.with_name(f"{path.name}.new")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600)
    with closing(_connect(str(temporary))) as connection:
        _create(connection, schema_version)
    temporary.replace(path)


def _check(connection: sqlite3.Connection, schema_version: int) -> None:
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if application_id != APPLICATION_ID or found < 1:
        raise DamagedDatabase("it is not a database of Thinkpane")
    if found > schema_version:
        raise NewerDatabase(found, schema_version)
    report = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if report != "ok":
        raise DamagedDatabase(str(report))


def _migrate(
    connection: sqlite3.Connection,
    path: Path,
    migrations: dict[int, Migration],
    schema_version: int,
) -> None:
    """Bring an older schema up to date, step by step in one transaction, after a backup."""
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found == schema_version:
        return
    _write_backup(connection, path.with_name(f"{path.name}.schema-{found}"))
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(found, schema_version):
            migrations[version](connection)
        connection.execute(f"PRAGMA user_version={schema_version}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def backup_file(path: Path) -> Path:
    """Where the daily backup of a database lies."""
    return path.with_name(f"{path.name}.backup")


def _write_backup(connection: sqlite3.Connection, target: Path) -> None:
    """Copy the database so that `target` is either the old backup or the whole new one."""
    temporary = target.with_name(f"{target.name}.tmp")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600)
    with closing(sqlite3.connect(temporary)) as copy:
        connection.backup(copy)
    temporary.replace(target)


def _backup_when_old(connection: sqlite3.Connection, path: Path, now: float) -> None:
    target = backup_file(path)
    try:
        if target.exists() and abs(now - target.stat().st_mtime) < BACKUP_EVERY_S:
            return
        _write_backup(connection, target)
    except (OSError, sqlite3.Error):
        # Without room for a backup the chats themselves still work; the next start tries again.
        target.with_name(f"{target.name}.tmp").unlink(missing_ok=True)


def _renew_backup(connection: sqlite3.Connection, path: Path) -> None:
    """Replace the backup, which may still hold chats that were erased just now."""
    target = backup_file(path)
    if not target.exists():
        return
    try:
        _write_backup(connection, target)
    except (OSError, sqlite3.Error):
        # What was erased must not stay in it; the next start writes a new one.
        target.unlink(missing_ok=True)
        target.with_name(f"{target.name}.tmp").unlink(missing_ok=True)


def _drop_old_copies(path: Path, now: float) -> None:
    """Erase copies of earlier schemas once they are as old as the trash: deleted means deleted."""
    for copy in path.parent.glob(f"{path.name}.schema-*"):
        try:
            if now - copy.stat().st_mtime > TRASH_KEPT_S:
                copy.unlink()
        except OSError:
            continue  # the next start tries again


def _replace_damaged(path: Path, reason: str) -> str:
    """Move the database aside, put the backup in its place; returns the sentence for the user."""
    logger.warning("the chat database is damaged: %s", reason)
    aside = path.with_name(f"{path.name}.damaged-{time.time_ns()}")
    path.replace(aside)
    for suffix in ("-wal", "-shm"):
        companion = path.with_name(path.name + suffix)
        if companion.exists():
            companion.replace(aside.with_name(aside.name + suffix))
    backup = backup_file(path)
    if not _is_sound(backup):
        return damaged_text(aside, "")
    path.write_bytes(backup.read_bytes())
    path.chmod(0o600)
    age = time.strftime("%Y-%m-%d %H:%M", time.localtime(backup.stat().st_mtime))
    return damaged_text(aside, age)


def _is_sound(path: Path) -> bool:
    try:
        if not path.exists() or path.stat().st_size == 0:
            return False
        with closing(_connect(str(path))) as connection:
            _check(connection, SCHEMA_VERSION)
    except (OSError, sqlite3.Error, DamagedDatabase, NewerDatabase):
        return False
    return True
