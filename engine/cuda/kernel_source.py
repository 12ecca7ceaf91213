"""Finds `kernels/*.cu` and puts the `.cuh` files they name into the source string.

CuPy's cache on disk keys on the source string and the options, not on included files, so nothing is
left to be included. Needs no CuPy: the tests compile the very same strings without a GPU.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple

from engine.errors import ModelFileMissing
from engine.models.model_config import ModelConfig

_INCLUDE = re.compile(r'^#include "(\w+\.cuh)"$', re.MULTILINE)


class KernelSource(NamedTuple):
    """One compilation of `kernels/<file>.cu`: further compiler options, and the architecture where
    it is one with features of its own ("90a"; "" is the device's).
    """

    file: str
    defines: tuple[str, ...] = ()
    architecture: str = ""


def kernels_dir() -> Path:
    """Folder of the .cu files, in a checkout and in a frozen build alike."""
    frozen = getattr(sys, "_MEIPASS", None)
    base = Path(frozen) if frozen else Path(__file__).resolve().parents[2]
    return base / "kernels"


def kernel_source(name: str) -> str:
    """Source of `kernels/<name>.cu` without includes; the compiler's log names the true files.

    Raises:
        ModelFileMissing: the file is not part of this installation.
    """
    return _inlined(kernels_dir() / f"{name}.cu", set())


def _inlined(path: Path, seen: set[str]) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ModelFileMissing(str(path), "computing on the GPU") from error

    def replace(match: re.Match[str]) -> str:
        included = match.group(1)
        if included in seen:
            return ""
        seen.add(included)
        # Back to this file's own line numbers after the inlined text.
        line = text.count("\n", 0, match.end()) + 2
        return f'{_inlined(path.parent / included, seen)}\n#line {line} "{path.name}"'

    body = _INCLUDE.sub(replace, text.replace("#pragma once\n", "\n"))
    return f'#line 1 "{path.name}"\n{body}'


def dimension_options(config: ModelConfig) -> tuple[str, ...]:
    """Compiler options that make the model's sizes constants (see kernels/README.md)."""
    return (
        f"-DDIM_E={config.hidden_size}",
        f"-DDIM_F={config.intermediate_size}",
        f"-DDIM_NH={config.num_attention_heads}",
        f"-DDIM_NKV={config.num_key_value_heads}",
        f"-DDIM_HD={config.head_dim}",
        f"-DDIM_V={config.vocab_size}",
        f"-DQK_NORM={int(config.qk_norm)}",
        f"-DRMS_NORM_EPS={config.rms_norm_eps!r}f",
    )
