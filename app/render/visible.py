"""Characters that deceive the eye are made visible: bidirectional overrides and control codes."""

from __future__ import annotations

import re

_DECEIVING = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f"  # C0 and C1 controls but tab, LF, CR
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidirectional marks, overrides, isolates
    "\u00ad\u180e\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffc"  # invisible, and Qt's own markers
    "\U000e0001\U000e0020-\U000e007f]"  # tag characters: text that no one sees
)


def with_visible_controls(text: str) -> str:
    """The text with each deceiving character written as ⟨U+202E⟩; all else is unchanged.

    Emoji joiners (U+200D, variation selectors) stay: they change the look, not the order.
    """
    return _DECEIVING.sub(lambda match: f"⟨U+{ord(match[0]):04X}⟩", text)
