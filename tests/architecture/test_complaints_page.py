"""docs/complaints.md: every complaint of the list has a row, and every test it names is there."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "complaints.md"
NEVER_GIVEN = {12, 25, 27, 33, 46}
ROWS = [number for number in range(1, 61) if number not in NEVER_GIVEN]
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|$")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")
HAND = re.compile(r"by hand \d{4}-\d\d-\d\d: \w")


def rows() -> dict[int, str]:
    """The third column by number; the table of figures below has other rows."""
    lists, _, _ = PAGE.read_text("utf-8").partition("## Figures")
    found = [match for line in lists.splitlines() if (match := ROW.match(line))]
    numbers = [int(match[1]) for match in found]
    assert len(numbers) == len(set(numbers)), "a number has two rows"
    return {int(match[1]): match[3] for match in found}


def functions_of(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef)
    }


def test_every_complaint_has_a_row_in_order():
    assert list(rows()) == ROWS


def test_every_row_names_a_test_or_a_dated_hand_check():
    lacking = [
        n for n, tried in rows().items() if not TEST.search(tried) and not HAND.search(tried)
    ]
    assert not lacking


def test_every_named_test_is_there():
    named = TEST.findall(PAGE.read_text("utf-8"))
    assert len(named) >= len(ROWS)
    gone = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / file).is_file() or name not in functions_of(ROOT / file)
    ]
    assert not gone


def test_no_test_is_named_in_a_way_that_is_not_checked():
    text = PAGE.read_text("utf-8")
    assert len(re.findall(r"::test_", text)) == len(TEST.findall(text))
