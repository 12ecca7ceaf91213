"""What goes wrong is told in the language of the window; the engine's English is for the log."""

from __future__ import annotations

import errno
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.download_text import waiting_text
from app.engine_events import UnexpectedFailure
from app.error_text import error_details, error_text
from app.fault_text import database_reason, os_reason
from app.language import CHINESE, ENGLISH, Language
from app.wizard_failures import answer_failure, store_failure
from engine import errors
from engine.api import DownloadProgress
from engine.errors import DownloadFault, EngineError, GpuFault
from engine.models.model_catalog import CatalogModel, catalog_model
from tests.app.test_error_text import SAMPLES

ROOT = Path(__file__).resolve().parents[2]
ENGLISH_WORDS = re.compile(r"[A-Za-z]{2,}[ ,;:]+[A-Za-z]{2,}")
NAMES = re.compile(r"NVIDIA GeForce RTX 3060|NVIDIA GPU|Thinkpane|Quadro K600|CuPy")
SECRET = "the engine says this in English"


@pytest.fixture
def chinese(qapp: QApplication) -> Iterator[Language]:
    language = Language(ROOT / "resources" / "translations")
    language.use(CHINESE)
    yield language
    language.use(ENGLISH)


@pytest.fixture(scope="module")
def model() -> CatalogModel:
    return catalog_model("qwen3-0.6b")


def errors_of_all_faults() -> list[EngineError]:
    return [
        *SAMPLES,
        *(errors.NoCudaDevice(SECRET, fault, "Quadro K600") for fault in GpuFault),
        *(errors.DownloadFailed("x", SECRET, 5, fault, "example.org") for fault in DownloadFault),
        *(errors.DownloadFailed("x", SECRET, 5, fault) for fault in DownloadFault),
        *(errors.FolderNotWritable("/x", SECRET, number) for number in (None, *errno.errorcode)),
        errors.BadModelFile("/x", SECRET),
        errors.BadModelFile("/x", SECRET, errno.EIO),
        errors.ModelFileMissing("/x", SECRET),
        errors.NumericalError(SECRET),
        errors.DeviceLost(SECRET),
        errors.NotEnoughMemory(2 * 10**9, 10**9, errors.MAIN_MEMORY),
        errors.BadRequest("messages", SECRET, SECRET),
        errors.BadRequest("context length", 1, SECRET),
        errors.BadRequest("top_k", -1, SECRET),
        errors.UnsupportedModel("model file", f"x.bin ({SECRET})", SECRET),
        errors.UnsupportedModel("model folder", "x", SECRET),
        errors.UnsupportedModel("tokenizer model", SECRET, SECRET),
        errors.UnsupportedModel("type of tensor 'a'", "IQ2_XXS", SECRET),
        errors.UnsupportedModel("query heads per kv head", 16, SECRET),
        errors.UnsupportedModel("number of stop tokens", 99, SECRET),
        errors.UnsupportedModel("sliding_window", 512, SECRET),
        UnexpectedFailure(SECRET, SECRET),
    ]


def assert_chinese(text: str) -> None:
    assert not ENGLISH_WORDS.search(NAMES.sub("", text)), text
    assert re.search("[\u4e00-\u9fff]", text), text


def test_no_english_stands_in_a_chinese_sentence_about_an_error(
    chinese: Language, model: CatalogModel
) -> None:
    for error in errors_of_all_faults():
        assert_chinese(error_text(error).text)
        for page in (store_failure(error, model, 0), answer_failure(error)):
            assert_chinese(page.title)
            assert_chinese(page.happened)
            assert_chinese(page.kept)
            assert_chinese(page.advice)


def test_what_the_engine_said_is_in_no_sentence_but_in_the_details(qapp: QApplication) -> None:
    for error in errors_of_all_faults():
        assert SECRET not in error_text(error).text
        if SECRET in str(error):
            assert SECRET in error_details(error)


def test_every_fault_has_words_of_its_own(qapp: QApplication) -> None:
    texts = {error_text(errors.NoCudaDevice("", fault, "X")).text for fault in GpuFault}
    assert len(texts) == len(GpuFault)
    texts = {error_text(errors.DownloadFailed("x", "", 0, fault)).text for fault in DownloadFault}
    assert len(texts) == len(DownloadFault)


def test_the_details_of_an_error_that_was_raised_say_where(qapp: QApplication) -> None:
    try:
        raise errors.BadModelFile("/x", "tensor a is missing")
    except EngineError as error:
        details = error_details(error)
    assert "/x: tensor a is missing" in details
    assert "test_error_sentences.py" in details
    assert error_details(errors.KernelCompileError("a.cu", "line 3: no")) == "a.cu\nline 3: no"


def test_what_a_download_waits_for_is_chinese(chinese: Language) -> None:
    for fault in (None, *DownloadFault):
        progress = DownloadProgress("x", 1, 2, 1, 2, 0.0, None, SECRET, 3.0, fault, "example.org")
        assert_chinese(waiting_text(progress))


@pytest.mark.parametrize("number", sorted(errno.errorcode))
def test_what_the_system_refuses_is_chinese(chinese: Language, number: int) -> None:
    assert_chinese(os_reason(OSError(number, SECRET)))


def sqlite_errors(folder: Path) -> list[sqlite3.Error]:
    """Raised by SQLite itself."""
    found: list[sqlite3.Error] = []
    damaged = folder / "damaged.db"
    damaged.write_bytes(b"no database at all " * 100)
    (folder / "folder.db").mkdir()
    for name in (str(damaged), str(folder / "folder.db")):
        try:
            with sqlite3.connect(name) as connection:
                connection.execute("SELECT * FROM sqlite_master")
        except sqlite3.Error as error:
            found.append(error)
    held, other = (sqlite3.connect(folder / "a.db", timeout=0) for _ in range(2))
    held.execute("BEGIN EXCLUSIVE")
    try:
        other.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        found.append(error)
    held.close()
    other.close()
    return found


def test_what_the_database_refuses_is_chinese(chinese: Language, tmp_path: Path) -> None:
    found = sqlite_errors(tmp_path)
    assert len(found) == 3
    for error in (*found, sqlite3.OperationalError(SECRET), OSError(errno.EACCES, SECRET)):
        assert_chinese(database_reason(error))
    chinese.use(ENGLISH)
    assert [database_reason(error) for error in found] == [
        "it is damaged",
        "no permission",
        "another program holds the database",
    ]
