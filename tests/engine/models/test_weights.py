"""The list of needed weights, the check of a file against it, and rounding to bf16."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from engine.errors import BadModelFile
from engine.models.host_tensor import HostTensor, bf16_to_float32, to_bf16, to_bf16_rows
from engine.models.model_config import ModelConfig
from engine.models.model_files import open_model
from engine.models.weights import weight_blocks
from tests.engine.models.tiny_model import (
    make_tiny_model,
    random_tensors,
    tiny_config,
    write_safetensors,
)

Tensors = dict[str, np.ndarray]


@pytest.mark.parametrize("model_type", ["qwen3", "llama"])
def test_blocks_are_exactly_the_tensors_of_the_checkpoint(model_type: str) -> None:
    values = tiny_config(model_type)
    blocks = weight_blocks(ModelConfig.from_dict(values, "config.json"))
    stored = random_tensors(values, 0, "BF16")
    assert {part.name: part.shape for block in blocks for part in block.parts} == {
        name: array.shape for name, array in stored.items()
    }


def test_blocks_stack_q_k_v_and_gate_up_in_this_order() -> None:
    blocks = {b.name: b for b in weight_blocks(ModelConfig.from_dict(tiny_config(), "c"))}
    qkv = blocks["model.layers.1.self_attn.qkv_proj.weight"]
    assert [part.name.split(".")[-2] for part in qkv.parts] == ["q_proj", "k_proj", "v_proj"]
    assert qkv.shape == ((4 + 2 + 2) * 32, 64)
    gate_up = blocks["model.layers.0.mlp.gate_up_proj.weight"]
    assert [part.name.split(".")[-2] for part in gate_up.parts] == ["gate_proj", "up_proj"]
    assert (gate_up.shape, gate_up.size) == ((192, 64), 192 * 64)


def remove(tensors: Tensors) -> None:
    del tensors["model.layers.1.mlp.up_proj.weight"]


def swap_sizes(tensors: Tensors) -> None:
    name = "model.layers.1.self_attn.k_proj.weight"
    tensors[name] = tensors[name].reshape(32, 128)


def add_bias(tensors: Tensors) -> None:
    tensors["model.layers.0.self_attn.q_proj.bias"] = np.zeros(128, np.float32)


def add_layer(tensors: Tensors) -> None:
    tensors["model.layers.2.input_layernorm.weight"] = np.zeros(64, np.float32)


def wrong_head(tensors: Tensors) -> None:
    tensors["lm_head.weight"] = np.zeros((351, 64), np.float32)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (remove, "model.layers.1.mlp.up_proj.weight: missing"),
        (swap_sizes, "k_proj.weight: expected [64, 64], found [32, 128]"),
        (add_bias, "model.layers.0.self_attn.q_proj.bias: not a weight of a qwen3 model"),
        (add_layer, "model.layers.2.input_layernorm.weight: not a weight"),
        (wrong_head, "lm_head.weight: expected [352, 64], found [351, 64]"),
    ],
)
def test_differences_are_named_with_both_shapes(
    tmp_path: Path, damage: Callable[[Tensors], None], message: str
) -> None:
    folder = make_tiny_model(tmp_path)
    tensors = random_tensors(tiny_config(), 0, "BF16")
    damage(tensors)
    write_safetensors(folder / "model.safetensors", tensors)
    with pytest.raises(BadModelFile) as caught:
        open_model(folder)
    assert message in caught.value.reason


def test_many_differences_are_counted_not_listed(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path)
    write_safetensors(folder / "model.safetensors", {"x": np.zeros(1, np.float32)})
    with pytest.raises(BadModelFile, match=r"missing; and 20 more$"):
        open_model(folder)


def test_stored_head_of_a_tied_model_and_old_buffers_are_left_alone(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path)
    tensors = random_tensors(tiny_config(), 0, "BF16")
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"]
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.zeros(16, np.float32)
    write_safetensors(folder / "model.safetensors", tensors)
    loaded = {p.name for b in weight_blocks(open_model(folder).config) for p in b.parts}
    assert "lm_head.weight" not in loaded


def test_missing_head_of_an_untied_model_is_named(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path, tie_word_embeddings=False)
    write_safetensors(folder / "model.safetensors", random_tensors(tiny_config(), 0, "BF16"))
    with pytest.raises(BadModelFile, match=r"lm_head\.weight: missing"):
        open_model(folder)


def test_rounding_to_bf16_equals_ml_dtypes_for_all_kinds_of_values() -> None:
    # Every sign, exponent and kept mantissa, with the dropped half below, at and above the tie.
    high = np.arange(1 << 16, dtype=np.uint32) << 16
    low = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    values = (high[:, None] | low).reshape(-1).view(np.float32)
    finite = ~np.isnan(values)
    expected = values[finite].astype(ml_dtypes.bfloat16).view(np.uint16)
    np.testing.assert_array_equal(to_bf16(values[finite]), expected)
    assert np.isnan(bf16_to_float32(to_bf16(values[~finite]))).all()


def test_float16_rows_round_through_float32() -> None:
    values = np.array([1.0, 65504.0, 6e-8, -0.333], np.float16)
    tensor = HostTensor("a", "F16", (4,), 8, lambda begin, end: values[begin:end])
    expected = values.astype(np.float32).astype(ml_dtypes.bfloat16).view(np.uint16)
    np.testing.assert_array_equal(to_bf16_rows(tensor), expected)
    np.testing.assert_array_equal(to_bf16_rows(tensor, 1, 3), expected[1:3])
