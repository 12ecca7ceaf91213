"""A share is written in one way in the whole window: "40 %"."""

import re
from pathlib import Path

from app.number_text import percent_text

APP = Path(__file__).resolve().parents[2] / "app"


def test_a_percent_sign_stands_after_a_space():
    assert [percent_text(share) for share in (0.0, 0.4, 0.996, 1.0)] == [
        "0 %",
        "40 %",
        "100 %",
        "100 %",
    ]


def test_no_other_place_writes_one():
    other = re.compile(r":[.0-9]*%\}|\{percent\} ?%|\d%")
    files = [path for path in sorted(APP.rglob("*.py")) if path.name != "number_text.py"]
    found = [
        f"{path.relative_to(APP)}: {line.strip()}"
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if other.search(line)
    ]
    assert len(files) > 100
    assert not found
