"""Which files of `kernels/` a model needs on a GPU, with which options: all are compiled at load.

A file that is missing here is compiled at its first use instead, which would be in the middle of a
reply; a test walks through a load, a prefill and a decode run and compares.
"""

from __future__ import annotations

from engine.cuda.decode_product import decode_products
from engine.cuda.kernel_source import KernelSource
from engine.cuda.self_attention import SelfAttention
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
    config: ModelConfig, attention: SelfAttention | None = None
) -> list[KernelSource]:
    """Every compilation that loading, prefill and decode make use of."""
    products = decode_products(config, {})
    of_clusters = []
    if attention is not None:
        of_clusters.append(KernelSource("self_attention_cluster", attention.defines))
        of_clusters += [KernelSource(p.file, p.defines) for p in products.joining()]
    return [
        *of_clusters,
        *map(KernelSource, _PLAIN),
        KernelSource("decode_attention", (f"-DATTENTION_SPLITS={DECODE_SPLITS}",)),
        *(KernelSource(p.file, p.defines) for p in products.all()),
    ]
