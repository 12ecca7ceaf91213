"""One HTTP GET whose body can be waited for with a timeout and dropped within milliseconds.

Name lookup, connect, TLS and every read run in a thread of their own, so the caller never blocks
longer than it asked for, whatever the network does. Redirects are followed by hand: https only
(plain http on loopback), no credentials or cookies carried along, at most ten.
"""

from __future__ import annotations

import functools
import ipaddress
import queue
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

import httpx2

MAX_REDIRECTS = 10
QUEUED_CHUNKS = 4
"""Chunks (of at most 64 KiB) that may wait for the reader; more would be lost by a kill."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class RefusedAddress(Exception):
    """An address is not one that files may come from (`reason`)."""

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"{urlsplit(url).hostname or url}: {reason}")
        self.reason = str(self)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status and headers (names in lower case) of the last response of a redirect chain.

    `linked_etag` is the content tag that the model host itself names before it redirects to
    its storage; it stays the same when the storage host changes.
    """

    status: int
    headers: Mapping[str, str]
    host: str
    linked_etag: str


@dataclass(frozen=True, slots=True)
class _End:
    """The body is over, or failed with `error`."""

    error: BaseException | None = None


def require_allowed_address(url: str) -> None:
    """Accept https, and plain http to this machine alone.

    Raises:
        RefusedAddress: any other scheme or no host.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise RefusedAddress(url, "not a web address")
    if parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname)):
        return
    raise RefusedAddress(url, f"{parts.scheme or 'no scheme'} is not safe, https is needed")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@functools.cache
def _tls_context() -> ssl.SSLContext:
    # Reading the certificate authorities takes 40 ms: once, not once per try.
    return httpx2.create_ssl_context()


class HttpStream:
    """A running GET; `receive` hands out the head first, then the body in chunks."""

    def __init__(self, url: str, headers: Mapping[str, str], timeout_s: float) -> None:
        self._url = url
        self._headers = {**headers, "Accept-Encoding": "identity", "User-Agent": "thinkpane"}
        self._timeout_s = timeout_s
        self._items: queue.Queue[ResponseHead | bytes | _End] = queue.Queue(QUEUED_CHUNKS)
        self._closed = threading.Event()
        self._socket: socket.socket | None = None
        # A daemon: a name lookup that hangs must not keep a closed app alive.
        threading.Thread(target=self._run, name="http-stream", daemon=True).start()

    def receive(self, timeout_s: float) -> ResponseHead | bytes | None:
        """The next piece; None when nothing came within `timeout_s`, b"" at the end of the body.

        Raises:
            RefusedAddress: an address of the chain is not allowed.
            httpx2.HTTPError, OSError: what the network said.
        """
        try:
            item = self._items.get(timeout=timeout_s)
        except queue.Empty:
            return None
        if not isinstance(item, _End):
            return item
        if item.error is not None:
            raise item.error
        return b""

    def close(self) -> None:
        """Drop the connection; returns at once, also when the other side is silent."""
        self._closed.set()
        if self._socket is not None:
            # Wakes a read that waits in the kernel; the thread then ends by itself.
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def _run(self) -> None:
        try:
            self._exchange()
            self._put(_End())
        except BaseException as error:  # noqa: BLE001 - raised again by `receive`
            self._put(_End(error))

    def _exchange(self) -> None:
        url, linked_etag = self._url, ""
        # trust_env: the proxies of the environment. One client per hop keeps no cookie.
        for _hop in range(MAX_REDIRECTS + 1):
            require_allowed_address(url)
            with (
                httpx2.Client(
                    timeout=self._timeout_s, trust_env=True, verify=_tls_context()
                ) as client,
                client.stream("GET", url, headers=self._headers) as response,
            ):
                linked_etag = linked_etag or response.headers.get("x-linked-etag", "")
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    url = urljoin(url, response.headers["location"])
                    continue
                self._pump(response, linked_etag)
                return
        raise RefusedAddress(url, f"more than {MAX_REDIRECTS} redirects")

    def _pump(self, response: httpx2.Response, linked_etag: str) -> None:
        stream = response.extensions.get("network_stream")
        self._socket = stream.get_extra_info("socket") if stream is not None else None
        headers = {name.lower(): value for name, value in response.headers.items()}
        host = urlsplit(str(response.url)).hostname or ""
        self._put(ResponseHead(response.status_code, headers, host, linked_etag))
        for chunk in response.iter_raw():
            if not self._put(chunk):
                return

    def _put(self, item: ResponseHead | bytes | _End) -> bool:
        """Hand an item over; False when nobody wants it any more."""
        while not self._closed.is_set():
            with suppress(queue.Full):
                self._items.put(item, timeout=0.1)
                return True
        return False
