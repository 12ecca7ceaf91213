"""Which proxy a download goes through: the one that the environment, or the system, names.

HTTP proxies and SOCKS5. Desktops write `socks://` where they mean SOCKS5 (GNOME into ALL_PROXY);
names are looked up by the proxy, since behind one they often cannot be looked up here.
"""

from __future__ import annotations

from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

_SAME_AS = {"socks": "socks5"}
_USABLE = frozenset({"http", "https", "socks5", "socks5h"})


class UnusableProxy(Exception):
    """The proxy that is set up cannot be used (`proxy`, `reason`)."""

    def __init__(self, proxy: str, reason: str) -> None:
        self.proxy = proxy
        self.reason = f"the proxy {proxy} {reason}"
        super().__init__(self.reason)


def proxy_for(url: str) -> httpx2.Proxy | None:
    """The proxy for that address, by its scheme or for all; None where it is reached directly.

    Raises:
        UnusableProxy: a kind of proxy that is not spoken here, or no address at all.
    """
    parts = urlsplit(url)
    named = getproxies()
    found = named.get(parts.scheme) or named.get("all")
    if not found or proxy_bypass(parts.hostname or ""):
        return None
    scheme, _, rest = found.rpartition("://")
    scheme = _SAME_AS.get(scheme.lower(), scheme.lower()) or "http"
    # What stands before the host may be a password, which is told to nobody.
    shown = f"{scheme}://{rest.rpartition('@')[2]}"
    if scheme not in _USABLE:
        raise UnusableProxy(shown, "is of a kind that cannot be used: SOCKS5 and HTTP can")
    try:
        proxy = httpx2.Proxy(f"{scheme}://{rest}")
    except (httpx2.InvalidURL, ValueError) as error:
        raise UnusableProxy(shown, "is not an address") from error
    if not proxy.url.host:
        raise UnusableProxy(shown, "is not an address")
    return proxy


def proxy_address(proxy: httpx2.Proxy | None) -> str:
    """Scheme, host and port, without a name or a password; empty for none."""
    return "" if proxy is None else f"{proxy.url.scheme}://{proxy.url.netloc.decode('ascii')}"
