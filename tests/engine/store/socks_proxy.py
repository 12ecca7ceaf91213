"""A SOCKS5 proxy on 127.0.0.1 (RFC 1928, 1929) that leads every name to one port of it."""

from __future__ import annotations

import socket
import struct
import threading
from dataclasses import dataclass, field
from types import TracebackType

SUCCEEDED, HOST_UNREACHABLE = 0, 4
_NO_LOGIN, _LOGIN = b"\x00", b"\x02"


@dataclass
class SocksProxy:
    """Used as a context manager; `asked` holds the addresses that it was told to connect to.

    `login` is the name and password that it wants; `replies` are used up, one per connection, and
    `garbage` is sent in place of the first answer.
    """

    to_port: int
    login: tuple[bytes, bytes] | None = None
    replies: list[int] = field(default_factory=list)
    garbage: bytes = b""
    asked: list[str] = field(default_factory=list)

    def __enter__(self) -> SocksProxy:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client:
            try:
                self._talk(client)
            except OSError:
                return

    def _talk(self, client: socket.socket) -> None:
        _, count = _receive(client, 2)
        offered = _receive(client, count)
        if self.garbage:
            client.sendall(self.garbage)
            return
        wanted = _NO_LOGIN if self.login is None else _LOGIN
        client.sendall(b"\x05" + (wanted if wanted in offered else b"\xff"))
        if wanted not in offered or (self.login is not None and not self._let_in(client)):
            return
        self.asked.append(_address(client))
        reply = self.replies.pop(0) if self.replies else SUCCEEDED
        client.sendall(struct.pack("!BBBB4sH", 5, reply, 0, 1, bytes(4), 0))
        if reply == SUCCEEDED:
            self._connect(client)

    def _let_in(self, client: socket.socket) -> bool:
        _, length = _receive(client, 2)
        name = _receive(client, length)
        password = _receive(client, _receive(client, 1)[0])
        right = (name, password) == self.login
        client.sendall(b"\x01\x00" if right else b"\x01\x01")
        return right

    def _connect(self, client: socket.socket) -> None:
        with socket.create_connection(("127.0.0.1", self.to_port)) as host:
            back = threading.Thread(target=_pass_on, args=(host, client), daemon=True)
            back.start()
            _pass_on(client, host)
            back.join(30)


def _receive(client: socket.socket, count: int) -> bytes:
    """Exactly that many bytes. Raises ConnectionError at the end."""
    data = b""
    while len(data) < count:
        piece = client.recv(count - len(data))
        if not piece:
            raise ConnectionError("closed in the middle of a message")
        data += piece
    return data


def _address(client: socket.socket) -> str:
    """The host of a request to connect, by number (kind 1) or by name (kind 3), and its port."""
    _, _, _, kind = _receive(client, 4)
    if kind == 1:
        host = socket.inet_ntoa(_receive(client, 4))
    else:
        host = _receive(client, _receive(client, 1)[0]).decode("ascii")
    (port,) = struct.unpack("!H", _receive(client, 2))
    return f"{host}:{port}"


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(64 * 1024):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return
