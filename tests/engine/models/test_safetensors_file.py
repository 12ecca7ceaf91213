"""Our safetensors reader against the reference library: same tensors, never more permissive."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file

from engine.errors import BadModelFile, EngineError, ModelFileMissing
from engine.models.safetensors_file import open_safetensors
from tests.engine.models.tiny_model import make_tiny_model, safetensors_bytes

FOUR_BYTES = {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}


def test_tensors_equal_the_reference_library(tmp_path: Path) -> None:
    path = make_tiny_model(tmp_path, dtype="F32") / "model.safetensors"
    reference = load_file(path)
    file = open_safetensors(path)
    assert set(file.tensors) == set(reference)
    for name, expected in reference.items():
        np.testing.assert_array_equal(file.read(name), expected)


def test_bf16_comes_as_its_bits(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(safetensors_bytes({"a": FOUR_BYTES}, b"\x80\x3f\x00\xc0"))
    assert open_safetensors(path).read("a").tolist() == [0x3F80, 0xC000]


def test_aligned_tensors_are_views_of_the_file_and_rows_can_be_asked_for(tmp_path: Path) -> None:
    path = make_tiny_model(tmp_path) / "model.safetensors"
    file = open_safetensors(path)
    embedding = file.read("model.embed_tokens.weight")
    rows = file.read("model.embed_tokens.weight", 3, 7)
    assert np.shares_memory(embedding, rows)
    assert not rows.flags.owndata
    assert not rows.flags.writeable
    np.testing.assert_array_equal(embedding[3:7], rows)


def test_misaligned_tensors_are_copied_so_that_compiled_loops_can_read_them(
    tmp_path: Path,
) -> None:
    path = tmp_path / "m.safetensors"
    header = {"pad": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}
    header["a"] = {"dtype": "F32", "shape": [1], "data_offsets": [1, 5]}
    path.write_bytes(safetensors_bytes(header, b"\0" + np.float32(1.5).tobytes()))
    values = open_safetensors(path).read("a")
    assert values.flags.aligned
    assert values.tolist() == [1.5]


def test_file_cut_while_open_is_refused_before_it_is_touched(tmp_path: Path) -> None:
    path = make_tiny_model(tmp_path) / "model.safetensors"
    file = open_safetensors(path)
    with path.open("r+b") as handle:
        handle.truncate(5000)
    with pytest.raises(BadModelFile, match="bytes as when it was opened, found 5,000"):
        file.read("model.norm.weight")


def test_only_float_tensors_are_read(tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    entry = {"dtype": "I32", "shape": [1], "data_offsets": [0, 4]}
    path.write_bytes(safetensors_bytes({"a": entry}, bytes(4)))
    with pytest.raises(BadModelFile, match="a: expected dtype BF16, F16 or F32, found I32"):
        open_safetensors(path).read("a")
    with pytest.raises(BadModelFile, match="tensor b is missing"):
        open_safetensors(path).read("b")


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissing, match=r"m\.safetensors does not exist"):
        open_safetensors(tmp_path / "m.safetensors")


def refuses_less_than_reference(path: Path, content: bytes) -> str | None:
    """What is wrong where we accept a file that the reference refuses or reads differently."""
    path.write_bytes(content)
    try:
        ours = open_safetensors(path)
    except EngineError:
        return None
    try:
        reference = safetensors.deserialize(content)
    except safetensors.SafetensorError as error:
        return f"accepted, though the reference says {error}"
    if {n: (list(e.shape), e.end - e.begin) for n, e in ours.tensors.items()} != {
        name: (value["shape"], len(value["data"])) for name, value in reference
    }:
        return "read differently"
    return None


# Values that a parser may take for a size, an offset or a text.
ODD_VALUES = st.sampled_from(
    [-1, 0, 1, 2, 4, 5, 8, 1.0, 1e300, True, None, "4", "BF16", "F64", "F4", "", [], [2, 2], [0],
     [0, 4], [4, 0], [2**63], [2**40, 2**40, 0], [0, 2**70], {}, 2**64, "\ud800", "a\u0000"]
)  # fmt: skip


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_never_accepts_what_the_reference_refuses_in_a_changed_header(
    tmp_path: Path, data: st.DataObject
) -> None:
    header: dict[str, Any] = {
        "__metadata__": {"format": "pt"},
        "a": dict(FOUR_BYTES),
        "b": {"dtype": "F32", "shape": [1, 1], "data_offsets": [4, 8]},
    }
    for _ in range(data.draw(st.integers(1, 3))):
        target = header[data.draw(st.sampled_from(["__metadata__", "a", "b"]))]
        key = data.draw(st.sampled_from([*target, "extra", "\ud800"]))
        target[key] = data.draw(ODD_VALUES)
    text = json.dumps(header, ensure_ascii=data.draw(st.booleans()))
    if data.draw(st.booleans()):
        # "-0" is an integer to Python and a float to the reference.
        text = text.replace("[0,", "[-0,")
    content = safetensors_bytes(text, bytes(data.draw(st.integers(0, 12))))
    assert refuses_less_than_reference(tmp_path / "m.safetensors", content) is None


@settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_never_accepts_what_the_reference_refuses_in_a_damaged_file(
    tmp_path: Path, data: st.DataObject
) -> None:
    header = {"__metadata__": {"format": "pt"}, "a": FOUR_BYTES}
    content = bytearray(safetensors_bytes(header, bytes(4)))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] = data.draw(st.integers(0, 255))
    assert refuses_less_than_reference(tmp_path / "m.safetensors", bytes(content)) is None
