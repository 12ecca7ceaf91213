"""Brings the translations up to date: new strings into the .ts files, finished ones into .qm.

`make translations` runs it with the environment's Python. It ends with 1 and lists what has no
finished translation, after writing both files.
"""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import PySide6

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "resources" / "translations"
LOCALES = ("zh_CN",)


def tool(name: str) -> str:
    """Qt's own program, as the wheel ships it."""
    return str(Path(PySide6.__file__).parent / name)


def update(locale: str) -> list[str]:
    """Write both files of a locale; returns the sources that still want a translation."""
    table = FOLDER / f"thinkpane_{locale}.ts"
    sources = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "app").rglob("*.py"))
    update_options = ["-silent", "-no-obsolete", "-locations", "none", "-source-language", "en"]
    subprocess.run(
        [tool("lupdate"), *update_options, *sources, "-ts", str(table)], cwd=ROOT, check=True
    )
    compiled = table.with_suffix(".qm")
    subprocess.run([tool("lrelease"), "-silent", str(table), "-qm", str(compiled)], check=True)
    return unfinished(table)


def unfinished(table: Path) -> list[str]:
    """Sources in a .ts file without a finished translation."""
    messages = ET.parse(table).getroot().iter("message")
    return [
        message.findtext("source", "")
        for message in messages
        if (found := message.find("translation")) is None or found.get("type") or not found.text
    ]


def main() -> int:
    """Update all locales."""
    missing = {locale: update(locale) for locale in LOCALES}
    for locale, sources in missing.items():
        for source in sources:
            print(f"{locale}: no translation of {source!r}")
    return 1 if any(missing.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
