"""Proof 7 for GGUF: every damaged or hostile file ends in one typed error (`-s` prints times)."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.errors import BadModelFile, EngineError
from engine.models.model_files import open_model
from tests.engine.models.hostile import MUTATIONS, check_mutations, refused
from tests.engine.models.tiny_gguf import make_tiny_gguf


@pytest.fixture(scope="module")
def gguf_content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    return make_tiny_gguf(path, model_type="llama", block_type="Q8_0").read_bytes()


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
