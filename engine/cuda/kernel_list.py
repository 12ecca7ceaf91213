"""Which files of `kernels/` a model needs on a GPU, with which options: all are compiled at load.

A file that is missing here is compiled at its first use instead, which would be in the middle of a
reply; a test walks through a load, a prefill and a decode run and compares.
"""

from __future__ import annotations

from engine.cuda.decode_product import decode_products
from engine.cuda.kernel_source import KernelSource
from engine.cuda.qkv_attention import QkvAttention
from engine.models.memory_plan import DECODE_SPLITS
from engine.models.model_config import ModelConfig

_PLAIN = (
    "embedding",
    "rms_norm",
    "gemm",
    "qk_norm_rope",
    "attention_prefill",
    "swiglu",
    "sample_scores",
    "sample_draw",
    "sample_top_k",
)


def kernel_sources(
    config: ModelConfig, attention: QkvAttention | None = None
) -> list[KernelSource]:
    """Every compilation that loading, prefill and decode make use of."""
    clusters = [] if attention is None else [attention.defines]
    return [
        *(KernelSource("qkv_attention_cluster", defines) for defines in clusters),
        *map(KernelSource, _PLAIN),
        KernelSource("decode_attention", (f"-DATTENTION_SPLITS={DECODE_SPLITS}",)),
        *(KernelSource("decode_product", p.defines) for p in decode_products(config, {}).all()),
    ]
