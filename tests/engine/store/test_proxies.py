"""Behind a proxy: HTTP and SOCKS5, with and without a password, and what is said of a bad one."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from engine.errors import DownloadFailed, DownloadFault
from engine.models.download_proxy import UnusableProxy, proxy_address, proxy_for
from engine.models.model_store import ModelStore
from tests.engine.store.conftest import Fetch
from tests.engine.store.fake_hub import FakeHub, Fault
from tests.engine.store.socks_proxy import HOST_UNREACHABLE, SocksProxy
from tests.engine.store.test_download_faults import assert_installed

ELSEWHERE = "https://model-host.invalid/file"


@pytest.fixture
def socks(hub: FakeHub):
    with SocksProxy(urlsplit(hub.url).port or 0) as running:
        yield running


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "socks", "SOCKS5"])
@pytest.mark.parametrize("variable", ["ALL_PROXY", "all_proxy", "http_proxy"])
def test_a_model_comes_through_a_socks_proxy(
    fetch: Fetch, hub, socks, store: ModelStore, model, contents, monkeypatch, scheme, variable
) -> None:
    monkeypatch.setenv(variable, f"{scheme}://{socks.address}/")
    fetch()
    assert_installed(store, model, contents)
    assert socks.asked == [hub.url.removeprefix("http://")] * len(contents)


def test_names_are_looked_up_behind_a_socks_proxy(fetch: Fetch, hub, socks, monkeypatch) -> None:
    # Plain http is allowed for this machine's names alone; the proxy gets the name as it is.
    named = hub.url.replace("127.0.0.1", "localhost")
    monkeypatch.setenv("HF_ENDPOINT", named)
    monkeypatch.setenv("ALL_PROXY", f"socks5://{socks.address}")
    fetch()
    assert set(socks.asked) == {named.removeprefix("http://")}


def test_the_connection_may_break_behind_a_socks_proxy(
    fetch: Fetch, hub, socks, store: ModelStore, model, contents, monkeypatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", f"socks5://{socks.address}")
    hub.faults = [Fault(), Fault(cut_after=1_000_000, cut_by="reset")]
    socks.replies = [0, HOST_UNREACHABLE, 0, HOST_UNREACHABLE]
    fetch()
    assert_installed(store, model, contents)
    assert hub.requests[-1].headers["range"].startswith("bytes=")


def test_a_socks_proxy_with_a_password_gets_it_and_nobody_else(
    fetch: Fetch, hub, socks, store: ModelStore, model, contents, monkeypatch
) -> None:
    socks.login = (b"me", b"se@cret")
    monkeypatch.setenv("ALL_PROXY", f"socks5://me:se%40cret@{socks.address}")
    fetch()
    assert_installed(store, model, contents)
    assert not any("authorization" in name for r in hub.requests for name in r.headers)


@pytest.mark.parametrize("given", ["", "me:wrong@"])
def test_a_refused_password_is_told_without_the_password(
    fetch: Fetch, hub, socks, monkeypatch, given
) -> None:
    socks.login = (b"me", b"secret")
    monkeypatch.setenv("ALL_PROXY", f"socks5://{given}{socks.address}")
    with pytest.raises(DownloadFailed, match=f"the proxy socks5://{socks.address}") as caught:
        fetch()
    assert caught.value.fault is DownloadFault.PROXY
    assert caught.value.about == f"socks5://{socks.address}"
    assert "wrong" not in str(caught.value)
    assert not hub.requests


@pytest.mark.parametrize("garbage", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x04\x00", b"\x05"])
def test_a_port_that_is_no_socks_proxy_is_told(
    fetch: Fetch, hub, socks, monkeypatch, garbage
) -> None:
    socks.garbage = garbage
    monkeypatch.setenv("ALL_PROXY", f"socks5://{socks.address}")
    with pytest.raises(DownloadFailed, match="does not answer as a SOCKS5 proxy") as failure:
        fetch()
    assert failure.value.fault is DownloadFault.PROXY


def test_a_proxy_that_is_not_running_is_named(fetch: Fetch, hub, monkeypatch) -> None:
    with SocksProxy(1) as gone:
        address = gone.address
    monkeypatch.setenv("ALL_PROXY", f"socks5://me:secret@{address}")
    with pytest.raises(DownloadFailed, match="no connection") as caught:
        fetch()
    assert caught.value.fault is DownloadFault.NO_CONNECTION
    assert caught.value.about == f"socks5://{address}"
    assert f"socks5://{address}" in caught.value.reason
    assert "secret" not in str(caught.value)


def test_a_host_that_needs_no_proxy_is_reached_without_one(
    fetch: Fetch, hub, socks, store: ModelStore, model, contents, monkeypatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", f"socks5://{socks.address}")
    monkeypatch.setenv("NO_PROXY", "localhost,127.0.0.1")
    fetch()
    assert_installed(store, model, contents)
    assert not socks.asked


@pytest.mark.parametrize(
    ("value", "address"),
    [
        ("http://proxy:3128", "http://proxy:3128"),
        ("proxy:3128", "http://proxy:3128"),
        ("HTTP://me:secret@proxy:3128/", "http://proxy:3128"),
        ("socks://proxy:1080/", "socks5://proxy:1080"),
        ("socks5h://proxy:1080", "socks5h://proxy:1080"),
        ("", ""),
    ],
)
def test_every_usual_way_to_write_a_proxy_is_understood(hub, monkeypatch, value, address) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    assert proxy_address(proxy_for(ELSEWHERE)) == address


@pytest.mark.parametrize(
    "value", ["socks4://me:secret@proxy:1080", "ftp://me:secret@proxy", "http://", "http://p:port"]
)
def test_a_proxy_that_cannot_be_used_is_told_before_anything_is_sent(
    fetch: Fetch, hub, monkeypatch, value
) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    with pytest.raises(UnusableProxy, match="the proxy"):
        proxy_for(ELSEWHERE)
    with pytest.raises(DownloadFailed, match="the proxy") as caught:
        fetch()
    assert caught.value.fault is DownloadFault.PROXY
    assert "secret" not in str(caught.value)
    assert not hub.requests
