"""Numbers as the whole window writes them; Qt-free."""

from __future__ import annotations


def percent_text(share: float) -> str:
    """A share 0..1 as "40 %", with the space that ISO 80000-1 and the drawings have."""
    return f"{share * 100:.0f} %"
