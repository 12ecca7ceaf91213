"""Which files of `kernels/` a model needs on a GPU, with which options: all are compiled at load.

A file that is missing here is compiled at its first use instead, which would be in the middle of a
reply; a test walks through a load, a prefill and a decode run and compares.
"""

from __future__ import annotations

from engine.cuda.kernel_source import KernelSource
from engine.models.memory_plan import DECODE_SPLITS

_PLAIN = (
    "embedding",
    "rms_norm",
    "matvec",
    "gemm",
    "qk_norm_rope",
    "attention_prefill",
    "swiglu",
    "sample_scores",
    "sample_draw",
)


def kernel_sources() -> list[KernelSource]:
    """Every compilation that loading, prefill and decode make use of."""
    return [
        *map(KernelSource, _PLAIN),
        KernelSource("attention_decode", (f"-DATTENTION_SPLITS={DECODE_SPLITS}",)),
    ]
