"""The words for every error: what happened, what was kept, what to do, and the buttons for it.

One sentence or two for each child of `EngineError`; a test proves that none is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.engine_events import UnexpectedFailure
from engine import errors

Action = tuple[str, str]

RETRY: Action = ("retry", "Try again")
RESTART: Action = ("restart", "Restart Thinkpane")
LEAVE_OUT: Action = ("leave_out_oldest", "Leave out the oldest exchanges")
USE_CPU: Action = ("use_cpu", "Use the processor")
SHORTER_CONTEXT: Action = ("halve_context", "Halve the context length")
CHOOSE_MODEL: Action = ("choose_model", "Choose another model")
DOWNLOAD_AGAIN: Action = ("download_model", "Download again")
COPY_DETAILS: Action = ("copy_details", "Copy details")


@dataclass(frozen=True, slots=True)
class ErrorText:
    """A sentence for the user and the actions (id, button label) that help."""

    text: str
    actions: tuple[Action, ...] = ()


def size_text(nbytes: int) -> str:
    """A size as people read it, for example "1.50 GB"."""
    if nbytes >= 10**9:
        return f"{nbytes / 1e9:.2f} GB"
    return f"{nbytes / 1e6:.0f} MB" if nbytes >= 10**6 else f"{nbytes / 1e3:.0f} KB"


def error_text(error: errors.EngineError) -> ErrorText:
    """The words for an error; a class without words of its own gets its parent's."""
    for kind in type(error).__mro__:
        if kind in _WORDS:
            return _WORDS[kind](error)
    return _unexpected(error)


def _unexpected(error: errors.EngineError) -> ErrorText:
    return ErrorText(
        f"Something went wrong that Thinkpane did not expect ({str(error)[:200]}). What had "
        "arrived is kept; try again.",
        (RETRY, COPY_DETAILS),
    )


def _bad_request(error: errors.BadRequest) -> ErrorText:
    return ErrorText(
        f"The value of {error.field} cannot be used: expected {error.expected}, found "
        f"{str(error.value)[:60]}. Your question is kept; correct the setting and try again.",
        (RETRY,),
    )


def _bad_model_file(error: errors.BadModelFile) -> ErrorText:
    return ErrorText(
        f"A model file is damaged: {error.path}: {error.reason}. Your chats are untouched; "
        "download the model again or choose another one.",
        (DOWNLOAD_AGAIN, CHOOSE_MODEL),
    )


def _model_file_missing(error: errors.ModelFileMissing) -> ErrorText:
    return ErrorText(
        f"{error.path} is missing; it is needed for {error.needed_for}. Your chats are untouched; "
        "put the file back, download the model again, or choose another one.",
        (DOWNLOAD_AGAIN, CHOOSE_MODEL),
    )


def _unsupported_model(error: errors.UnsupportedModel) -> ErrorText:
    return ErrorText(
        f"This model cannot be used: {error}. Your chats are untouched; choose another model.",
        (CHOOSE_MODEL,),
    )


def _prompt_too_long(error: errors.PromptTooLong) -> ErrorText:
    return ErrorText(
        f"This chat has {error.tokens:,} tokens, and the model can see {error.limit:,} at once. "
        "Your question is kept; leave out the oldest exchanges, or set a longer context.",
        (LEAVE_OUT,),
    )


def _numerical_error(error: errors.NumericalError) -> ErrorText:
    return ErrorText(
        f"The model computed a value that is not a number (in {error.where}), so the reply was "
        "ended instead of going on wrongly. What had arrived is kept; try again.",
        (RETRY,),
    )


def _not_enough_memory(error: errors.NotEnoughMemory) -> ErrorText:
    return ErrorText(
        f"The model needs {size_text(error.needed_bytes)} on {error.device}, and "
        f"{size_text(error.free_bytes)} are free. Nothing was lost; close other programs that use "
        "this memory, or set a shorter context.",
        (RETRY, SHORTER_CONTEXT),
    )


def _no_cuda_device(error: errors.NoCudaDevice) -> ErrorText:
    return ErrorText(
        f"No NVIDIA GPU can be used: {error.reason}. Your chats are untouched; Thinkpane can "
        "answer on the processor, more slowly.",
        (USE_CPU, RETRY),
    )


def _driver_too_old(error: errors.DriverTooOld) -> ErrorText:
    return ErrorText(
        f"The NVIDIA driver is too old: {error.found} is installed, {error.needed} or newer is "
        "needed. Your chats are untouched; update the driver, or use the processor meanwhile.",
        (USE_CPU, RETRY),
    )


def _kernel_compile_error(error: errors.KernelCompileError) -> ErrorText:
    return ErrorText(
        f"The program for the GPU ({error.file}) could not be built on this computer. Your chats "
        "are untouched; use the processor meanwhile, and report this with the details.",
        (USE_CPU, COPY_DETAILS),
    )


def _device_lost(error: errors.DeviceLost) -> ErrorText:
    return ErrorText(
        f"The GPU stopped answering ({error.reason}). Every word is kept; restart Thinkpane to go "
        "on in this chat.",
        (RESTART,),
    )


def _load_cancelled(error: errors.LoadCancelled) -> ErrorText:
    return ErrorText("Loading the model was stopped. Your question is kept.", (RETRY,))


def _download_failed(error: errors.DownloadFailed) -> ErrorText:
    kept = (
        f"{size_text(error.kept_bytes)} of it are kept" if error.kept_bytes else "Nothing is lost"
    )
    return ErrorText(
        f"{error.file} could not be downloaded: {error.reason}. {kept}; check the connection and "
        "try again to go on from there.",
        (DOWNLOAD_AGAIN,),
    )


def _download_cancelled(error: errors.DownloadCancelled) -> ErrorText:
    return ErrorText(
        f"The download of {error.file} was stopped. What had arrived is kept; it goes on from "
        "there when you start it again.",
        (DOWNLOAD_AGAIN,),
    )


def _checksum_mismatch(error: errors.ChecksumMismatch) -> ErrorText:
    return ErrorText(
        f"{error.file} is not the file it should be (its sha256 is {error.found[:12]}…, expected "
        f"{error.expected[:12]}…). It is not used; your chats are untouched. Download it again.",
        (DOWNLOAD_AGAIN,),
    )


def _not_enough_disk(error: errors.NotEnoughDisk) -> ErrorText:
    return ErrorText(
        f"The disk of {error.path} has {size_text(error.free_bytes)} free, and "
        f"{size_text(error.needed_bytes)} are needed. What had arrived is kept; free some space "
        "and try again.",
        (DOWNLOAD_AGAIN,),
    )


def _folder_not_writable(error: errors.FolderNotWritable) -> ErrorText:
    return ErrorText(
        f"{error.path} cannot be written to ({error.reason}). Nothing was changed; make the folder "
        "writable, or start Thinkpane with --profile and another folder.",
    )


def _store_busy(error: errors.StoreBusy) -> ErrorText:
    return ErrorText(
        f"Another Thinkpane is downloading into {error.path}. Nothing was changed; wait for it, or "
        "close it and try again.",
        (DOWNLOAD_AGAIN,),
    )


def _unexpected_failure(error: UnexpectedFailure) -> ErrorText:
    return _unexpected(error)


_WORDS: dict[type, Callable[[Any], ErrorText]] = {
    errors.BadRequest: _bad_request,
    errors.BadModelFile: _bad_model_file,
    errors.ModelFileMissing: _model_file_missing,
    errors.UnsupportedModel: _unsupported_model,
    errors.PromptTooLong: _prompt_too_long,
    errors.NumericalError: _numerical_error,
    errors.NotEnoughMemory: _not_enough_memory,
    errors.NoCudaDevice: _no_cuda_device,
    errors.DriverTooOld: _driver_too_old,
    errors.KernelCompileError: _kernel_compile_error,
    errors.DeviceLost: _device_lost,
    errors.LoadCancelled: _load_cancelled,
    errors.DownloadFailed: _download_failed,
    errors.DownloadCancelled: _download_cancelled,
    errors.ChecksumMismatch: _checksum_mismatch,
    errors.NotEnoughDisk: _not_enough_disk,
    errors.FolderNotWritable: _folder_not_writable,
    errors.StoreBusy: _store_busy,
    UnexpectedFailure: _unexpected_failure,
}
