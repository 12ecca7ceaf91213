"""The words for every error: what happened, what was kept, what to do, and the buttons for it.

One sentence or two for each child of `EngineError`; a test proves that none is missing. They are
made from the error's fields; what the engine says in English is in `error_details` alone.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.engine_events import UnexpectedFailure
from app.fault_text import download_reason, gpu_reason, os_reason, unsupported_reason
from app.language import QT_TRANSLATE_NOOP, translate
from app.settings import SETTINGS_CONTEXT, field_of
from engine import errors

Action = tuple[str, str]
"""Its id, and what its button says, which the bar of notices translates."""

RETRY: Action = ("retry", QT_TRANSLATE_NOOP("Actions", "Try again"))
RESTART: Action = ("restart", QT_TRANSLATE_NOOP("Actions", "Restart Thinkpane"))
LEAVE_OUT: Action = (
    "leave_out_oldest",
    QT_TRANSLATE_NOOP("Actions", "Leave out the oldest exchanges"),
)
USE_CPU: Action = ("use_cpu", QT_TRANSLATE_NOOP("Actions", "Use the processor"))
SHORTER_CONTEXT: Action = (
    "halve_context",
    QT_TRANSLATE_NOOP("Actions", "Halve the context length"),
)
CHOOSE_MODEL: Action = ("choose_model", QT_TRANSLATE_NOOP("Actions", "Choose another model"))
DOWNLOAD_AGAIN: Action = ("download_model", QT_TRANSLATE_NOOP("Actions", "Download again"))
COPY_DETAILS: Action = ("copy_details", QT_TRANSLATE_NOOP("Actions", "Copy details"))


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


def error_details(error: errors.EngineError) -> str:
    """All that is known of an error, for "Copy details" and the log: English, and of any length."""
    match error:
        case UnexpectedFailure():
            return error.details
        case errors.KernelCompileError():
            return f"{error.file}\n{error.log}"
        case _:
            return "".join(traceback.format_exception(error))


def _unexpected(error: errors.EngineError) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "Something went wrong that Thinkpane did not expect. What had arrived is kept; try "
            "again.",
        ),
        (RETRY, COPY_DETAILS),
    )


def _bad_request(error: errors.BadRequest) -> ErrorText:
    # The engine's word for the one setting that it does not call by its name.
    name = "context_tokens" if error.field == "context length" else error.field
    try:
        field = field_of(name)
    except KeyError:
        text = translate(
            "Errors",
            "The model does not take this conversation as it is. Your question is kept; change "
            "it, or choose another model.",
        )
        return ErrorText(text, (CHOOSE_MODEL, COPY_DETAILS))
    return ErrorText(
        translate(
            "Errors",
            "The setting {field} cannot be {value} with this model: expected {expected}. "
            "Your question is kept; correct the setting and try again.",
        ).format(
            field=translate(SETTINGS_CONTEXT, field.label),
            expected=field.expected,
            value=str(error.value)[:60],
        ),
        (RETRY, COPY_DETAILS),
    )


def _bad_model_file(error: errors.BadModelFile) -> ErrorText:
    if error.errno is not None:
        text = translate(
            "Errors",
            "A model file cannot be read: {path} ({reason}). Your chats are untouched; make it "
            "readable and try again, or choose another model.",
        ).format(path=error.path, reason=os_reason(error.errno))
        return ErrorText(text, (RETRY, CHOOSE_MODEL))
    return ErrorText(
        translate(
            "Errors",
            "A model file is damaged, or is not what its name says: {path}. Your chats are "
            "untouched; download the model again or choose another one.",
        ).format(path=error.path),
        (DOWNLOAD_AGAIN, CHOOSE_MODEL, COPY_DETAILS),
    )


def _model_file_missing(error: errors.ModelFileMissing) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "{path} is missing, and the model needs it. Your chats are untouched; put the file "
            "back, download the model again, or choose another one.",
        ).format(path=error.path),
        (DOWNLOAD_AGAIN, CHOOSE_MODEL),
    )


def _unsupported_model(error: errors.UnsupportedModel) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "This model cannot be used. {reason} Your chats are untouched; choose another model.",
        ).format(reason=unsupported_reason(error)),
        (CHOOSE_MODEL, COPY_DETAILS),
    )


def _prompt_too_long(error: errors.PromptTooLong) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "This chat has {tokens:,} tokens, and the model can see {limit:,} at once. "
            "Your question is kept; leave out the oldest exchanges, or set a longer "
            "context if the model allows it.",
        ).format(tokens=error.tokens, limit=error.limit),
        (LEAVE_OUT,),
    )


def _numerical_error(error: errors.NumericalError) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "The model computed a value that is not a number, so the reply was ended instead of "
            "going on wrongly. What had arrived is kept; try again.",
        ),
        (RETRY, COPY_DETAILS),
    )


def _not_enough_memory(error: errors.NotEnoughMemory) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "The model needs {needed} on {device}, and {free} are free. Nothing was "
            "lost; close other programs that use this memory, or set a shorter context.",
        ).format(
            needed=size_text(error.needed_bytes),
            device=_device_name(error.device),
            free=size_text(error.free_bytes),
        ),
        (RETRY, SHORTER_CONTEXT),
    )


def _device_name(device: str) -> str:
    in_words = translate("Errors", "main memory")
    return in_words if device == errors.MAIN_MEMORY else device


def _no_cuda_device(error: errors.NoCudaDevice) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "No NVIDIA GPU can be used: {reason}. Your chats are untouched; Thinkpane "
            "can answer on the processor, more slowly.",
        ).format(reason=gpu_reason(error.fault, error.gpu)),
        (USE_CPU, RETRY, COPY_DETAILS),
    )


def _driver_too_old(error: errors.DriverTooOld) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "The NVIDIA driver is too old: {found} is installed, {needed} or newer is "
            "needed. Your chats are untouched; update the driver, or use the processor "
            "meanwhile.",
        ).format(found=error.found, needed=error.needed),
        (USE_CPU, RETRY),
    )


def _kernel_compile_error(error: errors.KernelCompileError) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "The program for the GPU ({file}) could not be built on this computer. Your "
            "chats are untouched; use the processor meanwhile, and report this with the "
            "details.",
        ).format(file=error.file),
        (USE_CPU, COPY_DETAILS),
    )


def _device_lost(error: errors.DeviceLost) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "The GPU stopped answering. Every word is kept; restart Thinkpane to go on in this "
            "chat.",
        ),
        (RESTART, COPY_DETAILS),
    )


def _load_cancelled(error: errors.LoadCancelled) -> ErrorText:
    return ErrorText(
        translate("Errors", "Loading the model was stopped. Your question is kept."), (RETRY,)
    )


def _download_failed(error: errors.DownloadFailed) -> ErrorText:
    kept = (
        translate("Errors", "{kept} of it are kept").format(kept=size_text(error.kept_bytes))
        if error.kept_bytes
        else translate("Errors", "Nothing is lost")
    )
    return ErrorText(
        translate(
            "Errors",
            "{file} could not be downloaded: {reason}. {kept}; check the connection and "
            "try again to go on from there.",
        ).format(file=error.file, reason=download_reason(error.fault, error.about), kept=kept),
        (DOWNLOAD_AGAIN,),
    )


def _download_cancelled(error: errors.DownloadCancelled) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "The download of {file} was stopped. What had arrived is kept; it goes on "
            "from there when you start it again.",
        ).format(file=error.file),
        (DOWNLOAD_AGAIN,),
    )


def _checksum_mismatch(error: errors.ChecksumMismatch) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "{file} is not the file it should be (its sha256 is {found}…, expected "
            "{expected}…). It is not used; your chats are untouched. Download it again.",
        ).format(file=error.file, found=error.found[:12], expected=error.expected[:12]),
        (DOWNLOAD_AGAIN,),
    )


def _not_enough_disk(error: errors.NotEnoughDisk) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "The disk of {path} has {free} free, and {needed} are needed. What had "
            "arrived is kept; free some space and try again.",
        ).format(
            path=error.path, free=size_text(error.free_bytes), needed=size_text(error.needed_bytes)
        ),
        (DOWNLOAD_AGAIN,),
    )


def _folder_not_writable(error: errors.FolderNotWritable) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "{path} cannot be written to ({reason}). Nothing was changed; make the "
            "folder writable, or start Thinkpane with --profile and another folder.",
        ).format(path=error.path, reason=os_reason(error.errno)),
    )


def _store_busy(error: errors.StoreBusy) -> ErrorText:
    return ErrorText(
        translate(
            "Errors",
            "Another Thinkpane is downloading into {path}. Nothing was changed; wait for "
            "it, or close it and try again.",
        ).format(path=error.path),
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
