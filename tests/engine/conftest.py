"""Fixtures of the engine's tests."""

import pytest

from engine.text.tokenizer import Tokenizer
from tests.engine.models.tiny_model import make_tiny_model


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    """A folder with a tiny random qwen3 model, bf16."""
    return make_tiny_model(tmp_path_factory.mktemp("tiny") / "qwen3")


@pytest.fixture(scope="session")
def tiny_tokenizer(tiny_folder):
    return Tokenizer.from_folder(tiny_folder)
