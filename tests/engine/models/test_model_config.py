"""Reading config.json: what is read, what is refused by key and value, what is called damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import BadModelFile, ModelFileMissing, UnsupportedModel
from engine.models.model_config import ModelConfig
from tests.engine.models.tiny_model import tiny_config

QWEN3_FOLDER = Path(__file__).parents[4] / "shared" / "qwen3-0.6b"


def read(family: str = "qwen3", /, **overrides: Any) -> ModelConfig:
    return ModelConfig.from_dict(tiny_config(family) | overrides, "config.json")


@pytest.mark.skipif(not QWEN3_FOLDER.is_dir(), reason="../shared/qwen3-0.6b is not here")
def test_true_qwen3_config_is_read() -> None:
    assert ModelConfig.from_json(QWEN3_FOLDER / "config.json") == ModelConfig(
        model_type="qwen3",
        num_hidden_layers=28,
        hidden_size=1024,
        intermediate_size=3072,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=128,
        vocab_size=151936,
        rms_norm_eps=1e-6,
        rope_theta=1e6,
        max_position_embeddings=40960,
        tie_word_embeddings=True,
    )


def test_only_qwen3_norms_q_and_k() -> None:
    assert read("qwen3").qk_norm
    assert not read("llama").qk_norm


def test_llama_head_dim_and_kv_heads_follow_from_hidden_size_and_heads() -> None:
    config = read("llama", num_key_value_heads=None)
    assert (config.head_dim, config.num_key_value_heads) == (16, 4)
    assert read("llama", head_dim=24).head_dim == 24


def test_qwen3_head_dim_is_never_guessed() -> None:
    with pytest.raises(BadModelFile, match="head_dim is missing"):
        read("qwen3", head_dim=None)


@pytest.mark.parametrize(
    "spelling",
    [
        {"rope_theta": 500000.0},
        {"rope_theta": None, "rope_parameters": {"rope_theta": 500000, "rope_type": "default"}},
        {"rope_theta": 500000, "rope_parameters": {"rope_theta": 500000.0}},
        {"rope_theta": 500000, "rope_scaling": {"type": "default"}},
    ],
)
def test_both_spellings_of_theta_are_read(spelling: dict[str, Any]) -> None:
    assert read("llama", **spelling).rope_theta == 500000.0


@pytest.mark.parametrize("dtype", [{"torch_dtype": "float16"}, {"dtype": "float16"}])
def test_both_spellings_of_dtype_are_read(dtype: dict[str, Any]) -> None:
    assert read(**{"torch_dtype": None} | dtype).model_type == "qwen3"


def test_window_that_qwen3_switches_off_is_inert() -> None:
    assert read("qwen3", sliding_window=4096, use_sliding_window=False).num_hidden_layers == 2
    assert read("qwen3", layer_types=["full_attention"] * 2).num_hidden_layers == 2


UNSUPPORTED: list[tuple[str, dict[str, Any], str, str]] = [
    ("qwen3", {"model_type": "gemma3"}, "architecture", "gemma3"),
    ("qwen3", {"model_type": "qwen3_moe"}, "architecture", "qwen3_moe"),
    ("qwen3", {"architectures": ["Qwen3ForSequenceClassification"]}, "architecture", "Sequence"),
    ("llama", {"architectures": ["Qwen3ForCausalLM"]}, "architecture", "Qwen3ForCausalLM"),
    ("llama", {"rope_scaling": {"rope_type": "llama3", "factor": 8}}, "rope_scaling", "llama3"),
    ("qwen3", {"rope_scaling": {"type": "yarn"}}, "rope_scaling.type", "yarn"),
    ("qwen3", {"rope_scaling": {"factor": 2.0}}, "rope_scaling.factor", "2.0"),
    ("qwen3", {"rope_parameters": {"rope_type": "linear"}}, "rope_parameters", "linear"),
    (
        "qwen3",
        {"rope_parameters": {"full_attention": {"rope_theta": 1e6}}},
        "rope_parameters.full_attention",
        "rope_theta",
    ),
    ("qwen3", {"use_sliding_window": True}, "use_sliding_window", "true"),
    ("llama", {"sliding_window": 4096}, "sliding_window", "4096"),
    ("qwen3", {"layer_types": ["full_attention", "sliding_attention"]}, "layer_types", "sliding"),
    ("qwen3", {"attention_bias": True}, "attention_bias", "true"),
    ("llama", {"attention_bias": True}, "attention_bias", "true"),
    ("llama", {"mlp_bias": True}, "mlp_bias", "true"),
    ("llama", {"rope_interleaved": True}, "rope_interleaved", "true"),
    ("llama", {"partial_rotary_factor": 0.5}, "partial_rotary_factor", "0.5"),
    ("qwen3", {"hidden_act": "gelu"}, "hidden_act", "gelu"),
    ("qwen3", {"torch_dtype": "float8_e4m3fn"}, "torch_dtype", "float8_e4m3fn"),
    ("qwen3", {"dtype": "int8"}, "dtype", "int8"),
    ("qwen3", {"quantization_config": {"quant_method": "awq"}}, "quantization_config", "awq"),
]


@pytest.mark.parametrize(("model_type", "overrides", "key", "value"), UNSUPPORTED)
def test_what_is_not_computed_is_refused_by_key_and_value(
    model_type: str, overrides: dict[str, Any], key: str, value: str
) -> None:
    with pytest.raises(UnsupportedModel) as caught:
        read(model_type, **overrides)
    assert caught.value.key.startswith(key)
    assert value in str(caught.value.value)


def test_another_architecture_is_refused_by_name() -> None:
    with pytest.raises(UnsupportedModel) as caught:
        read(model_type="gemma3")
    assert str(caught.value) == "architecture gemma3 is not supported; supported: qwen3, llama"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"model_type": None}, "model_type is missing"),
    ({"model_type": 3}, "model_type: expected a name"),
    ({"rope_theta": None}, "rope_theta is missing; it is never guessed"),
    ({"rope_parameters": {"rope_theta": 1e4}}, "contradicts itself"),
    ({"rope_parameters": [1]}, "rope_parameters: expected an object"),
    ({"rope_theta": "1e6"}, "rope_theta: expected a number"),
    ({"rope_theta": True}, "rope_theta: expected a number"),
    ({"rope_theta": 10**400}, "rope_theta: expected a finite number"),
    ({"rope_theta": -1.0}, "rope_theta: expected more than 1"),
    ({"torch_dtype": "bfloat16", "dtype": "float32"}, "contradicts dtype float32"),
    ({"rms_norm_eps": None}, "rms_norm_eps is missing"),
    ({"rms_norm_eps": 0}, "rms_norm_eps: expected more than 0"),
    ({"num_hidden_layers": -1}, "num_hidden_layers: expected 1 to"),
    ({"num_hidden_layers": 10**9}, "num_hidden_layers: expected 1 to"),
    ({"num_hidden_layers": 2.0}, "num_hidden_layers: expected a whole number"),
    ({"num_hidden_layers": True}, "num_hidden_layers: expected a whole number"),
    ({"hidden_size": 0}, "hidden_size: expected 2 to"),
    ({"intermediate_size": 10**12}, "intermediate_size: expected 1 to"),
    ({"vocab_size": 10**10}, "vocab_size: expected 1 to"),
    ({"head_dim": 31}, "head_dim: expected an even number"),
    ({"num_key_value_heads": 0}, "num_key_value_heads: expected 1 to"),
    ({"num_key_value_heads": 3}, "multiple of num_key_value_heads"),
    ({"num_attention_heads": 0}, "num_attention_heads: expected 1 to"),
    ({"max_position_embeddings": 2**40}, "max_position_embeddings: expected 1 to"),
    ({"tie_word_embeddings": "yes"}, "tie_word_embeddings: expected true or false"),
    ({"layer_types": "full_attention"}, "layer_types: expected a list"),
    ({"layer_types": ["full_attention"]}, "layer_types: expected 2 entries, found 1"),
]


@pytest.mark.parametrize(("overrides", "message"), BAD)
def test_damaged_values_are_named(overrides: dict[str, Any], message: str) -> None:
    with pytest.raises(BadModelFile, match=message):
        read(**overrides)


@pytest.mark.parametrize("heads", [0, 5])
def test_llama_heads_that_do_not_divide_are_named(heads: int) -> None:
    with pytest.raises(BadModelFile, match="expected"):
        read("llama", num_attention_heads=heads)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "expected JSON"),
        (b"{", "expected JSON"),
        (b"[]", "expected a JSON object, found list"),
        (b"\xff\xfe{}", "expected UTF-8"),
        (b'{"a": 1, "a": 1}', "duplicate key 'a'"),
        (b'{"rope_theta": NaN}', "NaN is not JSON"),
        (b'{"a": ' + b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' + b"1" * 5000 + b"}", "expected JSON"),
        (b" " * (2 << 20), "expected at most"),
    ],
)
def test_files_that_are_no_json_object_are_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(BadModelFile, match=message):
        ModelConfig.from_json(path)


def test_missing_config_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelFileMissing, match=r"config\.json does not exist"):
        ModelConfig.from_json(tmp_path / "config.json")


def test_config_file_is_read_as_written(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(tiny_config("llama")))
    assert ModelConfig.from_json(path) == read("llama")
