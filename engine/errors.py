"""Every error the engine raises on purpose: what was expected, what was found, which object.

Advice to the user is not here; `app/error_text.py` has the words for each class. Standard library
only.
"""

from __future__ import annotations

from enum import Enum

MAIN_MEMORY = "main memory"
"""`NotEnoughMemory.device` of the processor."""


class GpuFault(Enum):
    """Why there is no NVIDIA GPU to compute on."""

    NOT_INSTALLED = "not_installed"
    NOT_STARTING = "not_starting"
    NO_DRIVER = "no_driver"
    NOT_THERE = "not_there"
    TOO_OLD = "too_old"
    REFUSED = "refused"


class DownloadFault(Enum):
    """What is the matter with a download; `about` of it is a host, an address or a proxy."""

    NO_CONNECTION = "no_connection"
    NO_ANSWER = "no_answer"
    LOST = "lost"
    TOO_SLOW = "too_slow"
    PROXY = "proxy"
    PROXY_PASSWORD = "proxy_password"
    WEB_PAGE = "web_page"
    OTHER_FILE = "other_file"
    REFUSED = "refused"
    CERTIFICATE = "certificate"
    CLOCK = "clock"
    ADDRESS = "address"


class EngineError(Exception):
    """Parent of all errors that the engine raises on purpose."""


class BadRequest(EngineError):
    """A request or parameter is outside its range (`field`, `value`, `expected`)."""

    def __init__(self, field: str, value: object, expected: str) -> None:
        super().__init__(f"{field}: expected {expected}, got {value!r}")
        self.field = field
        self.value = value
        self.expected = expected


class BadModelFile(EngineError):
    """A model file is damaged or not what its name says (`path`, `reason`).

    `errno` is the system's number where the file could not even be read.
    """

    def __init__(self, path: str, reason: str, errno: int | None = None) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.errno = errno


class ModelFileMissing(EngineError):
    """A file or folder that the model needs is not there (`path`, `needed_for`)."""

    def __init__(self, path: str, needed_for: str) -> None:
        super().__init__(f"{path} does not exist; it is needed for {needed_for}")
        self.path = path
        self.needed_for = needed_for


class UnsupportedModel(EngineError):
    """The model is sound but uses something that this engine lacks (`key`, `value`)."""

    def __init__(self, key: str, value: object, supported: str) -> None:
        super().__init__(f"{key} {value} is not supported; supported: {supported}")
        self.key = key
        self.value = value
        self.supported = supported


class PromptTooLong(EngineError):
    """The prompt has more tokens than the context holds (`tokens`, `limit`)."""

    def __init__(self, tokens: int, limit: int) -> None:
        super().__init__(f"the prompt has {tokens} tokens, at most {limit} fit into the context")
        self.tokens = tokens
        self.limit = limit


class NumericalError(EngineError):
    """The model computed NaN or infinity (`where`)."""

    def __init__(self, where: str) -> None:
        super().__init__(f"not a finite number in {where}")
        self.where = where


class NotEnoughMemory(EngineError):
    """The plan does not fit (`needed_bytes`, `free_bytes`, `device`)."""

    def __init__(self, needed_bytes: int, free_bytes: int, device: str) -> None:
        super().__init__(
            f"{device}: {needed_bytes / 1e9:.2f} GB needed, {free_bytes / 1e9:.2f} GB free"
        )
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes
        self.device = device


class NoCudaDevice(EngineError):
    """No usable NVIDIA GPU (`reason`, `fault`; `gpu` is the name of one that is too old)."""

    def __init__(self, reason: str, fault: GpuFault = GpuFault.REFUSED, gpu: str = "") -> None:
        super().__init__(f"no usable NVIDIA GPU: {reason}")
        self.reason = reason
        self.fault = fault
        self.gpu = gpu


class DriverTooOld(EngineError):
    """The NVIDIA driver is older than needed (`found`, `needed`)."""

    def __init__(self, found: str, needed: str) -> None:
        super().__init__(f"NVIDIA driver {found} found, {needed} or newer needed")
        self.found = found
        self.needed = needed


class KernelCompileError(EngineError):
    """A CUDA kernel did not compile (`file`, `log`)."""

    def __init__(self, file: str, log: str) -> None:
        super().__init__(f"{file} did not compile: {log.strip()[:2000]}")
        self.file = file
        self.log = log


class DeviceLost(EngineError):
    """A CUDA error that poisons the process: only a restart of the app helps (`reason`)."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the GPU stopped answering: {reason}")
        self.reason = reason


class LoadCancelled(EngineError):
    """Loading was cancelled by the user."""

    def __init__(self) -> None:
        super().__init__("loading was cancelled")


class DownloadFailed(EngineError):
    """A file could not be fetched; what had arrived is kept (`file`, `reason`, `kept_bytes`).

    `fault` and `about` say the reason without words.
    """

    def __init__(
        self,
        file: str,
        reason: str,
        kept_bytes: int = 0,
        fault: DownloadFault = DownloadFault.LOST,
        about: str = "",
    ) -> None:
        super().__init__(f"{file}: {reason} ({kept_bytes} bytes kept)")
        self.file = file
        self.reason = reason
        self.kept_bytes = kept_bytes
        self.fault = fault
        self.about = about


class DownloadCancelled(EngineError):
    """The download was paused or cancelled by the user; what had arrived is kept."""

    def __init__(self, file: str) -> None:
        super().__init__(f"{file}: stopped by the user")
        self.file = file


class ChecksumMismatch(EngineError):
    """A file's sha256 is not the pinned one (`file`, `expected`, `found`)."""

    def __init__(self, file: str, expected: str, found: str) -> None:
        super().__init__(f"{file}: expected sha256 {expected}, found {found}")
        self.file = file
        self.expected = expected
        self.found = found


class NotEnoughDisk(EngineError):
    """The disk has too little room (`path`, `needed_bytes`, `free_bytes`)."""

    def __init__(self, path: str, needed_bytes: int, free_bytes: int) -> None:
        super().__init__(
            f"{path}: {needed_bytes / 1e9:.2f} GB needed, {free_bytes / 1e9:.2f} GB free"
        )
        self.path = path
        self.needed_bytes = needed_bytes
        self.free_bytes = free_bytes


class FolderNotWritable(EngineError):
    """A folder cannot be written to (`path`, `reason`; `errno`: the system's number for it)."""

    def __init__(self, path: str, reason: str, errno: int | None = None) -> None:
        super().__init__(f"{path} cannot be written to: {reason}")
        self.path = path
        self.reason = reason
        self.errno = errno


class StoreBusy(EngineError):
    """Another process of this app is fetching into the same folder (`path`)."""

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is in use by another Thinkpane that is fetching this model")
        self.path = path
