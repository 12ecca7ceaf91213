"""Reads the C signatures and launch bounds of the kernels in a source text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

_KERNEL = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+(?:__cluster_dims__\([^)]*\)\s*)?'
    r"(?:__launch_bounds__\(([^)]*)\)\s*)?(\w+)\s*\(([^)]*)\)"
)
_CONSTANT = re.compile(r"constexpr int (\w+) = ([\w\s*+/()-]+);")
_DTYPES = {
    "bf16": np.uint16,
    "float": np.float32,
    "int": np.int32,
    "unsigned": np.uint32,
    "mass_t": np.uint64,
    # CuPy takes structs as bytes.
    "SlotState": np.uint8,
    "TokenRecord": np.uint8,
    "ChunkResult": np.uint8,
}


_SWIGLU = 2


@dataclass(frozen=True)
class Parameter:
    """One parameter: the dtype of its elements, or of itself when it is no pointer."""

    name: str
    dtype: np.dtype
    is_pointer: bool


@dataclass(frozen=True)
class Signature:
    """Parameters in order, and the most threads a block may have."""

    parameters: tuple[Parameter, ...]
    max_threads: int


@cache
def signatures(source: str, options: tuple[str, ...]) -> dict[str, Signature]:
    """All kernels of a source by name; `options` give values to the macros of launch bounds.

    Raises:
        ValueError: a parameter's type is unknown here.
    """
    constants = _constants(source, options)
    found = {}
    for bounds, name, parameters in _KERNEL.findall(source):
        threads = _evaluate(bounds.split(",")[0], constants) if bounds else 1024
        if threads is None:
            raise ValueError(f"{name}: launch bounds {bounds} cannot be evaluated")
        named = _typedefs(constants)
        kinds = [_parameter(text, named) for text in parameters.split(",")]
        found[name] = Signature(tuple(kinds), threads)
    return found


def _typedefs(constants: dict[str, int]) -> dict[str, str]:
    """The types of decode_product.cu that depend on options."""
    return {
        "Input": "float" if constants.get("PRODUCT_NORM") else "bf16",
        "Output": "bf16" if constants.get("PRODUCT_KIND") == _SWIGLU else "float",
    }


def _parameter(text: str, named: dict[str, str]) -> Parameter:
    words = text.replace("*", " * ").split()
    kind = next(word for word in words if word != "const")
    kind = named.get(kind, kind)
    if kind not in _DTYPES:
        raise ValueError(f"unknown type in parameter {text.strip()!r}")
    return Parameter(words[-1], np.dtype(_DTYPES[kind]), "*" in words)


def _constants(source: str, options: Sequence[str]) -> dict[str, int]:
    """Values of the `constexpr int` lines that are plain arithmetic of earlier ones."""
    values: dict[str, int] = {}
    for option in options:
        name, _, text = option.removeprefix("-D").partition("=")
        if option.startswith("-D") and text.isdecimal():
            values[name] = int(text)
    for name, expression in _CONSTANT.findall(source):
        value = _evaluate(expression, values)
        if value is not None:
            values[name] = value
    return values


def _evaluate(expression: str, values: dict[str, int]) -> int | None:
    try:
        # Only names, numbers and + - * / ( ) can stand here.
        return int(eval(expression.replace("/", "//"), {"__builtins__": {}}, values))
    except (NameError, SyntaxError):
        return None
