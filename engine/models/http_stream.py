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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx2
from httpcore2 import NetworkStream
from socksio.exceptions import SOCKSError

from engine.models.download_proxy import proxy_address, proxy_for

MAX_REDIRECTS = 10
QUEUED_CHUNKS = 4
"""Chunks (of at most 64 KiB) that may wait for the reader; more would be lost by a kill."""

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class RefusedAddress(Exception):
    """An address is not one that files may come from (`host`, `reason`)."""

    def __init__(self, url: str, reason: str) -> None:
        self.host = urlsplit(url).hostname or url
        super().__init__(f"{self.host}: {reason}")
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
        self._proxy = ""
        # A daemon: a name lookup that hangs must not keep a closed app alive.
        threading.Thread(target=self._run, name="http-stream", daemon=True).start()

    @property
    def proxy(self) -> str:
        """Address of the proxy that the last request goes through; empty without one."""
        return self._proxy

    def receive(self, timeout_s: float) -> ResponseHead | bytes | None:
        """The next piece; None when nothing came within `timeout_s`, b"" at the end of the body.

        Raises:
            RefusedAddress: an address of the chain is not allowed.
            UnusableProxy: what is set up as proxy cannot be used.
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
        except SOCKSError as error:
            # httpx2 passes these on as they are, unlike everything else that a proxy can do.
            wrong = httpx2.ProxyError(f"it does not answer as a SOCKS5 proxy: {error}")
            self._put(_End(wrong))
        except BaseException as error:  # noqa: BLE001 - raised again by `receive`
            self._put(_End(error))

    def _exchange(self) -> None:
        url, linked_etag = self._url, ""
        # One client per hop keeps no cookie, and takes no password from ~/.netrc.
        for _hop in range(MAX_REDIRECTS + 1):
            require_allowed_address(url)
            proxy = proxy_for(url)
            self._proxy = proxy_address(proxy)
            with (
                httpx2.Client(
                    timeout=self._timeout_s, trust_env=False, proxy=proxy, verify=_tls_context()
                ) as client,
                self._closing_what_fails(client, url) as response,
            ):
                linked_etag = linked_etag or response.headers.get("x-linked-etag", "")
                if response.status_code in _REDIRECTS and "location" in response.headers:
                    url = urljoin(url, response.headers["location"])
                    continue
                self._pump(response, linked_etag)
                return
        raise RefusedAddress(url, f"more than {MAX_REDIRECTS} redirects")

    @contextmanager
    def _closing_what_fails(self, client: httpx2.Client, url: str) -> Iterator[httpx2.Response]:
        """The response; where there is none, the connection to the proxy is closed by us.

        httpcore2 leaves the one to a SOCKS proxy open that did not agree.
        """
        connected: list[NetworkStream] = []

        def on_trace(name: str, info: Mapping[str, Any]) -> None:
            if name.endswith("connect_tcp.complete"):
                connected.append(info["return_value"])

        traced = {"trace": on_trace}
        try:
            with client.stream("GET", url, headers=self._headers, extensions=traced) as response:
                yield response
        except BaseException:
            for stream in connected:
                stream.close()
            raise

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
