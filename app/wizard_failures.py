"""The wizard's words for a failure: what happened, what was kept, what to do.

The window's notices have one sentence for each error (`app.error_text`); a whole page has room for
three, and knows how much of the model is here.
"""

from __future__ import annotations

from app.error_text import error_text
from app.fault_text import download_reason, os_reason
from app.language import translate
from app.system_check import gigabytes
from app.wizard_view import FailurePage
from engine import errors
from engine.models.model_catalog import CatalogModel


def store_failure(error: errors.EngineError, model: CatalogModel, held_bytes: int) -> FailurePage:
    """A failure of download or check; `held_bytes` of the model need not be fetched again."""
    kept = (
        translate("Wizard", "{held} of {total} are kept. Nothing of it is fetched again.").format(
            held=gigabytes(held_bytes), total=gigabytes(model.total_bytes)
        )
        if held_bytes
        else translate("Wizard", "Nothing had arrived yet. Your chats and settings are untouched.")
    )
    match error:
        case errors.DownloadFailed():
            title, happened, advice = _download_failed(error)
        case errors.ChecksumMismatch():
            title = translate("Wizard", "A file is not the right one")
            happened = translate(
                "Wizard",
                "{file} arrived whole, twice, but its content is not what the makers of the "
                "model published. It was not used, and it is not kept.",
            ).format(file=error.file)
            advice = translate(
                "Wizard",
                "Choose Try again. If it happens again, something on the way changes files: a "
                "proxy, a virus scanner or a mirror. Try another network.",
            )
        case errors.NotEnoughDisk():
            title = translate("Wizard", "The disk is full")
            happened = translate(
                "Wizard", "{needed} are needed in {path}, and {free} are free."
            ).format(
                needed=gigabytes(error.needed_bytes),
                path=error.path,
                free=gigabytes(error.free_bytes),
            )
            advice = translate(
                "Wizard",
                "Free some space on that disk. Choose Try again to go on from the same byte.",
            )
        case errors.FolderNotWritable():
            title = translate("Wizard", "The folder cannot be written to")
            words = translate("Wizard", "{path}: {reason}.")
            happened = words.format(path=error.path, reason=os_reason(error.errno))
            advice = translate(
                "Wizard",
                "Make the folder writable. Choose Try again, or start Thinkpane with --profile and "
                "another folder.",
            )
        case errors.StoreBusy():
            title = translate("Wizard", "Another Thinkpane is downloading this model")
            happened = translate("Wizard", "It holds the folder {path}.").format(path=error.path)
            advice = translate(
                "Wizard", "Wait for it or close it. Choose Try again to use what it has fetched."
            )
        case _:
            title = translate("Wizard", "The download stopped")
            happened = error_text(error).text
            advice = translate("Wizard", "Choose Try again.")
    return FailurePage(title, happened, kept, advice, details=str(error))


_NO_WAY_OUT = frozenset(
    {
        errors.DownloadFault.NO_CONNECTION,
        errors.DownloadFault.PROXY,
        errors.DownloadFault.PROXY_PASSWORD,
    }
)


def _download_failed(error: errors.DownloadFailed) -> tuple[str, str, str]:
    words = translate("Wizard", "{path}: {reason}.")
    happened = words.format(path=error.file, reason=download_reason(error.fault, error.about))
    if error.fault is errors.DownloadFault.WEB_PAGE:
        return (
            translate("Wizard", "A web page came in place of the model"),
            happened,
            translate(
                "Wizard",
                "Some networks want a login in the browser first. Log in there. Choose Try again.",
            ),
        )
    if error.fault in _NO_WAY_OUT:
        return (
            translate("Wizard", "No connection to the model host"),
            happened,
            translate(
                "Wizard",
                "Check the network and, where you use one, the proxy. Choose Try again to go on "
                "from the same byte.",
            ),
        )
    return (
        translate("Wizard", "The download stopped"),
        happened,
        translate(
            "Wizard",
            "Choose Try again to go on from the same byte. If it stops again, wait a while or try "
            "another network.",
        ),
    )


def answer_failure(error: errors.EngineError) -> FailurePage:
    """The model is here, but did not load or answer."""
    return FailurePage(
        translate("Wizard", "The model did not answer"),
        error_text(error).text,
        translate("Wizard", "The model is complete and checked. Nothing has to be fetched again."),
        translate("Wizard", "Choose Try again, or go back and choose another model."),
        details=str(error),
    )
