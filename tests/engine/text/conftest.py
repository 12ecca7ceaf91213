from __future__ import annotations

from pathlib import Path

import pytest

from engine.models.gguf_file import open_gguf
from engine.text.tokenizer import Tokenizer
from tests.engine.text.tiny_tokenizer import write_tiny_folder

ROOT = Path(__file__).parents[3]
QWEN3_FOLDER = ROOT.parent / "shared" / "qwen3-0.6b"
SMOLLM2_FILE = ROOT / ".fetched" / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"


@pytest.fixture(scope="session")
def qwen3_folder() -> Path:
    if not (QWEN3_FOLDER / "tokenizer.json").is_file():
        pytest.skip("../shared/qwen3-0.6b is not there")
    return QWEN3_FOLDER


@pytest.fixture(scope="session")
def qwen3(qwen3_folder: Path) -> Tokenizer:
    return Tokenizer.from_folder(qwen3_folder)


@pytest.fixture(scope="session")
def smollm2_file() -> Path:
    if not SMOLLM2_FILE.is_file():
        pytest.skip("SmolLM2 is not fetched (make fetch-smollm2)")
    return SMOLLM2_FILE


@pytest.fixture(scope="session")
def smollm2(smollm2_file: Path) -> Tokenizer:
    return Tokenizer.from_gguf(open_gguf(smollm2_file))


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_folder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> Tokenizer:
    return Tokenizer.from_folder(tiny_folder)
