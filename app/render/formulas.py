"""TeX formulas as SVG, by ziamath and latex2mathml; where these cannot, as readable text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from xml.etree import ElementTree

MAX_TEX_CHARS = 1_500

_GREEK_AND_SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "theta": "θ",
    "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "phi": "φ", "omega": "ω",
    "Delta": "Δ", "Sigma": "Σ", "Omega": "Ω", "infty": "∞", "times": "×", "cdot": "·",
    "div": "÷", "pm": "±", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠",
    "approx": "≈", "propto": "∝", "sum": "∑", "prod": "∏", "int": "∫", "sqrt": "√", "to": "→",
    "rightarrow": "→", "Rightarrow": "⇒", "in": "∈", "notin": "∉", "cup": "∪", "cap": "∩",
    "forall": "∀", "exists": "∃", "partial": "∂", "nabla": "∇", "degree": "°", "circ": "∘",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FormulaImage:
    """An SVG in black; sizes in the unit of `size_px`, `ascent` above and `descent` below."""

    svg: str
    width: float
    ascent: float
    descent: float


_ENVIRONMENT = re.compile(r"\\(begin|end)\{([A-Za-z]+\*?)\}")
_TAG = re.compile(r"\\tag\*?\{([^{}]*)\}")
_DRAWN_ENVIRONMENTS = frozenset(
    {"array", "matrix", "pmatrix", "bmatrix", "Bmatrix", "vmatrix", "Vmatrix", "smallmatrix"}
    | {"cases", "split", "align", "align*", "aligned", "substack"}
)
# Those that the parser drops without a word, by what stands in for them; "": nothing does.
_STAND_INS = {
    "equation": "", "equation*": "", "math": "", "displaymath": "", "dcases": "cases",
    "gather": "matrix", "gather*": "matrix", "gathered": "matrix", "multline": "matrix",
    "multline*": "matrix", "flalign": "align", "flalign*": "align*",
}  # fmt: skip


class _NotDrawnError(ValueError):
    """The formula holds something that would silently come out wrong."""


@lru_cache(maxsize=64)
def render_formula(tex: str, size_px: int, display: bool) -> FormulaImage | None:
    """The formula drawn, or None where it cannot be: then show `formula_as_text`.

    None also where ziamath would draw without complaint what is not meant: unknown commands,
    unknown environments, and characters that the maths font lacks (empty boxes). The first call
    imports ziamath (a quarter of a second); later ones take about 15 ms, and nothing once cached.
    """
    if not tex or len(tex) > MAX_TEX_CHARS:
        return None
    try:
        svg = _svg_of(tex, size_px, display)
    except Exception:  # noqa: BLE001 - two parsers fed with what a model wrote: any fault means text
        return None
    box = re.search(r'viewBox="([-\d.eE]+) ([-\d.eE]+) ([-\d.eE]+) ([-\d.eE]+)"', svg)
    if box is None:
        return None
    _, top, width, height = (float(value) for value in box.groups())
    if width <= 0 or height <= 0:
        return None
    return FormulaImage(svg, width, -top, height + top)


def _svg_of(tex: str, size_px: int, display: bool) -> str:
    from ziamath.config import config
    from ziamath.tex import tex2mml
    from ziamath.zmath import Math

    # Plain paths: Qt's SVG reader places <symbol> differently from browsers.
    config.svg2 = False
    prepared = _ENVIRONMENT.sub(_known_environment, _TAG.sub(r"\\qquad (\1)", tex))
    element = ElementTree.fromstring(tex2mml(prepared, inline=not display))
    drawn = Math(element, size=size_px)
    for char in set("".join(element.itertext())):
        # The parser leaves an unknown command as a word with its backslash.
        if char == "\\" or not (char.isspace() or drawn.font.glyphindex(char)):
            raise _NotDrawnError(char)
    svg: str = drawn.svg()
    return svg


def _known_environment(match: re.Match[str]) -> str:
    name = match[2]
    stand_in = name if name in _DRAWN_ENVIRONMENTS else _STAND_INS.get(name)
    if stand_in is None:
        raise _NotDrawnError(name)
    return f"\\{match[1]}{{{stand_in}}}" if stand_in else ""


def formula_as_text(tex: str) -> str:
    """The formula's source with the commonest commands as signs."""
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1)/(\2)", tex)
    text = re.sub(r"\\(?:text|mathrm|mathbf|operatorname)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda m: _GREEK_AND_SIGNS.get(m[1], m[0]), text)
    return re.sub(r"\\[,;:! ]", " ", text).strip()
