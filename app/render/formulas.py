"""TeX formulas as SVG, by ziamath and latex2mathml; where these cannot, as readable text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from app.render.code_colors import color_lines

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


@lru_cache(maxsize=512)
def render_formula(tex: str, size_px: int, display: bool) -> FormulaImage | None:
    """The formula drawn, or None where it cannot be: then show `formula_as_text`.

    The first call imports ziamath (a quarter of a second); later ones take about 15 ms, and
    nothing once cached.
    """
    # The maths font has no Chinese: such a formula would come out with empty boxes.
    if not tex or len(tex) > MAX_TEX_CHARS or any(ord(char) >= 0x2E80 for char in tex):
        return None
    try:
        from ziamath.config import config
        from ziamath.zmath import Latex

        # Plain paths: Qt's SVG reader places <symbol> differently from browsers.
        config.svg2 = False
        drawn = Latex(tex, size=size_px, inline=not display)
        svg = drawn.svg()
    except Exception:  # noqa: BLE001 - two parsers fed with what a model wrote: any fault means text
        return None
    box = re.search(r'viewBox="([-\d.eE]+) ([-\d.eE]+) ([-\d.eE]+) ([-\d.eE]+)"', svg)
    if box is None:
        return None
    _, top, width, height = (float(value) for value in box.groups())
    if width <= 0 or height <= 0:
        return None
    return FormulaImage(svg, width, -top, height + top)


def warm_up() -> None:
    """Import what the first formula and the first code block need; for a thread of its own."""
    render_formula("x", 15, display=False)
    color_lines("x = 1", "python")


def formula_as_text(tex: str) -> str:
    """The formula's source with the commonest commands as signs."""
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1)/(\2)", tex)
    text = re.sub(r"\\(?:text|mathrm|mathbf|operatorname)\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\([A-Za-z]+)", lambda m: _GREEK_AND_SIGNS.get(m[1], m[0]), text)
    return re.sub(r"\\[,;:! ]", " ", text).strip()
