"""Opening a model: folders and GGUF give the same tensors; every wrong path has a clear error."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import BadModelFile, ModelFileMissing, UnsupportedModel
from engine.models.host_tensor import to_bf16_rows, to_float32
from engine.models.model_files import open_model
from tests.engine.models.tiny_gguf import make_tiny_gguf
from tests.engine.models.tiny_model import (
    make_tiny_model,
    random_tensors,
    tiny_config,
    write_json,
    write_safetensors,
)


@pytest.mark.parametrize("model_type", ["qwen3", "llama"])
@pytest.mark.parametrize("shards", [1, 3])
def test_folder_gives_the_stored_tensors(tmp_path: Path, model_type: str, shards: int) -> None:
    folder = make_tiny_model(tmp_path / "tiny", model_type=model_type, shards=shards, seed=5)
    stored = random_tensors(tiny_config(model_type), 5, "BF16")
    model = open_model(folder)
    assert (model.name, model.format, model.gguf) == ("tiny", "safetensors", None)
    assert set(model.tensor_names) == set(stored)
    assert model.nbytes == sum(values.nbytes for values in stored.values())
    for name, values in stored.items():
        tensor = model.tensor(name)
        assert (tensor.dtype, tensor.shape) == ("BF16", values.shape)
        np.testing.assert_array_equal(tensor.array, values)


@pytest.mark.parametrize("dtype", ["BF16", "F16", "F32"])
def test_every_float_dtype_is_widened_exactly(tmp_path: Path, dtype: str) -> None:
    model = open_model(make_tiny_model(tmp_path, dtype=dtype))
    stored = random_tensors(tiny_config(), 0, dtype)["model.norm.weight"]
    tensor = model.tensor("model.norm.weight")
    expected = (
        (stored.astype(np.uint32) << 16).view(np.float32)
        if dtype == "BF16"
        else stored.astype(np.float32)
    )
    np.testing.assert_array_equal(to_float32(tensor), expected)
    np.testing.assert_array_equal(to_float32(tensor, 3, 9), expected[3:9])
    assert to_bf16_rows(tensor).dtype == np.uint16


def test_opening_reads_no_weights(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, vocab_size=60_000)
    tracemalloc.start()
    try:
        model = open_model(folder)
        model.tensor("model.embed_tokens.weight").read_rows(0, 60_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # The buffers for config.json and the header take about 1 MB.
    assert model.nbytes > 7_000_000
    assert peak < 2_000_000


@pytest.mark.parametrize("model_type", ["qwen3", "llama"])
@pytest.mark.parametrize("tied", [True, False])
def test_gguf_gives_the_config_and_tensors_of_the_folder_it_was_made_from(
    tmp_path: Path, model_type: str, tied: bool
) -> None:
    sizes = {"tie_word_embeddings": tied, "num_attention_heads": 6, "hidden_size": 96}
    folder = open_model(
        make_tiny_model(tmp_path / "f", model_type=model_type, dtype="F32", **sizes)
    )
    path = make_tiny_gguf(tmp_path / "t.gguf", model_type=model_type, block_type="F32", **sizes)
    gguf = open_model(path)
    assert (gguf.name, gguf.format) == ("t", "gguf")
    assert gguf.config == folder.config
    assert set(gguf.tensor_names) == set(folder.tensor_names)
    for name in folder.tensor_names:
        np.testing.assert_array_equal(
            to_float32(gguf.tensor(name)), to_float32(folder.tensor(name)), err_msg=name
        )


def test_rows_of_a_permuted_matrix_are_rows_of_the_whole(tmp_path: Path) -> None:
    model = open_model(make_tiny_gguf(tmp_path / "t.gguf", model_type="llama", block_type="Q8_0"))
    tensor = model.tensor("model.layers.1.self_attn.q_proj.weight")
    whole = to_float32(tensor)
    np.testing.assert_array_equal(
        np.concatenate([to_float32(tensor, 0, 5), to_float32(tensor, 5, 64)]), whole
    )


def test_missing_paths_are_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissing, match="nowhere does not exist"):
        open_model(tmp_path / "nowhere")
    with pytest.raises(ModelFileMissing, match=r"config\.json does not exist"):
        open_model(tmp_path)
    make_tiny_model(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ModelFileMissing, match=r"model\.safetensors does not exist"):
        open_model(tmp_path)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth"])
def test_pickle_is_refused_by_name_and_never_opened(tmp_path: Path, name: str) -> None:
    make_tiny_model(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / name)
    for path in (tmp_path, tmp_path / name):
        with pytest.raises(UnsupportedModel, match=rf"{name} \(a pickle file\)"):
            open_model(path)


@pytest.mark.parametrize("name", ["model.safetensors", "notes.txt", "noname"])
def test_other_kinds_of_file_are_refused_by_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"text")
    with pytest.raises(UnsupportedModel, match=rf"model file {name}.*a folder with config\.json"):
        open_model(tmp_path / name)


def test_folder_that_holds_a_gguf_names_it(tmp_path: Path) -> None:
    (tmp_path / "tiny.gguf").write_bytes(b"")
    with pytest.raises(UnsupportedModel, match=r"the file itself: tiny\.gguf"):
        open_model(tmp_path)


def test_unreadable_path_is_a_typed_error(tmp_path: Path) -> None:
    with pytest.raises(BadModelFile, match="cannot be read"):
        open_model(tmp_path / ("n" * 300))


@pytest.mark.parametrize(
    "shard",
    [
        "../model.safetensors", "/etc/passwd.safetensors", "a/b.safetensors", "a\\b.safetensors",
        "C:x.safetensors", "..safetensors", "model.bin", "x\u0000.safetensors", 7, None, ["x"],
    ],
)  # fmt: skip
def test_index_names_only_plain_files_of_its_folder(tmp_path: Path, shard: object) -> None:
    folder = make_tiny_model(tmp_path / "f", shards=2)
    index_path = folder / "model.safetensors.index.json"
    index: dict[str, Any] = json.loads(index_path.read_text())
    index["weight_map"]["model.norm.weight"] = shard
    write_json(index_path, index)
    with pytest.raises(BadModelFile, match="expected a safetensors file of this folder"):
        open_model(folder)


@pytest.mark.parametrize("index", [{}, {"weight_map": {}}, {"weight_map": ["a"]}])
def test_index_without_a_map_is_refused(tmp_path: Path, index: dict[str, Any]) -> None:
    folder = make_tiny_model(tmp_path, shards=2)
    write_json(folder / "model.safetensors.index.json", index)
    with pytest.raises(BadModelFile, match="weight_map"):
        open_model(folder)


def test_shard_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, shards=2)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelFileMissing, match="model-00002-of-00002"):
        open_model(folder)


def test_every_tensor_lies_in_exactly_the_shard_of_the_index(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, shards=2)
    twice = {"model.norm.weight": np.ones(64, np.float32)}
    write_safetensors(folder / "model-00001-of-00002.safetensors", twice)
    with pytest.raises(BadModelFile, match=r"index and model-0000[12]\S+ disagree"):
        open_model(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path) -> None:
    pipe = tmp_path / "model.gguf"
    os.mkfifo(pipe)
    with pytest.raises(BadModelFile, match="found a pipe"):
        open_model(pipe)
