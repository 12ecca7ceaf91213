"""Every error of the engine has its own words: what happened, what was kept, what to do."""

from __future__ import annotations

import pytest

from app.engine_events import UnexpectedFailure
from app.error_text import error_text, size_text
from engine import errors
from engine.errors import EngineError

SAMPLES: list[EngineError] = [
    errors.BadRequest("top_p", 3, "0 to 1"),
    errors.BadModelFile("/m/model.safetensors", "header of 3 bytes"),
    errors.ModelFileMissing("/m/config.json", "the model"),
    errors.UnsupportedModel("architecture", "gemma3", "qwen3, llama"),
    errors.PromptTooLong(9000, 8192),
    errors.NumericalError("logits"),
    errors.NotEnoughMemory(3_000_000_000, 1_500_000_000, "NVIDIA GeForce RTX 3060"),
    errors.NoCudaDevice("no driver"),
    errors.DriverTooOld("450.1", "525.60"),
    errors.KernelCompileError("rms_norm.cu", "error: expected ;"),
    errors.DeviceLost("illegal address"),
    errors.LoadCancelled(),
    errors.DownloadFailed("model.safetensors", "connection reset", 5_000_000),
    errors.DownloadCancelled("model.safetensors"),
    errors.ChecksumMismatch("model.safetensors", "a" * 64, "b" * 64),
    errors.NotEnoughDisk("/home", 2_000_000_000, 1_000_000_000),
    errors.FolderNotWritable("/home/x", "Permission denied"),
    errors.StoreBusy("/home/models"),
    UnexpectedFailure("KeyError: 'x'", "Traceback ..."),
]

ADVICE = (
    "try again", "choose", "download", "correct", "leave out", "close", "use the processor",
    "restart", "free some space", "put the file back", "make the folder", "more slowly",
    "check the connection", "goes on from there", "is kept.",
)  # fmt: skip


def all_kinds(parent: type[EngineError]) -> set[type[EngineError]]:
    kinds = set(parent.__subclasses__())
    return kinds.union(*(all_kinds(kind) for kind in kinds)) if kinds else kinds


def test_no_error_class_is_without_a_sample():
    ours = {
        kind for kind in all_kinds(EngineError) if kind.__module__.startswith(("engine", "app"))
    }
    assert ours == {type(sample) for sample in SAMPLES}


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_each_has_its_own_sentence_with_advice(error):
    words = error_text(error)
    if not isinstance(error, UnexpectedFailure):
        assert "did not expect" not in words.text, "the words of last resort"
    assert any(advice in words.text.lower() for advice in ADVICE), words.text
    assert words.text.endswith(".")
    assert "!" not in words.text
    assert "Traceback" not in words.text
    assert len(words.text) < 400
    for action_id, label in words.actions:
        assert action_id
        assert label


def test_the_numbers_of_the_error_are_in_the_sentence():
    text = error_text(errors.NotEnoughMemory(3_000_000_000, 1_500_000_000, "RTX")).text
    assert "3.00 GB" in text
    assert "1.50 GB" in text
    assert "9,000" in error_text(errors.PromptTooLong(9000, 8192)).text


def test_a_download_that_had_not_begun_says_nothing_of_bytes():
    assert "KB" not in error_text(errors.DownloadFailed("config.json", "refused", 0)).text


def test_a_class_that_is_not_known_yet_gets_its_parents_words():
    class Torn(errors.BadModelFile):
        pass

    assert "damaged" in error_text(Torn("/m", "torn")).text


@pytest.mark.parametrize(
    ("nbytes", "text"), [(1_503_300_328, "1.50 GB"), (98_000_000, "98 MB"), (9_732, "10 KB")]
)
def test_sizes_as_people_read_them(nbytes, text):
    assert size_text(nbytes) == text
