"""Everything a network and a host can do wrong: little is fetched again, nothing wrong is kept."""

from __future__ import annotations

import gzip
import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from engine.api import DownloadProgress
from engine.errors import ChecksumMismatch, DownloadFailed, DownloadFault
from engine.models.model_catalog import CatalogModel
from engine.models.model_store import ModelStore
from tests.engine.store.conftest import MIB, Fetch
from tests.engine.store.fake_hub import FakeHub, Fault

SOUND = Fault()
HTML = b"<!doctype html><title>Wi-Fi login</title>"


def assert_installed(store: ModelStore, model: CatalogModel, contents: dict[str, bytes]) -> None:
    folder = store.require_verified(model)
    for name, data in contents.items():
        assert (folder / name).read_bytes() == data
    extra = {path.name for path in folder.iterdir()} - set(contents)
    assert extra == {"verified.json", "download.lock"}, "orphans are left"


@pytest.mark.parametrize("cut_by", ["reset", "close", "stall"])
def test_cuts_at_random_places_lose_at_most_one_mebibyte_each(
    cut_by: str,
    impatient_fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
) -> None:
    rng = random.Random(cut_by)
    cuts = 3 if cut_by == "stall" else 10
    hub.faults = [SOUND] + [
        Fault(cut_after=rng.randrange(1, 2 * MIB // cuts), cut_by=cut_by) for _ in range(cuts)
    ]
    impatient_fetch()
    assert_installed(store, model, contents)
    again_bytes = hub.sent_bytes - model.total_bytes
    print(f"{cuts} cuts by {cut_by}: {again_bytes} bytes fetched again")
    assert len(hub.requests) >= cuts + 2
    assert again_bytes <= cuts * MIB
    if cut_by != "reset":  # bytes in flight at a reset never arrive
        assert again_bytes == 0


def test_drip_feed_below_the_minimum_rate_reconnects(
    impatient_fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
) -> None:
    hub.faults = [SOUND, Fault(bytes_per_s=100.0)]
    events = impatient_fetch()
    assert_installed(store, model, contents)
    waits = {event.waiting_for for event in events if isinstance(event, DownloadProgress)}
    assert "the connection is too slow" in waits
    faults = {event.fault for event in events if isinstance(event, DownloadProgress)}
    assert faults == {None, DownloadFault.TOO_SLOW}
    assert hub.requests[-1].headers["range"].startswith("bytes=")


def test_stall_is_shown_before_it_is_broken_off(impatient_fetch: Fetch, hub: FakeHub) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB, cut_by="stall")]
    events = impatient_fetch()
    stalled = [e for e in events if isinstance(e, DownloadProgress) and e.waiting_for]
    assert stalled[0].waiting_for == "no answer"
    assert stalled[0].fault is DownloadFault.NO_ANSWER
    assert stalled[0].bytes_per_s == 0
    assert stalled[0].seconds_left is None
    assert stalled[0].retry_in_s is not None


def test_host_that_ignores_range_never_doubles_bytes(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel, contents: dict[str, bytes]
) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB), Fault(ignore_range=True)]
    events = fetch()
    assert_installed(store, model, contents)
    assert hub.requests[2].status == 200
    done = [event.done_bytes for event in events if isinstance(event, DownloadProgress)]
    assert done == sorted(done)
    assert done[-1] == model.total_bytes


@pytest.mark.parametrize("content_range", ["bytes 0-99/100", "bytes 1-2/*", "nonsense"])
def test_wrong_content_range_is_not_appended(
    content_range: str,
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB), Fault(content_range=content_range)]
    fetch()
    assert_installed(store, model, contents)
    assert hub.requests[2].headers["range"] == hub.requests[3].headers["range"]


def test_416_starts_the_file_over_once(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel, contents: dict[str, bytes]
) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB), Fault(status=416)]
    fetch()
    assert_installed(store, model, contents)
    assert "range" not in hub.requests[3].headers


def test_416_for_ever_ends(fetch: Fetch, hub: FakeHub) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB)]
    hub.every_request = Fault(status=416)
    with pytest.raises(DownloadFailed, match="416"):
        fetch()
    assert len(hub.requests) == 4


def test_changed_file_is_never_mixed_with_the_old_one(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel, contents: dict[str, bytes]
) -> None:
    other = random.Random(1).randbytes(len(contents["model.safetensors"]))
    hub.faults = [SOUND, Fault(cut_after=MIB, etag='"old"', body=other)]
    fetch()
    assert_installed(store, model, contents)
    assert len(hub.requests) == 4, "the changed tag starts the file over, without a failed hash"
    assert "range" not in hub.requests[3].headers


def test_tags_that_flap_do_not_start_over_for_ever(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel, contents: dict[str, bytes]
) -> None:
    hub.faults = [SOUND] + [Fault(cut_after=MIB // 2, etag=f'"{n}"') for n in range(40)]
    fetch()
    assert_installed(store, model, contents)
    assert hub.sent_bytes - model.total_bytes <= 2 * MIB


def test_file_of_another_length_is_refused_and_the_partial_kept(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel
) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB), Fault(body=b"x" * 99, content_range="bytes 0-98/99")]
    with pytest.raises(DownloadFailed, match="offers 99 bytes where 3145741") as failure:
        fetch()
    assert failure.value.fault is DownloadFault.OTHER_FILE
    assert failure.value.about == "127.0.0.1"
    assert failure.value.kept_bytes == MIB
    part = store.folder(model) / "model.safetensors.part"
    assert part.stat().st_size == MIB


@pytest.mark.parametrize("times", [1, 2])
def test_flipped_bit_is_repaired_once_and_then_refused(
    times: int,
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
) -> None:
    hub.faults = [SOUND] + [Fault(flip_at=2 * MIB + 5)] * times
    if times == 1:
        fetch()
        assert_installed(store, model, contents)
        return
    with pytest.raises(ChecksumMismatch) as failure:
        fetch()
    assert failure.value.file == "model.safetensors"
    assert failure.value.expected == model.files[1].sha256
    assert not store.is_on_disk(model)
    assert not list(store.folder(model).glob("model*")), "the wrong file is not kept"
    assert len(hub.requests) == 3, "no third try"


@pytest.mark.parametrize("changes", [30, pytest.param(200, marks=pytest.mark.slow)])
def test_changed_answers_are_all_refused(
    changes: int,
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
) -> None:
    rng = random.Random(3)
    right = contents["config.json"]
    for _ in range(changes):
        wrong = bytearray(right)
        wrong[rng.randrange(len(wrong))] ^= 1 << rng.randrange(8)
        hub.faults = [Fault(body=bytes(wrong))] * 2
        with pytest.raises(ChecksumMismatch):
            fetch()
        assert not (store.folder(model) / "config.json").exists()


def test_login_page_is_named_and_keeps_the_partial(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel
) -> None:
    page = HTML.ljust(model.files[1].size_bytes)
    hub.faults = [
        SOUND,
        Fault(cut_after=MIB),
        Fault(body=page, content_type="text/html; charset=x"),
    ]
    with pytest.raises(DownloadFailed, match=r"a web page came from 127\.0\.0\.1") as failure:
        fetch()
    assert failure.value.fault is DownloadFault.WEB_PAGE
    assert failure.value.about == "127.0.0.1"
    assert failure.value.kept_bytes == MIB


def test_login_page_of_the_right_length_that_hides_its_type_is_refused(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel
) -> None:
    page = HTML.ljust(model.files[1].size_bytes)
    hub.faults = [SOUND, Fault(body=page), Fault(body=page)]
    with pytest.raises(ChecksumMismatch):
        fetch()
    assert not store.is_on_disk(model)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_passing_statuses_are_tried_again(
    status: int,
    fetch: Fetch,
    hub: FakeHub,
    store: ModelStore,
    model: CatalogModel,
    contents: dict[str, bytes],
) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB)] + [Fault(status=status, body=b"no")] * 3
    events = fetch()
    assert_installed(store, model, contents)
    waits = {e.waiting_for for e in events if isinstance(e, DownloadProgress)}
    assert f"127.0.0.1 answered {status}" in waits
    assert hub.sent_bytes - model.total_bytes == 3 * len(b"no")


def test_500_for_ever_ends_and_keeps_the_partial(fetch: Fetch, hub: FakeHub) -> None:
    hub.faults = [SOUND, Fault(cut_after=MIB)]
    hub.every_request = Fault(status=500, body=b"")
    with pytest.raises(DownloadFailed, match="answered 500, 8 tries in a row") as failure:
        fetch()
    assert failure.value.fault is DownloadFault.REFUSED
    assert failure.value.about == "127.0.0.1, 500"
    assert failure.value.kept_bytes == MIB


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_final_statuses_are_not_tried_again(status: int, fetch: Fetch, hub: FakeHub) -> None:
    hub.every_request = Fault(status=status, body=b"")
    with pytest.raises(DownloadFailed, match=f"answered {status}") as failure:
        fetch()
    assert failure.value.fault is DownloadFault.REFUSED
    assert len(hub.requests) == 1


def date_in(seconds: float) -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=seconds), usegmt=True)


@pytest.mark.parametrize(
    "value",
    ["0.5", "1", "1000000000", date_in(9999), date_in(-9), "soon"],
    ids=["half", "one", "for ever", "later", "past", "word"],
)
def test_retry_after_is_honoured_up_to_the_limit(value: str, fetch: Fetch, hub: FakeHub) -> None:
    hub.faults = [Fault(status=429, body=b"", headers=(("Retry-After", value),))]
    events = fetch()
    countdown = [e.retry_in_s for e in events if isinstance(e, DownloadProgress) and e.retry_in_s]
    limit_s = 0.3
    assert all(left_s <= limit_s for left_s in countdown)
    if value in ("1", "1000000000"):
        assert max(countdown) > limit_s - 0.1


def test_encoded_body_is_refused(fetch: Fetch, hub: FakeHub, contents: dict[str, bytes]) -> None:
    zipped = gzip.compress(contents["config.json"])
    hub.faults = [Fault(body=zipped, without_length=True, headers=(("Content-Encoding", "gzip"),))]
    with pytest.raises(DownloadFailed, match="another encoding") as failure:
        fetch()
    assert failure.value.fault is DownloadFault.OTHER_FILE
    assert hub.requests[0].headers["accept-encoding"] == "identity"


def test_body_without_end_is_cut_at_the_pinned_length(
    fetch: Fetch, hub: FakeHub, store: ModelStore, model: CatalogModel, contents: dict[str, bytes]
) -> None:
    hub.faults = [SOUND, Fault(without_length=True, extra_bytes=64 * MIB)]
    fetch()
    assert_installed(store, model, contents)
    assert hub.requests[1].sent_bytes < model.total_bytes + 16 * MIB


def test_no_host_is_said_quickly(
    fetch: Fetch, hub: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DownloadFailed, match="no connection") as failure:
        fetch()
    assert failure.value.fault is DownloadFault.NO_CONNECTION


def test_dead_proxy_is_named(fetch: Fetch, hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://model-host.invalid")
    with FakeHub({}, every_request=Fault(status=407, body=b"")) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(DownloadFailed, match="proxy") as failure:
            fetch()
        assert failure.value.fault is DownloadFault.PROXY
