"""Skips everything here where there is no GPU, CuPy or torch; builds the models once."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SMOLLM2 = sorted((ROOT / ".fetched").rglob("*.gguf"))


def _unusable() -> str:
    try:
        import torch
        import transformers  # noqa: F401

        from engine.cuda.device import find_device

        find_device()
    except Exception as error:  # noqa: BLE001  (any reason is a reason to skip)
        return f"no GPU to test on: {error}"
    return "" if torch.cuda.is_available() else "torch sees no GPU"


def pytest_collection_modifyitems(items):
    here = [item for item in items if Path(item.fspath).is_relative_to(Path(__file__).parent)]
    reason = _unusable() if here else ""
    for item in here:
        item.add_marker(pytest.mark.gpu)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


def qwen3_config_path() -> Path:
    """The true config: beside the checkout, or carried into it (THINKPANE_QWEN3)."""
    folder = os.environ.get("THINKPANE_QWEN3", str(ROOT.parent / "shared" / "qwen3-0.6b"))
    return Path(folder) / "config.json"


@pytest.fixture(scope="session")
def random_qwen3(tmp_path_factory):
    """A folder of random bf16 weights in the full Qwen3-0.6B shape, written by transformers."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    if not qwen3_config_path().exists():
        pytest.skip(f"{qwen3_config_path()} is absent")
    # A folder that stays lets a benchmark use the same weights (THINKPANE_KEEP).
    keep = os.environ.get("THINKPANE_KEEP")
    folder = Path(keep) if keep else tmp_path_factory.mktemp("random_qwen3")
    folder.mkdir(parents=True, exist_ok=True)
    config = json.loads(qwen3_config_path().read_text())
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    model = Qwen3ForCausalLM(Qwen3Config(**config))
    torch.set_default_dtype(torch.float32)
    # Norm weights of one would hide a norm applied with the wrong weight. Every second token gets a
    # small embedding, as rare tokens have: else the first norm would not feel a tenfold eps.
    with torch.no_grad():
        model.model.embed_tokens.weight[::2].mul_(0.1)
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.uniform_(0.5, 1.5)
    model.save_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="session")
def smollm2(tmp_path_factory):
    """SmolLM2's dequantized weights, rounded to bf16, as a transformers folder."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    pytest.importorskip("gguf")
    from engine.models.host_tensor import to_float32
    from engine.models.model_files import open_model

    if not SMOLLM2:
        pytest.skip("SmolLM2's GGUF is not here (make fetch-smollm2)")
    files = open_model(SMOLLM2[0])
    c = files.config
    config = LlamaConfig(
        vocab_size=c.vocab_size,
        hidden_size=c.hidden_size,
        intermediate_size=c.intermediate_size,
        num_hidden_layers=c.num_hidden_layers,
        num_attention_heads=c.num_attention_heads,
        num_key_value_heads=c.num_key_value_heads,
        head_dim=c.head_dim,
        rms_norm_eps=c.rms_norm_eps,
        rope_theta=c.rope_theta,
        max_position_embeddings=c.max_position_embeddings,
        tie_word_embeddings=c.tie_word_embeddings,
    )
    torch.set_default_dtype(torch.bfloat16)
    model = LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    state = {name: torch.tensor(to_float32(files.tensor(name))) for name in files.tensor_names}
    model.load_state_dict(state, strict=False)
    folder = tmp_path_factory.mktemp("smollm2")
    model.save_pretrained(folder)
    return folder
