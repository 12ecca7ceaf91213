"""The drawing process: a job a line from its input, a result a line to its output, as JSON.

Started by `drawing_process.DrawingProcess` as `python -m app.render.drawing_child`; ends when its
input ends, so also when the app is killed.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import astuple

from app.render.code_colors import color_lines
from app.render.formulas import render_formula

_NICENESS = 5
"""Below the window and the engine, which share the processor with it."""


def answer(line: str) -> str:
    """The result of one job: `["formula", tex, size_px, display]` or `["colors", source, name]`."""
    job = json.loads(line)
    result: object
    if job[0] == "formula":
        image = render_formula(str(job[1]), int(job[2]), bool(job[3]))
        result = None if image is None else astuple(image)
    else:
        lines = color_lines(str(job[1]), str(job[2]))
        result = [[astuple(run) for run in runs] for runs in lines]
    return json.dumps(result)


def main() -> None:
    """Answer until the input ends."""
    # What a library prints must not get between the lines of the protocol.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", newline="\n")
    sys.stdout = sys.stderr
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    for line in sys.stdin.buffer:
        out.write(answer(line.decode("utf-8")) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
