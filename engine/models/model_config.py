"""What a model is: `ModelConfig`, with the keys of config.json, read from JSON or GGUF metadata.

Whatever the engine does not compute is refused by key and value; nothing that changes the numbers
is ever guessed (`rope_theta` has no default).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadModelFile, UnsupportedModel
from engine.models.json_file import read_json_object

SUPPORTED_ARCHITECTURES = ("qwen3", "llama")
"""Values of `model_type` (and of GGUF's `general.architecture`) that the engine computes."""

CONFIG_LIMIT_BYTES = 1 << 20
"""Largest config.json that is read; real ones have about 1 kB."""

_CLASS_NAMES = {"qwen3": "Qwen3ForCausalLM", "llama": "LlamaForCausalLM"}
_DTYPES = ("bfloat16", "float16", "float32")

# Keys that change the computation, and the only value with which the engine computes the same.
_INERT_VALUES: dict[str, object] = {
    "attention_bias": False,
    "mlp_bias": False,
    "use_sliding_window": False,
    "rope_interleaved": False,
    "partial_rotary_factor": 1.0,
    "hidden_act": "silu",
    "quantization_config": None,
}

# Bounds (inclusive) that keep a hostile config from asking for absurd allocations or loops.
_SIZE_BOUNDS: dict[str, tuple[int, int]] = {
    "num_hidden_layers": (1, 512),
    "hidden_size": (2, 1 << 16),
    "intermediate_size": (1, 1 << 18),
    "num_attention_heads": (1, 1024),
    "num_key_value_heads": (1, 1024),
    "head_dim": (2, 1024),
    "vocab_size": (1, 1 << 21),
    "max_position_embeddings": (1, 1 << 24),
}


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Sizes and constants of one decoder model; the fields are the keys of config.json."""

    model_type: str
    num_hidden_layers: int
    hidden_size: int
    intermediate_size: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    vocab_size: int
    rms_norm_eps: float
    rope_theta: float
    max_position_embeddings: int
    tie_word_embeddings: bool

    @property
    def qk_norm(self) -> bool:
        """Whether each head of q and k is RMS-normed before the rotation (Qwen3)."""
        return self.model_type == "qwen3"

    @classmethod
    def from_json(cls, path: Path) -> ModelConfig:
        """Read a config.json.

        Raises:
            ModelFileMissing: there is no such file.
            BadModelFile: not JSON, a key missing, a wrong type, sizes that contradict each other.
            UnsupportedModel: a key has a value that the engine does not compute.
        """
        return cls.from_dict(read_json_object(path, CONFIG_LIMIT_BYTES, "the model"), str(path))

    @classmethod
    def from_dict(cls, values: Mapping[str, object], where: str) -> ModelConfig:
        """Check the parsed keys of config.json; `where` names their source. Raises: `from_json`."""
        model_type = _architecture(values, where)
        for key, inert in _INERT_VALUES.items():
            if values.get(key, inert) not in (inert, None):
                raise UnsupportedModel(key, _shown(values[key]), _shown(inert))
        _refuse_sliding_window(values, model_type, where)
        _check_dtype(values, where)
        heads = _integer(values, "num_attention_heads", where)
        config = cls(
            model_type=model_type,
            num_hidden_layers=_integer(values, "num_hidden_layers", where),
            hidden_size=_integer(values, "hidden_size", where),
            intermediate_size=_integer(values, "intermediate_size", where),
            num_attention_heads=heads,
            num_key_value_heads=_kv_heads(values, model_type, heads, where),
            head_dim=_head_dim(values, model_type, heads, where),
            vocab_size=_integer(values, "vocab_size", where),
            rms_norm_eps=_number(values, "rms_norm_eps", where),
            rope_theta=_rope_theta(values, where),
            max_position_embeddings=_integer(values, "max_position_embeddings", where),
            tie_word_embeddings=_boolean(values, "tie_word_embeddings", where),
        )
        check_config(config, where)
        return config


def check_config(config: ModelConfig, where: str) -> None:
    """Refuse sizes that are out of bounds or contradict each other.

    Raises:
        BadModelFile: names the key, what was expected and what was found.
    """
    for key, (low, high) in _SIZE_BOUNDS.items():
        value = getattr(config, key)
        if not low <= value <= high:
            raise BadModelFile(where, f"{key}: expected {low:,} to {high:,}, found {value}")
    if config.num_attention_heads % config.num_key_value_heads:
        raise BadModelFile(
            where,
            f"num_attention_heads: expected a multiple of num_key_value_heads "
            f"({config.num_key_value_heads}), found {config.num_attention_heads}",
        )
    if config.head_dim % 2:
        raise BadModelFile(
            where, f"head_dim: expected an even number (rotated in pairs), found {config.head_dim}"
        )
    if not 0.0 < config.rms_norm_eps < 1.0:
        raise BadModelFile(
            where,
            f"rms_norm_eps: expected more than 0 and less than 1, found {config.rms_norm_eps}",
        )
    if not 1.0 < config.rope_theta < 1e12:
        raise BadModelFile(
            where, f"rope_theta: expected more than 1 and less than 1e12, found {config.rope_theta}"
        )


def _shown(value: object) -> str:
    # JSON words instead of Python's, and never a page of them.
    words = {None: "null", True: "true", False: "false"}
    if value is None or isinstance(value, bool):
        return words[value]
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _required(values: Mapping[str, object], key: str, where: str) -> object:
    value = values.get(key)
    if value is None:
        raise BadModelFile(where, f"{key} is missing")
    return value


def _integer(values: Mapping[str, object], key: str, where: str) -> int:
    value = _required(values, key, where)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadModelFile(where, f"{key}: expected a whole number, found {_shown(value)}")
    return value


def _as_number(value: object, key: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadModelFile(where, f"{key}: expected a number, found {_shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise BadModelFile(where, f"{key}: expected a finite number, found {_shown(value)}")
    return number


def _number(values: Mapping[str, object], key: str, where: str) -> float:
    return _as_number(_required(values, key, where), key, where)


def _boolean(values: Mapping[str, object], key: str, where: str) -> bool:
    # Absent means false, as in Hugging Face for both families.
    value = values.get(key, False)
    if not isinstance(value, bool):
        raise BadModelFile(where, f"{key}: expected true or false, found {_shown(value)}")
    return value


def _architecture(values: Mapping[str, object], where: str) -> str:
    model_type = _required(values, "model_type", where)
    supported = ", ".join(SUPPORTED_ARCHITECTURES)
    if not isinstance(model_type, str):
        raise BadModelFile(where, f"model_type: expected a name, found {_shown(model_type)}")
    if model_type not in SUPPORTED_ARCHITECTURES:
        raise UnsupportedModel("architecture", _shown(model_type), supported)
    architectures = values.get("architectures")
    if architectures not in (None, [_CLASS_NAMES[model_type]]):
        # For example a classifier on the same trunk: it has no lm_head to chat with.
        raise UnsupportedModel("architecture", _shown(architectures), _CLASS_NAMES[model_type])
    return model_type


def _refuse_sliding_window(values: Mapping[str, object], model_type: str, where: str) -> None:
    # Qwen3 files may name a window that `use_sliding_window: false` switches off.
    window = values.get("sliding_window")
    if window is not None and model_type != "qwen3":
        raise UnsupportedModel("sliding_window", _shown(window), "null")
    layer_types = values.get("layer_types")
    if layer_types is None:
        return
    if not isinstance(layer_types, list):
        raise BadModelFile(where, f"layer_types: expected a list, found {_shown(layer_types)}")
    for layer_type in layer_types:
        if layer_type != "full_attention":
            raise UnsupportedModel("layer_types", _shown(layer_type), "full_attention")
    layers = _integer(values, "num_hidden_layers", where)
    if len(layer_types) != layers:
        raise BadModelFile(
            where, f"layer_types: expected {layers} entries, found {len(layer_types)}"
        )


def _check_dtype(values: Mapping[str, object], where: str) -> None:
    found = {key: values[key] for key in ("torch_dtype", "dtype") if values.get(key) is not None}
    for key, value in found.items():
        if value not in _DTYPES:
            raise UnsupportedModel(key, _shown(value), ", ".join(_DTYPES))
    if len(found) == 2 and found["torch_dtype"] != found["dtype"]:
        raise BadModelFile(
            where, f"torch_dtype {found['torch_dtype']} contradicts dtype {found['dtype']}"
        )


def _kv_heads(values: Mapping[str, object], model_type: str, heads: int, where: str) -> int:
    if model_type == "llama" and values.get("num_key_value_heads") is None:
        return heads
    return _integer(values, "num_key_value_heads", where)


def _head_dim(values: Mapping[str, object], model_type: str, heads: int, where: str) -> int:
    if model_type != "llama" or values.get("head_dim") is not None:
        return _integer(values, "head_dim", where)
    hidden_size = _integer(values, "hidden_size", where)
    if heads < 1 or hidden_size % heads:
        raise BadModelFile(
            where,
            f"hidden_size: expected a multiple of num_attention_heads ({heads}) since head_dim "
            f"is missing, found {hidden_size}",
        )
    return hidden_size // heads


def _rope_theta(values: Mapping[str, object], where: str) -> float:
    """Read theta from both spellings, refusing every kind of scaling and any disagreement."""
    thetas: dict[str, float] = {}
    if values.get("rope_theta") is not None:
        thetas["rope_theta"] = _number(values, "rope_theta", where)
    for key in ("rope_parameters", "rope_scaling"):
        rope = values.get(key)
        if rope is None:
            continue
        if not isinstance(rope, dict):
            raise BadModelFile(where, f"{key}: expected an object, found {_shown(rope)}")
        for name, value in rope.items():
            if name == "rope_theta":
                thetas[f"{key}.rope_theta"] = _as_number(value, f"{key}.rope_theta", where)
            elif name in ("rope_type", "type"):
                if value != "default":
                    raise UnsupportedModel(f"{key}.{name}", _shown(value), "default")
            elif name != "partial_rotary_factor" or value not in (None, 1, 1.0):
                raise UnsupportedModel(f"{key}.{_shown(name)}", _shown(value), "no rope scaling")
    if not thetas:
        raise BadModelFile(where, "rope_theta is missing; it is never guessed")
    if len(set(thetas.values())) > 1:
        found = ", ".join(f"{key} {value:g}" for key, value in thetas.items())
        raise BadModelFile(where, f"rope_theta: the file contradicts itself: {found}")
    return next(iter(thetas.values()))
