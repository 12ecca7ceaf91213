"""One running app per profile: two writers could damage the chats.

The lock is the operating system's; a second start asks the first one to come to the front.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_CONNECT_MS = 1000
_LOCK_BYTES = 4096
"""A disk with less room than that has none for the lock, though its file is far shorter."""


def _server_name(lock_file: Path) -> str:
    # Socket paths are short; the profile's path may be long.
    digest = hashlib.sha256(str(lock_file).encode("utf-8", "replace")).hexdigest()
    return f"thinkpane-{digest[:16]}"


def disk_is_full(folder: Path) -> bool:
    """Whether not even the lock can be written there."""
    try:
        return shutil.disk_usage(folder).free < _LOCK_BYTES
    except OSError:
        return False


class SingleInstance(QObject):
    """Holds the profile's lock, and hears of later starts."""

    def __init__(self, lock_file: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._name = _server_name(lock_file)
        self._folder = lock_file.parent
        self._other_listens = False
        self._lock = QLockFile(str(lock_file))
        # Stale only when its process is gone; never because of its age.
        self._lock.setStaleLockTime(0)
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_connection)
        self.raised: Callable[[], None] = lambda: None

    def acquire(self) -> bool:
        """Take the lock; False when another process has it, or it cannot be made.

        On a full disk nobody can make it, and the chats are to be read all the same: then who
        listens first has the profile.
        """
        if not self._lock.tryLock(0):
            if self.held_by_other or not disk_is_full(self._folder):
                return False
            self._other_listens = self.raise_other()
            if self._other_listens:
                return False
        QLocalServer.removeServer(self._name)
        self._server.listen(self._name)
        return True

    @property
    def held_by_other(self) -> bool:
        """Whether `acquire` failed because of another process, not because of the disk."""
        failed = self._lock.error() is QLockFile.LockError.LockFailedError
        return failed or self._other_listens

    def raise_other(self) -> bool:
        """Ask the running app to show its window; False when it does not listen."""
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        connected = socket.waitForConnected(_CONNECT_MS)
        socket.disconnectFromServer()
        return connected

    def release(self) -> None:
        """Let another process have the profile."""
        self._server.close()
        self._lock.unlock()

    @Slot()
    def _on_connection(self) -> None:
        while self._server.hasPendingConnections():
            socket = self._server.nextPendingConnection()
            socket.disconnected.connect(socket.deleteLater)
        self.raised()
