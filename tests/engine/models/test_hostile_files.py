"""Proof 7 for model files: every damaged or hostile file ends in one typed error.

Run with `-s` to see each case's time and message:
`python -m pytest tests/engine/models/test_hostile_files.py -s`
"""

from __future__ import annotations

import json
import random
import struct
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import BadModelFile, EngineError, ModelFileMissing, UnsupportedModel
from engine.models.model_files import ModelFiles, open_model
from tests.engine.models.tiny_gguf import make_tiny_gguf
from tests.engine.models.tiny_model import make_tiny_model, safetensors_bytes

MUTATIONS = 200


def refused(path: Path, case: str) -> EngineError:
    """Open the model, which must fail with a typed error of one line; print case and time."""
    start = time.perf_counter()
    with pytest.raises((BadModelFile, ModelFileMissing, UnsupportedModel)) as caught:
        open_model(path)
    elapsed_ms = (time.perf_counter() - start) * 1e3
    message = str(caught.value)
    print(f"{elapsed_ms:8.2f} ms  {case}: {message.replace(str(path), path.name)[:110]}")
    assert "\n" not in message
    assert len(message) < 1200
    return caught.value


def same_model(one: ModelFiles, other: ModelFiles) -> bool:
    """Whether both have the same tensors and sizes (constants may differ: no check can know)."""
    sizes = replace(
        one.config,
        rope_theta=other.config.rope_theta,
        rms_norm_eps=other.config.rms_norm_eps,
        max_position_embeddings=other.config.max_position_embeddings,
    )
    return sizes == other.config and {n: (t.dtype, t.shape) for n, t in one.tensors.items()} == {
        n: (t.dtype, t.shape) for n, t in other.tensors.items()
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_tiny_model(tmp_path / "model")


@pytest.fixture(scope="module")
def gguf_content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return make_tiny_gguf(path, model_type="llama", block_type="Q8_0").read_bytes()


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


def check_mutations(
    model: Path, path: Path, content: bytes, header_end: int, good: ModelFiles
) -> int:
    """Flip 1 to 3 bits before `header_end`, MUTATIONS times; return how many were accepted."""
    source = random.Random(7)
    accepted = 0
    worst_ms = 0.0
    for _ in range(MUTATIONS):
        mutated = bytearray(content)
        for _ in range(source.randint(1, 3)):
            mutated[source.randrange(header_end)] ^= 1 << source.randrange(8)
        path.write_bytes(mutated)
        start = time.perf_counter()
        try:
            opened = open_model(model)
        except EngineError:
            pass
        else:
            accepted += 1
            assert same_model(opened, good)
        worst_ms = max(worst_ms, (time.perf_counter() - start) * 1e3)
    print(f"{worst_ms:8.2f} ms  worst of {MUTATIONS} bit flips in {path.name}, {accepted} harmless")
    return accepted


# Offsets of the fixed part: magic 0, version 4, tensor count 8, metadata count 16, first key 24.
def patched(offset: int, code: str, value: int) -> Callable[[bytes], bytes]:
    def patch(content: bytes) -> bytes:
        data = bytearray(content)
        struct.pack_into(f"<{code}", data, offset, value)
        return bytes(data)

    return patch


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def patch(content: bytes) -> bytes:
        assert content.count(old) >= 1
        return content.replace(old, new, 1)

    return patch


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value.encode())) + value.encode()


def with_metadata(key: str, value_type: int, payload: bytes) -> Callable[[bytes], bytes]:
    """Put one more key in front of the others."""

    def patch(content: bytes) -> bytes:
        (count,) = struct.unpack_from("<Q", content, 16)
        added = text(key) + struct.pack("<I", value_type) + payload
        return content[:16] + struct.pack("<Q", count + 1) + added + content[24:]

    return patch


def uint32(value: int) -> bytes:
    return struct.pack("<I", value)


def array_of(value_type: int, count: int) -> bytes:
    return struct.pack("<IQ", value_type, count)


NORM = text("output_norm.weight") + struct.pack("<IQ", 1, 64)
EMBEDDING = text("token_embd.weight") + struct.pack("<IQQ", 2, 64, 352)
HOSTILE_GGUF: list[tuple[str, Callable[[bytes], bytes], str]] = [
    ("empty file", lambda _: b"", "at least 24 bytes"),
    ("wrong magic", replaced(b"GGUF", b"GGML"), "expected a GGUF file"),
    ("a zip", lambda _: b"PK\x03\x04" + bytes(100), "expected a GGUF file"),
    ("version 1", patched(4, "I", 1), "GGUF version 1 is not supported"),
    ("version 4", patched(4, "I", 4), "GGUF version 4 is not supported"),
    ("big-endian", patched(4, "I", 3 << 24), "3 in big-endian order"),
    ("huge tensor count", patched(8, "Q", 1 << 60), "tensor count: expected at most"),
    ("negative tensor count", patched(8, "q", -1), "tensor count: expected at most"),
    ("more tensors than listed", patched(8, "Q", 5000), "expected|found the end|type of tensor"),
    ("huge metadata count", patched(16, "Q", 1 << 40), "metadata count: expected at most"),
    ("huge key", patched(24, "Q", 1 << 62), "length of metadata key"),
    ("huge text", with_metadata("x", 8, struct.pack("<Q", 1 << 50)), "length of x"),
    ("text beyond the end", with_metadata("x", 8, struct.pack("<Q", 4_000_000)), "found the end"),
    ("text not UTF-8", with_metadata("x", 8, text("ab")[:-1] + b"\xff"), "UTF-8"),
    ("unknown value type", with_metadata("x", 13, b""), "unknown value type 13"),
    ("array of arrays", with_metadata("x", 9, array_of(9, 1)), "unknown value type 9"),
    ("huge array", with_metadata("x", 9, array_of(0, 1 << 61)), "length of x"),
    ("array beyond the end", with_metadata("x", 9, array_of(12, 1 << 20)), "found the end"),
    ("texts beyond the end", with_metadata("x", 9, array_of(8, 1 << 20)), "do not fit"),
    ("a truth value of 2", with_metadata("x", 7, b"\x02"), "expected true"),
    ("duplicate key", with_metadata("general.name", 8, text("x")), "duplicate metadata key"),
    ("alignment 0", with_metadata("general.alignment", 4, uint32(0)), "power of two"),
    ("alignment 48", with_metadata("general.alignment", 4, uint32(48)), "power of two"),
    ("alignment as text", with_metadata("general.alignment", 8, text("32")), "power of two"),
    ("split file", with_metadata("split.count", 2, b"\x03\x00"), "split.count 3"),
    ("architecture missing", replaced(b"general.architecture", b"general.brchitecture"), "missing"),
    ("another architecture", replaced(text("llama"), text("gemma")), "architecture gemma"),
    ("theta missing", replaced(b"llama.rope.freq_base", b"other.rope.freq_base"), "never guessed"),
    ("layers missing", replaced(b"llama.block_count", b"other.block_count"), "missing"),
    (
        "rope scaling",
        with_metadata("llama.rope.scaling.type", 8, text("yarn")),
        "llama.rope.scaling.type yarn is not supported",
    ),
    (
        "sliding window",
        with_metadata("llama.attention.sliding_window", 4, uint32(512)),
        "sliding_window 512 is not supported",
    ),
    ("experts", with_metadata("llama.expert_count", 4, uint32(8)), "expert_count 8"),
    ("a key not understood", with_metadata("llama.logit_scale", 4, uint32(8)), "logit_scale 8"),
    ("rotation of half a head", replaced(
        text("llama.rope.dimension_count") + uint32(4) + uint32(16),
        text("llama.rope.dimension_count") + uint32(4) + uint32(8),
    ), "rope.dimension_count 8"),
    ("heads per layer", replaced(
        text("llama.attention.head_count") + uint32(4) + uint32(4),
        text("llama.attention.head_count") + uint32(9) + array_of(4, 2) + uint32(4) * 2,
    ), "head_count: expected a whole number"),
    ("rope factors", replaced(text("output_norm.weight"), text("rope_freqs.weight")), "rope_freqs"),
    ("path as a name", replaced(text("output_norm.weight"), text("../../etc/passwd")), "missing"),
    ("same tensor twice", replaced(text("output.weight"), text("token_embd.weight")), "duplicate"),
    ("a bias", replaced(text("output_norm.weight"), text("blk.0.attn_q.bias")), "missing"),
    ("no dimensions", replaced(NORM, text("output_norm.weight") + uint32(0)), "1 to 4 dimensions"),
    ("1000 dimensions", replaced(NORM, text("output_norm.weight") + uint32(1000)), "1 to 4"),
    ("huge shape", replaced(NORM, NORM[:-8] + struct.pack("<Q", 1 << 63)), "shape of"),
    ("empty shape", replaced(NORM, NORM[:-8] + bytes(8)), "impossible shape"),
    (
        "product beyond 2^64",
        replaced(EMBEDDING, EMBEDDING[:-16] + struct.pack("<QQ", 1 << 40, 1 << 40)),
        "impossible shape",
    ),
    ("unknown tensor type", replaced(NORM + uint32(0), NORM + uint32(99)), "type of tensor .* 99"),
    ("type 4 (removed)", replaced(NORM + uint32(0), NORM + uint32(4)), "type of tensor .* 4"),
    ("integers as weights", replaced(NORM + uint32(0), NORM + uint32(26)), "I32 is not supported"),
    ("a vector of blocks", replaced(NORM + uint32(0), NORM + uint32(8)), "vector of floats"),
    (
        "rows of half blocks",
        replaced(EMBEDDING, EMBEDDING[:-16] + struct.pack("<QQ", 33, 352)),
        "whole Q8_0 blocks",
    ),
    (
        "offset beyond the end",
        replaced(EMBEDDING + uint32(8) + bytes(8), EMBEDDING + uint32(8) + b"\0\0\0\0\0\0\0\x7f"),
        "expected its data at 0",
    ),
    (
        "other sizes than its tensors",
        replaced(
            text("llama.feed_forward_length") + uint32(4) + uint32(96),
            text("llama.feed_forward_length") + uint32(4) + uint32(128),
        ),
        r"gate_proj.weight: expected \[128, 64\], found \[96, 64\]",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "message"),
    [case[1:] for case in HOSTILE_GGUF],
    ids=[case[0] for case in HOSTILE_GGUF],
)
def test_hostile_gguf_is_refused_by_rule(
    tmp_path: Path,
    gguf_content: bytes,
    damage: Callable[[bytes], bytes],
    message: str,
    request: pytest.FixtureRequest,
) -> None:
    path = tmp_path / "tiny.gguf"
    # Room for a header that has grown: the data then begins, and ends, later.
    damaged = damage(gguf_content)
    path.write_bytes(damaged and damaged + bytes(256))
    error = refused(path, request.node.callspec.id)
    assert pytest.RaisesExc(EngineError, match=message).matches(error)


def test_gguf_cut_anywhere_is_refused(tmp_path: Path, gguf_content: bytes) -> None:
    path = tmp_path / "tiny.gguf"
    metadata = [gguf_content.index(b"tokenizer.ggml.tokens") + step for step in (0, 30, 700)]
    listed = gguf_content.index(text("output_norm.weight"))
    # The last tensor ends before the padding of the file.
    end = len(gguf_content.rstrip(b"\0"))
    for cut in (0, 3, 7, 15, 23, 24, 100, *metadata, listed + 4, listed + 40, end // 2, end - 40):
        path.write_bytes(gguf_content[:cut])
        assert isinstance(refused(path, f"gguf cut at {cut}"), BadModelFile)


def test_gguf_cut_while_open_is_refused_before_it_is_touched(
    tmp_path: Path, gguf_content: bytes
) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf_content)
    model = open_model(path)
    with path.open("r+b") as file:
        file.truncate(3000)
    with pytest.raises(BadModelFile, match="found 3,000"):
        _ = model.tensor("model.norm.weight").array


def test_flipped_bits_in_a_gguf_header_never_change_the_model(
    tmp_path: Path, gguf_content: bytes
) -> None:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(gguf_content)
    good = open_model(path)
    # Sizes and tensor list; the vocabulary between them is the tokenizer's to judge.
    tokens = gguf_content.index(text("tokenizer.ggml.tokens"))
    check_mutations(path, path, gguf_content, tokens, good)
    listed = gguf_content.index(text("token_embd.weight"))
    last = gguf_content.index(text("output_norm.weight")) + 60
    head, table = gguf_content[:listed], gguf_content[listed:]
    source = random.Random(11)
    for _ in range(MUTATIONS):
        mutated = bytearray(table)
        mutated[source.randrange(last - listed)] ^= 1 << source.randrange(8)
        path.write_bytes(head + mutated)
        with pytest.raises(EngineError):
            open_model(path)


@pytest.mark.parametrize("cut", [0, 1, 40, 200])
def test_config_and_index_cut_anywhere_are_refused(tmp_path: Path, cut: int) -> None:
    model = make_tiny_model(tmp_path, shards=2)
    for name in ("model.safetensors.index.json", "config.json"):
        path = model / name
        path.write_bytes(path.read_bytes()[:cut])
        assert isinstance(refused(model, f"{name} cut at {cut}"), BadModelFile)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_flipped_bits_in_json_never_give_another_exception(tmp_path: Path, name: str) -> None:
    model = make_tiny_model(tmp_path, shards=2)
    path = model / name
    content = path.read_bytes()
    check_mutations(model, path, content, len(content), open_model(model))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors.index.json"])
def test_huge_json_is_refused_unread(tmp_path: Path, name: str) -> None:
    model = make_tiny_model(tmp_path, shards=2)
    with (model / name).open("wb") as file:
        file.write(b"{")
        file.truncate(1 << 30)
    assert "expected at most" in str(refused(model, f"{name} of 1 GB"))
