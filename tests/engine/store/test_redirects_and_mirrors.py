"""Where bytes may come from, and what must never be sent along."""

from __future__ import annotations

import hashlib
import shutil
import ssl
import subprocess
from pathlib import Path

import httpx2
import pytest

from engine.errors import DownloadFailed, DownloadFault
from engine.models import http_stream
from engine.models.http_stream import HttpStream, RefusedAddress, require_allowed_address
from engine.models.model_catalog import CATALOG, CatalogModel
from engine.models.model_install import model_file_url
from engine.models.model_store import ModelStore
from tests.engine.store.conftest import Fetch
from tests.engine.store.fake_hub import FakeHub, Fault

SECRET_HEADERS = {"authorization", "cookie", "proxy-authorization"}


def test_mirror_of_the_environment_gets_every_request_at_the_pinned_revision(
    fetch: Fetch, hub: FakeHub
) -> None:
    fetch()
    assert [request.path for request in hub.requests] == [
        f"/owner/tiny/resolve/{'a' * 40}/config.json",
        f"/owner/tiny/resolve/{'a' * 40}/model.safetensors",
    ]


@pytest.mark.parametrize("value", ["", "  "])
def test_blank_mirror_counts_as_unset(
    value: str, model: CatalogModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    usual = model_file_url(model, model.files[0])
    monkeypatch.setenv("HF_ENDPOINT", value)
    assert model_file_url(model, model.files[0]) == usual
    assert usual.startswith("https://")


def test_redirect_to_another_host_carries_no_secret(
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with FakeHub(dict(contents)) as storage:
        hub.faults = [
            Fault(
                redirect_to=f"{storage.url}/blob/{name}?signature=1",
                headers=(("Set-Cookie", "a=b"),),
            )
            for name in contents
        ]
        fetch()
        assert store.is_on_disk(model)
        assert len(storage.requests) == len(contents)
        for request in [*hub.requests, *storage.requests]:
            assert not SECRET_HEADERS & set(request.headers)


def test_content_tag_of_the_model_host_outlives_a_change_of_storage_host(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel, contents: dict[str, bytes]
) -> None:
    linked = (("X-Linked-ETag", '"content"'),)
    with (
        FakeHub(dict(contents), etag='"storage-a"') as first,
        FakeHub(dict(contents), etag='"storage-b"') as second,
    ):
        first.faults = [Fault(cut_after=1_000_000)]
        hub.faults = [
            Fault(),
            Fault(redirect_to=f"{first.url}/model.safetensors", headers=linked),
            Fault(redirect_to=f"{second.url}/model.safetensors", headers=linked),
        ]
        fetch()
        assert store.is_on_disk(model)
        assert second.requests[0].headers["range"] == "bytes=1000000-"


@pytest.mark.parametrize(
    "target", ["http://storage.invalid/x", "ftp://127.0.0.1/x", "file:///etc/passwd", "https:///x"]
)
def test_unsafe_redirect_is_refused_without_another_request(
    target: str, fetch: Fetch, hub: FakeHub
) -> None:
    hub.every_request = Fault(redirect_to=target)
    with pytest.raises(DownloadFailed):
        fetch()
    assert len(hub.requests) == 1


def write_certificate(path: Path) -> Path:
    """A certificate for 127.0.0.1 that nobody has signed but itself."""
    if shutil.which("openssl") is None:
        pytest.skip("making a certificate needs openssl")
    key = path.with_suffix(".key")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(path)]
    subprocess.run(["openssl", "req", *kind, *files, *subject], check=True, capture_output=True)
    path.write_text(path.read_text() + key.read_text())
    return path


def test_unknown_certificate_is_refused_and_named(
    fetch: Fetch,
    hub: FakeHub,
    contents: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    certificate = write_certificate(tmp_path / "host.pem")
    with FakeHub(dict(contents), certificate=certificate) as secret:
        monkeypatch.setenv("HF_ENDPOINT", secret.url)
        with pytest.raises(DownloadFailed, match="certificate was refused: self-signed") as failure:
            fetch()
        assert failure.value.fault is DownloadFault.CERTIFICATE
        assert "clock" not in failure.value.reason
        assert secret.requests == []


def test_trusted_certificate_is_good(
    fetch: Fetch,
    hub: FakeHub,
    contents: dict[str, bytes],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    certificate = write_certificate(tmp_path / "host.pem")
    context = ssl.create_default_context(cafile=certificate)
    monkeypatch.setattr(http_stream, "_tls_context", lambda: context)
    with FakeHub(dict(contents), certificate=certificate) as secret:
        monkeypatch.setenv("HF_ENDPOINT", secret.url)
        fetch()
        assert len(secret.requests) == len(contents)


@pytest.mark.parametrize(("code", "words"), [(10, "has expired"), (9, "is not yet valid")])
def test_certificate_of_another_time_asks_about_the_clock(
    code: int, words: str, fetch: Fetch, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_stream: HttpStream) -> None:
        cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
        cause.verify_code, cause.verify_message = code, f"certificate {words}"
        raise httpx2.ConnectError("certificate verify failed") from cause

    monkeypatch.setattr(HttpStream, "_exchange", refuse)
    with pytest.raises(DownloadFailed, match=f"{words}; is this computer's clock right") as failure:
        fetch()
    assert failure.value.fault is DownloadFault.CLOCK


def test_redirect_loop_ends(fetch: Fetch, hub: FakeHub) -> None:
    hub.every_request = Fault(redirect_to="/round/and/round")
    with pytest.raises(DownloadFailed, match="more than 10 redirects") as failure:
        fetch()
    assert failure.value.fault is DownloadFault.ADDRESS
    assert len(hub.requests) == 11


@pytest.mark.parametrize("url", ["https://a.example/x", "http://127.0.0.1:1/x", "http://[::1]/x"])
def test_allowed_addresses(url: str) -> None:
    require_allowed_address(url)


@pytest.mark.parametrize("url", ["http://a.example/x", "http://127.0.0.1.a.example/x", "x", ""])
def test_refused_addresses(url: str) -> None:
    with pytest.raises(RefusedAddress):
        require_allowed_address(url)


def test_catalog_names_are_plain_and_hashes_complete() -> None:
    for model in CATALOG:
        assert len(model.revision) == 40
        assert model.total_bytes == sum(file.size_bytes for file in model.files)
        for file in model.files:
            assert Path(file.name).name == file.name
            assert len(bytes.fromhex(file.sha256)) == 32


def test_catalog_pins_the_reference_copies() -> None:
    reference = Path(__file__).parents[4] / "shared" / "qwen3-0.6b"
    if not reference.is_dir():
        pytest.skip("../shared/qwen3-0.6b is absent")
    pinned = {file.name: file for file in CATALOG[0].files}
    for name in ("tokenizer.json", "config.json", "generation_config.json"):
        data = (reference / name).read_bytes()
        assert len(data) == pinned[name].size_bytes
        assert hashlib.sha256(data).hexdigest() == pinned[name].sha256
