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
    config: ModelConfig, attention: SelfAttention | None = None, *, several: bool = True
) -> list[KernelSource]:
    """Every compilation that loading, prefill and decode make use of.

    `attention` is how self-attention is launched in clusters, if it is; `several` says that more
    than one sequence may decode at a time, which clusters do not serve.
    """
    products = decode_products(config, {}, beside_clusters=attention is not None)
    needed = products.all()
    attentions = []
    if attention is not None:
        attentions.append(KernelSource("self_attention_cluster", attention.defines))
    if attention is None or several:
        splits = (f"-DATTENTION_SPLITS={DECODE_SPLITS}",)
        attentions.append(KernelSource("decode_attention", splits))
    else:
        needed = tuple(product for product in needed if product is not products.qkv)
    return [
        *map(KernelSource, _PLAIN),
        *attentions,
        *(KernelSource("decode_product", product.defines) for product in needed),
    ]
