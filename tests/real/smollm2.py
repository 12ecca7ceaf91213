"""Where the fetched SmolLM2 weights lie."""

import os
from pathlib import Path

import pytest

FETCHED = Path(__file__).parents[2] / ".fetched" / "smollm2"

SYSTEM = "You are a helpful assistant."
CAPITAL, CAPITAL_ANSWER = "What is the capital of France?", "The capital of France is Paris."
RIVER = "Which river runs through it?"


def smollm2_path() -> Path:
    """The GGUF named by THINKPANE_SMOLLM2 or fetched by `make fetch-smollm2`; skips without."""
    named = os.environ.get("THINKPANE_SMOLLM2")
    found = [Path(named)] if named else sorted(FETCHED.glob("*.gguf"))
    if not found or not found[0].is_file():
        pytest.skip("the SmolLM2 weights are not here: run `make fetch-smollm2`")
    return found[0]
