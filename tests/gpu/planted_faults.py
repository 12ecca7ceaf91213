"""Known mistakes of Qwen3 engines, planted into the kernels' source, for the gates to catch."""

from __future__ import annotations

from collections.abc import Callable

from engine.cuda.kernel_source import kernel_source

# How a decode step computes a layer's attention: whether in clusters, and the kernel.
DECODE_PATHS = {
    "clusters": (True, "self_attention_cluster"),
    "separate kernels": (False, "decode_attention"),
}

Replacements = dict[str, str]

# Fault: for each kernel the texts to replace with their replacements.
_ROTATION = {
    "? head[i] :": "? head[2 * i] :",
    "? head[i + HD / 2] :": "? head[2 * i + 1] :",
    "to_float(norm[i])": "to_float(norm[2 * i])",
    "to_float(norm[i + HD / 2])": "to_float(norm[2 * i + 1])",
}
_NO_NORM = {"QK_NORM ?": "0 ?"}
SOURCE_FAULTS: dict[str, dict[str, Replacements]] = {
    "skipped QK-norm": {"decode_attention": _NO_NORM, "self_attention_cluster": _NO_NORM},
    "interleaved rotation": {"decode_attention": _ROTATION, "self_attention_cluster": _ROTATION},
    "wrong kv head": {
        "decode_attention": {
            "(NH + NKV + blockIdx.y) * HD + i": "(NH + NKV + (blockIdx.y + 1) % NKV) * HD + i"
        },
        "self_attention_cluster": {
            "kv_head = blockIdx.y;": "kv_head = (blockIdx.y + (head > GROUP)) % NKV;"
        },
    },
}


def planted_source(fault: str, kernel: str) -> Callable[[str], str]:
    """Stand in for `kernel_source`; refuses when a line to be changed is no longer there."""

    def source(name: str) -> str:
        text = kernel_source(name)
        if name == kernel:
            for old, new in SOURCE_FAULTS[fault][kernel].items():
                assert old in text, f"{name}.cu no longer holds {old!r}"
                text = text.replace(old, new)
        return text

    return source
