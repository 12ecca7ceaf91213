"""Known mistakes of Qwen3 engines, planted into the kernels' source, for the gates to catch."""

from __future__ import annotations

from collections.abc import Callable

from engine.cuda.kernel_source import kernel_source

# Fault: file, then each text to replace with its replacement.
SOURCE_FAULTS = {
    "skipped QK-norm": ("qk_norm_rope", {"#if QK_NORM\n": "#if 0\n"}),
    "interleaved rotation": (
        "qk_norm_rope",
        {
            "? source[i] :": "? source[is_v ? i : 2 * i] :",
            "? source[i + HD / 2] :": "? source[is_v ? i + HD / 2 : 2 * i + 1] :",
            "to_float(norm[i])": "to_float(norm[2 * i])",
            "to_float(norm[i + HD / 2])": "to_float(norm[2 * i + 1])",
        },
    ),
    "wrong kv head": (
        "qk_norm_rope",
        {"is_v ? head - NH - NKV :": "is_v ? (head - NH - NKV + 1) % NKV :"},
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
