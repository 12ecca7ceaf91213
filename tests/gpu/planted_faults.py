"""Known mistakes of Qwen3 engines, planted into the kernels' source, for the gates to catch."""

from __future__ import annotations

from collections.abc import Callable

from engine.cuda.kernel_source import kernel_source

# Fault: file, then each text to replace with its replacement.
SOURCE_FAULTS = {
    "skipped QK-norm": ("decode_attention", {"QK_NORM ?": "0 ?"}),
    "interleaved rotation": (
        "decode_attention",
        {
            "? head[i] :": "? head[2 * i] :",
            "? head[i + HD / 2] :": "? head[2 * i + 1] :",
            "to_float(norm[i])": "to_float(norm[2 * i])",
            "to_float(norm[i + HD / 2])": "to_float(norm[2 * i + 1])",
        },
    ),
    "wrong kv head": (
        "decode_attention",
        {"(NH + NKV + blockIdx.y) * HD + i": "(NH + NKV + (blockIdx.y + 1) % NKV) * HD + i"},
    ),
}


def planted_source(fault: str) -> Callable[[str], str]:
    """Stand in for `kernel_source`; refuses when a line to be changed is no longer there."""
    file, replacements = SOURCE_FAULTS[fault]

    def source(name: str) -> str:
        text = kernel_source(name)
        if name == file:
            for old, new in replacements.items():
                assert old in text, f"{name}.cu no longer holds {old!r}"
                text = text.replace(old, new)
        return text

    return source
