"""Fetch one file into its `.part`, whatever the network does; what has arrived is never given up.

A try that fails for a reason that may pass (reset, close, stall, too slow, 408, 425, 429, 5xx) is
repeated from the last byte, with growing pauses; any other answer ends the fetch with a reason.
Content is not judged here: the caller hashes the whole file before it is used.
"""

from __future__ import annotations

import errno
import random
import re
import shutil
import ssl
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2

from engine.api import GenerationControl
from engine.errors import (
    DownloadCancelled,
    DownloadFailed,
    DownloadFault,
    FolderNotWritable,
    NotEnoughDisk,
)
from engine.models.download_proxy import UnusableProxy
from engine.models.http_stream import HttpStream, RefusedAddress, ResponseHead
from engine.models.part_file import PartFile
from engine.models.transfer_rate import TransferRate

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)})
_CERTIFICATE_DATE_CODES = frozenset({9, 10})
"""OpenSSL: not yet valid, expired."""
_PASSING_PROXY_ANSWER = re.compile("50[234]|Proxy Server could not connect")
"""HTTP status, or the words for a SOCKS5 reply, of a proxy that may reach the host later."""
_PROGRESS_BYTES = 64 * 1024
"""A try that brought at least this much is not counted as a failed one."""


@dataclass(frozen=True, slots=True)
class FetchPolicy:
    """Times (seconds), rates and numbers of tries; the tests use smaller ones."""

    connect_timeout_s: float = 10.0
    stall_s: float = 10.0
    notice_s: float = 2.0
    min_bytes_per_s: float = 1024.0
    min_rate_window_s: float = 20.0
    first_pause_s: float = 0.5
    longest_pause_s: float = 15.0
    longest_retry_after_s: float = 120.0
    tries_without_answer: int = 4
    tries_without_progress: int = 8
    poll_s: float = 0.05


@dataclass(frozen=True, slots=True)
class FetchStatus:
    """Bytes of the file that are here; all else as in engine.api.DownloadProgress."""

    done_bytes: int
    waiting_for: str = ""
    retry_in_s: float | None = None
    fault: DownloadFault | None = None
    about: str = ""


class _TryAgain(Exception):
    """This try failed for a reason that may pass."""

    def __init__(
        self, fault: DownloadFault, reason: str, about: str = "", pause_s: float | None = None
    ) -> None:
        super().__init__(reason)
        self.fault = fault
        self.reason = reason
        self.about = about
        self.pause_s = pause_s


class _Ended(Exception):
    """No further try would help."""

    def __init__(self, fault: DownloadFault, reason: str, about: str = "") -> None:
        super().__init__(reason)
        self.fault = fault
        self.reason = reason
        self.about = about


def fetch_file(
    url: str, part: PartFile, policy: FetchPolicy, control: GenerationControl
) -> Iterator[FetchStatus]:
    """Receive bytes until `part` is complete.

    Raises:
        DownloadFailed: no try helped, or the host's answer cannot be this file.
        DownloadCancelled: `control` was cancelled.
        NotEnoughDisk, FolderNotWritable: the disk is full, or gone. In each case what has arrived
            is kept.
    """
    return _Fetch(url, part, policy, control).run()


class _Fetch:
    """The state of one fetch over its tries."""

    def __init__(
        self, url: str, part: PartFile, policy: FetchPolicy, control: GenerationControl
    ) -> None:
        self._url = url
        self._part = part
        self._policy = policy
        self._control = control
        self._name = part.path.name.removesuffix(".part")
        self._answered = False
        self._started_over = False

    def run(self) -> Iterator[FetchStatus]:
        failures = 0
        while not self._part.complete:
            before_bytes = self._part.done_bytes
            try:
                yield from self._one_try()
            except _Ended as end:
                raise self._failed(end.fault, end.reason, end.about) from end
            except RefusedAddress as end:
                raise self._failed(DownloadFault.ADDRESS, end.reason, end.host) from end
            except UnusableProxy as end:
                raise self._failed(DownloadFault.PROXY, end.reason, end.proxy) from end
            except _TryAgain as problem:
                gained_bytes = self._part.done_bytes - before_bytes
                failures = 0 if gained_bytes >= _PROGRESS_BYTES else failures + 1
                tries = (
                    self._policy.tries_without_progress
                    if self._answered
                    else self._policy.tries_without_answer
                )
                if failures >= tries:
                    reason = f"{problem.reason}, {failures} tries in a row"
                    raise self._failed(problem.fault, reason, problem.about) from problem
                yield from self._pause(problem, failures)

    def _failed(self, fault: DownloadFault, reason: str, about: str) -> DownloadFailed:
        return DownloadFailed(self._name, reason, self._part.done_bytes, fault, about)

    def _require_not_cancelled(self) -> None:
        if self._control.cancelled:
            raise DownloadCancelled(self._name)

    def _pause(self, problem: _TryAgain, failures: int) -> Iterator[FetchStatus]:
        policy = self._policy
        backoff_s = min(policy.longest_pause_s, policy.first_pause_s * 2 ** max(0, failures - 1))
        # Jitter: a host that sent everyone away must not see everyone back at the same moment.
        pause_s = backoff_s * random.uniform(0.5, 1.0)
        if problem.pause_s is not None:
            pause_s = min(problem.pause_s, policy.longest_retry_after_s)
        end_s = time.monotonic() + pause_s
        while (left_s := end_s - time.monotonic()) > 0:
            self._require_not_cancelled()
            yield FetchStatus(
                self._part.done_bytes, problem.reason, left_s, problem.fault, problem.about
            )
            time.sleep(min(policy.poll_s, left_s))
        self._require_not_cancelled()

    def _one_try(self) -> Iterator[FetchStatus]:
        """One request; returns when the file is complete."""
        start_bytes = self._part.done_bytes
        headers = {"Range": f"bytes={start_bytes}-"} if start_bytes else {}
        stream = HttpStream(self._url, headers, self._policy.connect_timeout_s)
        try:
            yield from self._receive(stream, start_bytes)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise self._network_problem(error, stream.proxy) from error
        finally:
            stream.close()
            try:
                self._part.checkpoint()
            except OSError as error:
                if error.errno not in DISK_FULL_ERRORS:
                    raise

    def _receive(self, stream: HttpStream, start_bytes: int) -> Iterator[FetchStatus]:
        skip_bytes: int | None = None  # None until the head has been read
        rate = TransferRate(self._policy.min_rate_window_s)
        heard_s = time.monotonic()
        while not self._part.complete:
            self._require_not_cancelled()
            item = stream.receive(self._policy.poll_s)
            self._require_not_cancelled()
            now_s = time.monotonic()
            if item is None:
                yield from self._silence(now_s - heard_s)
            elif isinstance(item, ResponseHead):
                self._answered = True
                skip_bytes = self._bytes_to_skip(item, start_bytes)
                rate.add(0, now_s)
            elif not item:
                raise _TryAgain(DownloadFault.LOST, "connection closed before the end")
            elif skip_bytes is not None:
                heard_s = now_s
                rate.add(len(item), now_s)
                fresh = item[skip_bytes:]
                skip_bytes -= len(item) - len(fresh)
                self._append(fresh)
                yield FetchStatus(self._part.done_bytes)
            if rate.is_full(now_s) and rate.bytes_per_s(now_s) < self._policy.min_bytes_per_s:
                raise _TryAgain(DownloadFault.TOO_SLOW, "the connection is too slow")

    def _silence(self, silent_s: float) -> Iterator[FetchStatus]:
        if silent_s >= self._policy.stall_s:
            raise _TryAgain(DownloadFault.NO_ANSWER, "no answer")
        if silent_s >= self._policy.notice_s:
            left_s = self._policy.stall_s - silent_s
            yield FetchStatus(self._part.done_bytes, "no answer", left_s, DownloadFault.NO_ANSWER)

    def _append(self, data: bytes) -> None:
        # A body that does not end is cut at the pinned length.
        room_bytes = self._part.total_bytes - self._part.done_bytes
        try:
            self._part.append(data[:room_bytes])
        except OSError as error:
            folder = self._part.path.parent
            if error.errno not in DISK_FULL_ERRORS:
                reason = error.strerror or str(error)
                raise FolderNotWritable(str(folder), reason, error.errno) from error
            missing_bytes = self._part.total_bytes - self._part.done_bytes
            free_bytes = shutil.disk_usage(folder).free
            raise NotEnoughDisk(str(folder), missing_bytes, free_bytes) from error

    def _bytes_to_skip(self, head: ResponseHead, start_bytes: int) -> int:
        """Judge the answer; how many bytes of its body are already here.

        Nothing that is here is touched before the answer is known to be of the right file.
        """
        if head.status not in (200, 206):
            self._refuse_status(head, start_bytes)
        if head.headers.get("content-type", "").lower().startswith("text/html"):
            reason = f"a web page came from {head.host} in place of the file"
            raise _Ended(DownloadFault.WEB_PAGE, reason, head.host)
        if head.headers.get("content-encoding", "identity") != "identity":
            reason = f"{head.host} sent the file in another encoding"
            raise _Ended(DownloadFault.OTHER_FILE, reason, head.host)
        if head.status == 200:
            self._require_length(head, head.headers.get("content-length"))
        else:
            self._check_range(head, start_bytes)
        etag = head.linked_etag or head.headers.get("etag", "")
        if start_bytes and self._changed(etag):
            self._started_over = True
            self._part.start_over(etag)
            if head.status == 206:
                raise _TryAgain(
                    DownloadFault.OTHER_FILE, "the file changed on the host", head.host, 0.0
                )
        elif not start_bytes:
            self._part.start_over(etag)
        # After a 200 the body begins at byte 0 again: read past what is here, do not append it.
        return self._part.done_bytes if head.status == 200 else 0

    def _changed(self, etag: str) -> bool:
        # Weak tags may differ between equal files. A host whose tags flap is believed once only;
        # after that the sha256 decides.
        known = self._part.etag
        comparable = known and etag and not known.startswith("W/") and not etag.startswith("W/")
        return bool(comparable) and known != etag and not self._started_over

    def _require_length(self, head: ResponseHead, found: str | None) -> None:
        if found is not None and found != "*" and found != str(self._part.total_bytes):
            reason = f"{head.host} offers {found} bytes where {self._part.total_bytes} are expected"
            raise _Ended(DownloadFault.OTHER_FILE, reason, head.host)

    def _check_range(self, head: ResponseHead, start_bytes: int) -> None:
        match = _CONTENT_RANGE.fullmatch(head.headers.get("content-range", "").strip())
        if match is None or int(match[1]) != start_bytes:
            reason = "the host sent another part of the file"
            raise _TryAgain(DownloadFault.OTHER_FILE, reason, head.host)
        self._require_length(head, match[2])

    def _refuse_status(self, head: ResponseHead, start_bytes: int) -> None:
        if head.status == 416 and start_bytes and not self._started_over:
            self._started_over = True
            self._part.start_over("")
            raise _TryAgain(
                DownloadFault.OTHER_FILE, "the host refused to continue", head.host, 0.0
            )
        reason, about = f"{head.host} answered {head.status}", f"{head.host}, {head.status}"
        if head.status in _PASSING_STATUS:
            pause_s = _retry_after_s(head.headers.get("retry-after", ""))
            raise _TryAgain(DownloadFault.REFUSED, reason, about, pause_s)
        if head.status == 407:
            raise _Ended(DownloadFault.PROXY_PASSWORD, "the proxy wants a user name and a password")
        raise _Ended(DownloadFault.REFUSED, reason, about)

    def _network_problem(self, error: Exception, proxy: str) -> _TryAgain | _Ended:
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
            cause = cause.__cause__ or cause.__context__
        if cause is not None:
            dated = cause.verify_code in _CERTIFICATE_DATE_CODES
            hint = "; is this computer's clock right?" if dated else ""
            reason = f"the host's certificate was refused: {cause.verify_message}{hint}"
            return _Ended(DownloadFault.CLOCK if dated else DownloadFault.CERTIFICATE, reason)
        if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol | ValueError):
            return _Ended(DownloadFault.ADDRESS, f"not a web address: {error}", self._url)
        if isinstance(error, httpx2.ProxyError):
            reason = f"the proxy {proxy} does not let the request through: {error}"
            passing = _PASSING_PROXY_ANSWER.match(str(error))
            return (_TryAgain if passing else _Ended)(DownloadFault.PROXY, reason, proxy)
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            words = re.sub(r"\[[^\]]*\] *", "", str(error))  # "[Errno 111] Connection refused"
            through = f" (through the proxy {proxy})" if proxy else ""
            reason = f"no connection{through}: {words or 'no answer in time'}"
            return _TryAgain(DownloadFault.NO_CONNECTION, reason, proxy)
        return _TryAgain(DownloadFault.LOST, "connection lost")


def _retry_after_s(value: str) -> float | None:
    """Seconds that a Retry-After header (a number or a date) asks for; None where it is neither."""
    if value.strip().isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
