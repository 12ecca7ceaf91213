"""The wizard's words for a failure: what happened, what was kept, what to do.

The window's notices have one sentence for each error (`app.error_text`); a whole page has room for
three, and knows how much of the model is here.
"""

from __future__ import annotations

from app.error_text import error_text
from app.system_check import gigabytes
from app.wizard_view import FailurePage
from engine import errors
from engine.models.model_catalog import CatalogModel

_RETRY = "Choose Try again"


def store_failure(error: errors.EngineError, model: CatalogModel, held_bytes: int) -> FailurePage:
    """A failure of download or check; `held_bytes` of the model need not be fetched again."""
    kept = (
        f"{gigabytes(held_bytes)} of {gigabytes(model.total_bytes)} are kept. Nothing of it is "
        "fetched again."
        if held_bytes
        else "Nothing had arrived yet. Your chats and settings are untouched."
    )
    match error:
        case errors.DownloadFailed():
            title, happened, advice = _download_failed(error)
        case errors.ChecksumMismatch():
            title = "A file is not the right one"
            happened = (
                f"{error.file} arrived whole, twice, but its content is not what the makers of the "
                "model published. It was not used, and it is not kept."
            )
            advice = (
                f"{_RETRY}. If it happens again, something on the way changes files: a proxy, a "
                "virus scanner or a mirror. Try another network."
            )
        case errors.NotEnoughDisk():
            title = "The disk is full"
            happened = (
                f"{gigabytes(error.needed_bytes)} are needed in {error.path}, and "
                f"{gigabytes(error.free_bytes)} are free."
            )
            advice = f"Free some space on that disk. {_RETRY} to go on from the same byte."
        case errors.FolderNotWritable():
            title = "The folder cannot be written to"
            happened = f"{error.path}: {error.reason}."
            advice = (
                f"Make the folder writable. {_RETRY}, or start Thinkpane with --profile and "
                "another folder."
            )
        case errors.StoreBusy():
            title = "Another Thinkpane is downloading this model"
            happened = f"It holds the folder {error.path}."
            advice = f"Wait for it or close it. {_RETRY} to use what it has fetched."
        case _:
            title = "The download stopped"
            happened = error_text(error).text
            advice = f"{_RETRY}."
    return FailurePage(title, happened, kept, advice, details=str(error))


def _download_failed(error: errors.DownloadFailed) -> tuple[str, str, str]:
    happened = f"{error.file}: {error.reason}."
    if "web page" in error.reason:
        return (
            "A web page came in place of the model",
            happened,
            f"Some networks want a login in the browser first. Log in there. {_RETRY}.",
        )
    if "no connection" in error.reason or "proxy" in error.reason:
        return (
            "No connection to the model host",
            happened,
            f"Check the network and, where you use one, the proxy. {_RETRY} to go on from the same "
            "byte.",
        )
    return (
        "The download stopped",
        happened,
        f"{_RETRY} to go on from the same byte. If it stops again, wait a while or try another "
        "network.",
    )


def answer_failure(error: errors.EngineError) -> FailurePage:
    """The model is here, but did not load or answer."""
    return FailurePage(
        "The model did not answer",
        error_text(error).text,
        "The model is complete and checked. Nothing has to be fetched again.",
        f"{_RETRY}, or go back and choose another model.",
        details=str(error),
    )
