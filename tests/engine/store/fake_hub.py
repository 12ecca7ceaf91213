"""A model host on 127.0.0.1 that misbehaves as told: one `Fault` is used up per request."""

from __future__ import annotations

import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

SEND_BYTES = 16 * 1024


@dataclass(frozen=True)
class Fault:
    """What one request meets; the default is a sound answer."""

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    cut_after: int | None = None
    """Body bytes after which the connection ends, by `cut_by` "reset", "close" or "stall"."""
    cut_by: str = "close"
    bytes_per_s: float = 0.0
    flip_at: int | None = None
    ignore_range: bool = False
    content_range: str | None = None
    redirect_to: str | None = None
    etag: str | None = None
    content_type: str = "application/octet-stream"
    without_length: bool = False
    extra_bytes: int = 0


@dataclass
class Request:
    path: str
    headers: dict[str, str]
    sent_bytes: int = 0
    status: int = 0


@dataclass
class FakeHub:
    """`files` by name; used as a context manager; `requests` holds what came in."""

    files: dict[str, bytes]
    faults: list[Fault] = field(default_factory=list)
    every_request: Fault | None = None
    requests: list[Request] = field(default_factory=list)
    etag: str = '"tag-1"'
    certificate: Path | None = None
    """A file with certificate and key; the hub then speaks TLS."""

    def __enter__(self) -> FakeHub:
        hub = self
        self.closing = threading.Event()

        class Handler(_Handler):
            pass

        Handler.hub = hub
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        scheme = "http"
        if self.certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def sent_bytes(self) -> int:
        """Body bytes handed to the network over all requests."""
        return sum(request.sent_bytes for request in self.requests)

    def next_fault(self) -> Fault:
        if self.faults:
            return self.faults.pop(0)
        return self.every_request or Fault()


class _Handler(BaseHTTPRequestHandler):
    hub: FakeHub
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test output clean."""

    def do_GET(self) -> None:
        self.close_connection = True
        # Small: bytes that lie in the kernel when a client dies were "sent" but never arrived.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BYTES)
        fault = self.hub.next_fault()
        name = self.path.rsplit("/", 1)[-1].split("?")[0]
        log = Request(self.path, {k.lower(): v for k, v in self.headers.items()})
        self.hub.requests.append(log)
        try:
            self._answer(fault, name, log)
        except OSError:
            return

    def _answer(self, fault: Fault, name: str, log: Request) -> None:
        if fault.redirect_to is not None:
            log.status = fault.status or 302
            self.send_response(log.status)
            for key, value in (("Location", fault.redirect_to), ("Content-Length", "0")):
                self.send_header(key, value)
            for key, value in fault.headers:
                self.send_header(key, value)
            self.end_headers()
            return
        whole = self.hub.files.get(name)
        if whole is None:
            fault = Fault(status=404, body=b"no such file")
        content = fault.body if fault.body is not None else (whole or b"")
        if fault.flip_at is not None:
            content = (
                content[: fault.flip_at]
                + bytes([content[fault.flip_at] ^ 1])
                + content[fault.flip_at + 1 :]
            )
        self._send(fault, content, log)

    def _send(self, fault: Fault, content: bytes, log: Request) -> None:
        start, status = 0, 200
        asked = self.headers.get("Range")
        if asked and not fault.ignore_range and fault.body is None:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            status = 206 if start < len(content) else 416
        log.status = fault.status or status
        self.send_response(log.status)
        body = content[start:] if log.status in (200, 206) else (fault.body or b"")
        if log.status == 206:
            default = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.send_header("Content-Range", fault.content_range or default)
        if log.status == 416:
            self.send_header("Content-Range", f"bytes */{len(content)}")
        if not fault.without_length:
            self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", fault.etag or self.hub.etag)
        self.send_header("Content-Type", fault.content_type)
        self.send_header("Set-Cookie", "session=secret")
        for key, value in fault.headers:
            self.send_header(key, value)
        self.end_headers()
        self._send_body(fault, body + b"x" * fault.extra_bytes, log)

    def _send_body(self, fault: Fault, body: bytes, log: Request) -> None:
        end = len(body) if fault.cut_after is None else min(fault.cut_after, len(body))
        step = SEND_BYTES
        if fault.bytes_per_s:
            step = max(1, min(SEND_BYTES, int(fault.bytes_per_s * 0.02)))
        while log.sent_bytes < end and not self.hub.closing.is_set():
            piece = body[log.sent_bytes : min(end, log.sent_bytes + step)]
            self.wfile.write(piece)
            log.sent_bytes += len(piece)
            if fault.bytes_per_s:
                time.sleep(len(piece) / fault.bytes_per_s)
        if fault.cut_after is None:
            return
        if fault.cut_by == "stall":
            self.hub.closing.wait(30)
        elif fault.cut_by == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
