"""Proof 7 for safetensors: every damaged or hostile file ends in one typed error.

Run with `-s` to see each case's time and message:
`python -m pytest tests/engine/models -k "hostile or cut or flipped or huge" -s`
"""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from engine.errors import BadModelFile
from engine.models.model_files import open_model
from tests.engine.models.hostile import MUTATIONS, check_mutations, refused
from tests.engine.models.tiny_model import make_tiny_model, safetensors_bytes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "model")


def entry(begin: int, end: int, dtype: str = "U8", **changes: object) -> dict[str, object]:
    fields = {"dtype": dtype, "shape": [end - begin], "data_offsets": [begin, end]}
    return fields | changes


HOSTILE_SAFETENSORS: list[tuple[str, bytes, str]] = [
    ("empty file", b"", "too short"),
    ("seven bytes", b"1234567", "too short"),
    ("header length 0", struct.pack("<Q", 0) + b"{}", "header length"),
    ("header length 2^63", struct.pack("<Q", 1 << 63) + b"{}", "at most 2,097,152 bytes"),
    ("header length 100,000,001", struct.pack("<Q", 100_000_001) + b"{}", "at most 2,097,152"),
    ("header longer than the file", struct.pack("<Q", 500) + b"{}", "header length"),
    ("a pickle", b"PK\x03\x04\x00\x00\x00\x00\x00\x00archive/data.pkl", "found 67,324,752"),
    ("not UTF-8", safetensors_bytes('{"\udcff": 1}'), "UTF-8"),
    ("not JSON", safetensors_bytes('{"a": }'), "JSON"),
    ("an array", safetensors_bytes("[]"), "expected '{' first"),
    ("leading space", safetensors_bytes(" {}"), "expected '{' first"),
    ("nested 200,000 deep", safetensors_bytes('{"a":' + "[" * 200_000), "nested too deeply"),
    ("two objects", safetensors_bytes("{}{}"), "JSON"),
    (
        "duplicate name",
        safetensors_bytes(
            f'{{"a":{json.dumps(entry(0, 4))},"a":{json.dumps(entry(0, 4))}}}', b"abcd"
        ),
        "duplicate key 'a'",
    ),
    (
        "duplicate field",
        safetensors_bytes('{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
        "duplicate key 'dtype'",
    ),
    ("metadata with a number", safetensors_bytes({"__metadata__": {"a": 1}}), "__metadata__"),
    (
        "metadata with half a surrogate pair",
        safetensors_bytes('{"__metadata__":{"a":"\\ud800"}}'),
        "half a surrogate pair",
    ),
    ("metadata as a list", safetensors_bytes({"__metadata__": []}), "__metadata__"),
    ("unknown dtype", safetensors_bytes({"a": entry(0, 4, "Q9")}, bytes(4)), "unknown dtype 'Q9'"),
    ("dtype as a list", safetensors_bytes({"a": entry(0, 4, dtype=[])}, bytes(4)), "unknown dtype"),
    ("extra field", safetensors_bytes({"a": entry(0, 4, more=1)}, bytes(4)), "exactly dtype"),
    ("entry as a text", safetensors_bytes({"a": "b"}), "exactly dtype"),
    ("overlap", safetensors_bytes({"a": entry(0, 4), "b": entry(2, 6)}, bytes(6)), "an overlap"),
    ("hole", safetensors_bytes({"a": entry(0, 4), "b": entry(6, 8)}, bytes(8)), "a hole"),
    ("hole at the start", safetensors_bytes({"a": entry(2, 4)}, bytes(4)), "a hole"),
    ("trailing bytes", safetensors_bytes({"a": entry(0, 4)}, bytes(5)), "bytes for its tensors"),
    ("data missing", safetensors_bytes({"a": entry(0, 4)}, bytes(3)), "bytes for its tensors"),
    (
        "reversed offsets",
        safetensors_bytes({"a": entry(4, 0, shape=[0])}, bytes(4)),
        "data_offsets",
    ),
    ("negative offset", safetensors_bytes({"a": entry(-4, 0)}, bytes(4)), "data_offsets"),
    (
        "offset minus zero",
        safetensors_bytes('{"a":{"dtype":"U8","shape":[4],"data_offsets":[-0,4]}}', bytes(4)),
        "data_offsets",
    ),
    ("beyond the end", safetensors_bytes({"a": entry(0, 1 << 40)}, bytes(4)), "for its tensors"),
    ("offset 2^64", safetensors_bytes({"a": entry(0, 1 << 64)}, bytes(4)), "data_offsets|shape"),
    ("wrong byte count", safetensors_bytes({"a": entry(0, 4, shape=[3])}, bytes(4)), "expected 3"),
    ("bool in shape", safetensors_bytes({"a": entry(0, 1, shape=[True])}, b"a"), "shape"),
    ("float in shape", safetensors_bytes({"a": entry(0, 4, shape=[4.0])}, bytes(4)), "shape"),
    ("text in shape", safetensors_bytes({"a": entry(0, 4, shape=["4"])}, bytes(4)), "shape"),
    ("100 dimensions", safetensors_bytes({"a": entry(0, 1, shape=[1] * 100)}, b"a"), "at most 8"),
    (
        "product beyond 2^64",
        safetensors_bytes({"a": entry(0, 0, shape=[1 << 40, 1 << 40, 0])}),
        "too many values",
    ),
    *(
        (f"name {name[:20]!r}", safetensors_bytes({name: entry(0, 4)}, bytes(4)), "tensor name")
        for name in ("../../x", "/etc/passwd", "a/b", "a\\b", "C:x", "", "a..b", "a\n", "n" * 2000)
    ),
]


@pytest.mark.parametrize(
    ("content", "message"),
    [case[1:] for case in HOSTILE_SAFETENSORS],
    ids=[case[0] for case in HOSTILE_SAFETENSORS],
)
def test_hostile_safetensors_is_refused_by_rule(
    folder: Path, content: bytes, message: str, request: pytest.FixtureRequest
) -> None:
    (folder / "model.safetensors").write_bytes(content)
    error = refused(folder, request.node.callspec.id)
    assert isinstance(error, BadModelFile)
    assert pytest.RaisesExc(BadModelFile, match=message).matches(error)


def test_hundred_megabyte_header_is_refused_unread(folder: Path) -> None:
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", 100_000_000) + b"{")
        file.truncate(100_000_100)
    assert "at most 2,097,152 bytes" in str(refused(folder, "100 MB header"))


def test_many_empty_tensors_are_refused(folder: Path) -> None:
    # As many as fit into a header; the reference library takes seconds over a million.
    names = {f"t{number}": entry(0, 0) for number in range(35_000)}
    (folder / "model.safetensors").write_bytes(safetensors_bytes(names))
    assert "expected at most 16,384 tensors" in str(refused(folder, "35,000 empty tensors"))


def test_safetensors_cut_anywhere_is_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = path.read_bytes()
    header_end = 8 + struct.unpack("<Q", content[:8])[0]
    cuts = [0, 4, 8, 9, header_end // 2, header_end - 1, header_end, header_end + 1]
    for cut in (*cuts, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:cut])
        assert isinstance(refused(folder, f"safetensors cut at {cut}"), BadModelFile)


def test_flipped_bits_in_a_safetensors_header_never_change_the_model(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = path.read_bytes()
    good = open_model(folder)
    header_end = 8 + struct.unpack("<Q", content[:8])[0]
    accepted = check_mutations(folder, path, content, header_end, good)
    # What is left to accept: the free text of __metadata__ and the spaces of the padding.
    assert accepted <= MUTATIONS // 10
