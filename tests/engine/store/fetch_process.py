"""A process that fetches, for tests that kill it; arguments: ROOT NAME:SIZE:SHA256 ..."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.api import GenerationControl
from engine.models.model_catalog import CatalogFile, CatalogModel
from engine.models.model_store import ModelStore


def main() -> None:
    files = [argument.split(":") for argument in sys.argv[2:]]
    model = CatalogModel(
        "tiny",
        "Tiny",
        "owner/tiny",
        "a" * 40,
        "MIT",
        tuple(CatalogFile(name, int(size), sha256) for name, size, sha256 in files),
    )
    for event in ModelStore(Path(sys.argv[1])).ensure_model(model, GenerationControl()):
        print(event, flush=True)


if __name__ == "__main__":
    main()
