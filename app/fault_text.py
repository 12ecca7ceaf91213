"""The words for a fault that is given as a number or an enum: of the system, the GPU, the network.

What the system, a driver or a library says itself is English, and for the log; no sentence of the
window holds it.
"""

from __future__ import annotations

import errno
import sqlite3

from app.language import QT_TRANSLATE_NOOP, translate
from engine.errors import DownloadFault, GpuFault, UnsupportedModel

_OF_THE_SYSTEM = {
    "EACCES": QT_TRANSLATE_NOOP("System", "no permission"),
    "EPERM": QT_TRANSLATE_NOOP("System", "no permission"),
    "EROFS": QT_TRANSLATE_NOOP("System", "the disk is read-only"),
    "ENOSPC": QT_TRANSLATE_NOOP("System", "the disk is full"),
    "EDQUOT": QT_TRANSLATE_NOOP("System", "the disk is full"),
    "ENOENT": QT_TRANSLATE_NOOP("System", "it is not there"),
    "ENOTDIR": QT_TRANSLATE_NOOP("System", "a file is in its place"),
    "EEXIST": QT_TRANSLATE_NOOP("System", "a file is in its place"),
    "EISDIR": QT_TRANSLATE_NOOP("System", "a folder is in its place"),
    "ENAMETOOLONG": QT_TRANSLATE_NOOP("System", "its name is too long"),
    "ELOOP": QT_TRANSLATE_NOOP("System", "its links lead in a circle"),
    "EIO": QT_TRANSLATE_NOOP("System", "the disk reports an error"),
    "EBUSY": QT_TRANSLATE_NOOP("System", "another program uses it"),
    "EMFILE": QT_TRANSLATE_NOOP("System", "too many files are open"),
}
"""By the name of the number, since not every system has every one."""

_OF_SQLITE = {
    "SQLITE_FULL": QT_TRANSLATE_NOOP("System", "the disk is full"),
    "SQLITE_BUSY": QT_TRANSLATE_NOOP("System", "another program holds the database"),
    "SQLITE_LOCKED": QT_TRANSLATE_NOOP("System", "another program holds the database"),
    "SQLITE_READONLY": QT_TRANSLATE_NOOP("System", "it is read-only"),
    "SQLITE_CANTOPEN": QT_TRANSLATE_NOOP("System", "no permission"),
    "SQLITE_IOERR": QT_TRANSLATE_NOOP("System", "the disk reports an error"),
    "SQLITE_CORRUPT": QT_TRANSLATE_NOOP("System", "it is damaged"),
    "SQLITE_NOTADB": QT_TRANSLATE_NOOP("System", "it is damaged"),
}
_DATABASE_REFUSED = QT_TRANSLATE_NOOP("System", "the database refused it")

_OF_DOWNLOADS = {
    DownloadFault.NO_CONNECTION: QT_TRANSLATE_NOOP("System", "no connection"),
    DownloadFault.NO_ANSWER: QT_TRANSLATE_NOOP("System", "no answer"),
    DownloadFault.LOST: QT_TRANSLATE_NOOP("System", "the connection was lost"),
    DownloadFault.TOO_SLOW: QT_TRANSLATE_NOOP("System", "the connection is too slow"),
    DownloadFault.PROXY: QT_TRANSLATE_NOOP("System", "the proxy does not let it through"),
    DownloadFault.PROXY_PASSWORD: QT_TRANSLATE_NOOP(
        "System", "the proxy wants a user name and a password"
    ),
    DownloadFault.WEB_PAGE: QT_TRANSLATE_NOOP("System", "a web page came in place of the file"),
    DownloadFault.OTHER_FILE: QT_TRANSLATE_NOOP("System", "the host sent something else"),
    DownloadFault.REFUSED: QT_TRANSLATE_NOOP("System", "the host refused it"),
    DownloadFault.CERTIFICATE: QT_TRANSLATE_NOOP("System", "the host's certificate was refused"),
    DownloadFault.CLOCK: QT_TRANSLATE_NOOP(
        "System", "the host's certificate is not valid at this time, so check the clock"
    ),
    DownloadFault.ADDRESS: QT_TRANSLATE_NOOP("System", "files may not come from this address"),
}


def os_reason(error: OSError | int | None) -> str:
    """Why the system refused something, by its number, in the middle of a sentence."""
    number = error.errno if isinstance(error, OSError) else error
    if number is None:
        return translate("System", "the system refused it")
    known = _OF_THE_SYSTEM.get(errno.errorcode.get(number, ""))
    if known is not None:
        return translate("System", known)
    return translate("System", "the system refused it, error {number}").format(number=number)


def database_reason(error: OSError | sqlite3.Error) -> str:
    """Why the chat database cannot be used, in the middle of a sentence."""
    if isinstance(error, OSError):
        return os_reason(error)
    name = getattr(error, "sqlite_errorname", "")
    known = next((words for begin, words in _OF_SQLITE.items() if name.startswith(begin)), None)
    return translate("System", known or _DATABASE_REFUSED)


def gpu_reason(fault: GpuFault, gpu: str = "") -> str:
    """Why no NVIDIA GPU can be used, in the middle of a sentence."""
    match fault:
        case GpuFault.NOT_INSTALLED:
            return translate("System", "CuPy, which computes on it, is not installed")
        case GpuFault.NOT_STARTING:
            return translate("System", "CuPy, which computes on it, does not start")
        case GpuFault.NO_DRIVER:
            return translate("System", "no driver was found")
        case GpuFault.NOT_THERE:
            return translate("System", "there is none")
        case GpuFault.TOO_OLD:
            return translate("System", "{gpu} is too old").format(gpu=gpu)
        case GpuFault.REFUSED:
            return translate("System", "its driver refused")


def download_reason(fault: DownloadFault, about: str = "") -> str:
    """What is the matter with a download, in the middle of a sentence; with host or proxy."""
    words = translate("System", _OF_DOWNLOADS[fault])
    if not about:
        return words
    return translate("System", "{what}: {about}").format(what=words, about=about)


def unsupported_reason(error: UnsupportedModel) -> str:
    """What of a model cannot be used, as a sentence of its own."""
    key, value = error.key, str(error.value)[:80]
    if key == "architecture":
        words = translate("System", "Its architecture is {value}; Thinkpane can use {supported}.")
        return words.format(value=value, supported=error.supported)
    if key in ("model file", "model folder"):
        return translate(
            "System",
            "Choose a folder with safetensors files and their config.json, or a GGUF file.",
        )
    if "tokenizer" in key:
        return translate("System", "Its tokenizer is of a kind that Thinkpane does not know.")
    if key.split(" ")[0] == "type":
        words = translate("System", "Its weights are of the type {value}.")
        return words.format(value=value)
    # What the engine describes in English has a name in the model's config too.
    if key == "query heads per kv head":
        key = "num_attention_heads / num_key_value_heads"
    elif key == "number of stop tokens":
        key = "eos_token_id"
    return translate("System", "Its setting {key} is {value}.").format(key=key, value=value)
