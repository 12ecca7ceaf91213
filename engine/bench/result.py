"""What a run of the benchmark found: rows with their spread and their share of the limit."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field


class BenchError(Exception):
    """The benchmark cannot go on; the message says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: the median of `values`, in `unit`.

    Attributes:
        limit: What the device could do at most, by what was measured in the same run; None where
            no limit is known.
        facts: What belongs to the figure: tokens, bytes, parts.
    """

    name: str
    values: tuple[float, ...]
    unit: str
    limit: float | None = None
    facts: dict[str, object] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.values)

    def as_json(self) -> dict[str, object]:
        """The row as it stands in a result file; `spread` is the least and the most."""
        return {
            "name": self.name,
            "value": _rounded(self.value),
            "unit": self.unit,
            "share_of_limit": None if self.limit is None else _rounded(self.value / self.limit),
            "spread": [_rounded(min(self.values)), _rounded(max(self.values))],
            "runs": len(self.values),
            **self.facts,
        }

    def as_text(self) -> str:
        """One line for a terminal."""
        share = "" if self.limit is None else f", {self.value / self.limit:.0%} of the limit"
        spread = f"{min(self.values):,.4g} to {max(self.values):,.4g}"
        return f"{self.name:<18} {self.value:>12,.4g} {self.unit} ({spread}{share})"


def table(rows: Sequence[Row]) -> str:
    """All rows, one a line."""
    return "\n".join(row.as_text() for row in rows)


def _rounded(value: float) -> float:
    """Five significant digits: more is noise."""
    return float(f"{value:.5g}")
