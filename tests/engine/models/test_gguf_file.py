"""GGUF reading against the package `gguf`: metadata, tensor list, block types, real weights."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader
from gguf.quants import dequantize, quantize

from engine.errors import BadModelFile, UnsupportedModel
from engine.models.gguf_file import BLOCK_TYPES, open_gguf
from engine.models.gguf_model import half_split_rows
from engine.models.host_tensor import to_float32
from engine.models.model_config import ModelConfig
from engine.models.model_files import open_model
from tests.engine.models.tiny_gguf import make_tiny_gguf, permute
from tests.engine.models.tiny_model import random_tensors, tiny_config, tiny_vocabulary

SMOLLM2 = Path(__file__).parents[3] / ".fetched" / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"


def test_metadata_and_tensor_list_equal_the_package_reader(tmp_path: Path) -> None:
    path = make_tiny_gguf(tmp_path / "t.gguf", block_type="Q8_0")
    file = open_gguf(path)
    reader = GGUFReader(path)
    expected = {k: f.contents() for k, f in reader.fields.items() if not k.startswith("GGUF.")}
    assert file.metadata == expected
    assert {t.name: (t.block_type, t.shape, t.begin, t.nbytes) for t in file.tensors.values()} == {
        t.name: (t.tensor_type.name, tuple(t.shape[::-1].tolist()), t.data_offset, t.n_bytes)
        for t in reader.tensors
    }


def test_tokenizer_data_is_in_the_metadata(tmp_path: Path) -> None:
    model = open_model(make_tiny_gguf(tmp_path / "t.gguf"))
    assert model.gguf is not None
    assert model.gguf.metadata["tokenizer.ggml.merges"] == tiny_vocabulary()[1]
    assert model.gguf.metadata["tokenizer.ggml.add_bos_token"] is False


@pytest.mark.parametrize("block_type", ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0"])
def test_matrices_of_every_small_block_type_come_as_the_package_dequantizes_them(
    tmp_path: Path, block_type: str
) -> None:
    model = open_model(make_tiny_gguf(tmp_path / "t.gguf", block_type=block_type))
    kind = GGMLQuantizationType[block_type]
    stored = random_tensors(tiny_config(), 0, "F32")
    for name in ("model.embed_tokens.weight", "model.layers.1.self_attn.k_proj.weight"):
        tensor = model.tensor(name)
        assert tensor.dtype == block_type
        expected = dequantize(quantize(stored[name], kind), kind)
        np.testing.assert_array_equal(to_float32(tensor), expected)
        np.testing.assert_array_equal(to_float32(tensor, 7, 20), expected[7:20])


@pytest.mark.parametrize("block_type", BLOCK_TYPES)
def test_any_bytes_of_every_listed_block_type_are_dequantized_as_by_the_package(
    tmp_path: Path, block_type: str
) -> None:
    # Many types cannot be written by the package: take random bytes as blocks.
    kind = GGMLQuantizationType[block_type]
    name, rows, width = b"token_embd.weight", 3, 512
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name
    header += struct.pack("<IQQIQ", 2, width, rows, kind, 0)
    data = np.random.default_rng(1).bytes(rows * width * 4)
    path = tmp_path / "t.gguf"
    path.write_bytes(header + bytes(-len(header) % 32) + data)
    file = open_gguf(path)
    tensor = file.tensors["token_embd.weight"]
    raw = np.frombuffer(data, np.uint8, tensor.nbytes).reshape(rows, -1)
    with np.errstate(all="ignore"):
        expected = dequantize(raw.view(np.float32) if block_type == "F32" else raw, kind)
        if block_type == "F16":
            expected = raw.view(np.float16).astype(np.float32)
        found = file.read_rows(tensor, slice(0, rows))
        if block_type == "BF16":
            found = (found.astype(np.uint32) << 16).view(np.float32)
        np.testing.assert_array_equal(found.astype(np.float32), expected)


def test_half_split_rows_undo_the_converters_permutation() -> None:
    rows = np.arange(6 * 16, dtype=np.float32)[:, None]
    np.testing.assert_array_equal(permute(rows, 6)[half_split_rows(96, 6)], rows)


def test_qwen3_rows_are_left_as_they_are(tmp_path: Path) -> None:
    model = open_model(make_tiny_gguf(tmp_path / "t.gguf", block_type="F32"))
    name = "model.layers.0.self_attn.q_proj.weight"
    expected = random_tensors(tiny_config(), 0, "F32")[name]
    np.testing.assert_array_equal(to_float32(model.tensor(name)), expected)


def test_constants_come_back_as_written_in_config_json(tmp_path: Path) -> None:
    constants = {"rms_norm_eps": 1e-5, "rope_theta": 5_000_000.0}
    config = open_model(make_tiny_gguf(tmp_path / "t.gguf", **constants)).config
    assert (config.rms_norm_eps, config.rope_theta) == (1e-5, 5_000_000.0)


def test_vocabulary_size_must_be_the_embeddings(tmp_path: Path) -> None:
    path = make_tiny_gguf(tmp_path / "t.gguf", model_type="llama")
    content = path.read_bytes()
    key = b"llama.vocab_size" + struct.pack("<I", 4)
    path.write_bytes(content.replace(key + struct.pack("<I", 352), key + struct.pack("<I", 351)))
    with pytest.raises(BadModelFile, match="vocab_size: expected 352 as embedded, found 351"):
        open_model(path)


def test_another_architecture_is_refused_before_its_tensors_are_judged(tmp_path: Path) -> None:
    content = make_tiny_gguf(tmp_path / "t.gguf").read_bytes()
    path = tmp_path / "u.gguf"
    path.write_bytes(content.replace(b"\x05\0\0\0\0\0\0\0qwen3", b"\x05\0\0\0\0\0\0\0gemma", 1))
    with pytest.raises(UnsupportedModel, match=r"^architecture gemma is not supported"):
        open_model(path)


@pytest.mark.real
@pytest.mark.skipif(not SMOLLM2.is_file(), reason="SmolLM2 is not fetched (make test-real)")
def test_real_smollm2_opens_with_its_published_shape() -> None:
    model = open_model(SMOLLM2)
    assert model.config == ModelConfig(
        model_type="llama",
        num_hidden_layers=30,
        hidden_size=576,
        intermediate_size=1536,
        num_attention_heads=9,
        num_key_value_heads=3,
        head_dim=64,
        vocab_size=49152,
        rms_norm_eps=1e-5,
        rope_theta=100_000.0,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
    )
    assert len(model.tensor_names) == 272
    reader = {tensor.name: tensor for tensor in GGUFReader(SMOLLM2).tensors}
    for name, ours in (
        ("token_embd.weight", "model.embed_tokens.weight"),
        ("blk.29.ffn_down.weight", "model.layers.29.mlp.down_proj.weight"),
    ):
        expected = dequantize(reader[name].data, reader[name].tensor_type)
        np.testing.assert_array_equal(to_float32(model.tensor(ours)), expected)
    q_proj = dequantize(
        reader["blk.3.attn_q.weight"].data, reader["blk.3.attn_q.weight"].tensor_type
    )
    ours = to_float32(model.tensor("model.layers.3.self_attn.q_proj.weight"))
    np.testing.assert_array_equal(permute(ours, 9), q_proj)
