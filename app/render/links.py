"""Which addresses a reader may open, and how they are shown; everything else stays text."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_PLAIN = re.compile(r"[!-~]+")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_MAIL = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+(\?[!-~]*)?")
_BAD_ESCAPES = ("%00", "%0a", "%0d", "%5c")
MAX_URL_CHARS = 2_000
_NEVER_PLAIN = frozenset('\\<>"`')


def openable_url(url: str) -> str | None:
    """The address if it is plain http, https or mailto; None for anything else.

    Refused: other schemes, relative paths, spaces and control characters (also escaped), a
    backslash, a user name before the host, non-ASCII letters (an IDN must come as xn--).
    """
    if len(url) > MAX_URL_CHARS or not _PLAIN.fullmatch(url) or set(url) & _NEVER_PLAIN:
        return None
    if any(bad in url.lower() for bad in _BAD_ESCAPES):
        return None
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if scheme == "mailto":
        return url if _MAIL.fullmatch(url[len("mailto:") :]) else None
    if scheme not in ("http", "https") or not url[len(scheme) :].startswith("://"):
        return None
    if (
        not host
        or "@" in parts.netloc
        or not _HOST.fullmatch(host.join(("[", "]") if ":" in host else ("", "")))
    ):
        return None
    return url
