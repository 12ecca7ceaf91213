"""The models on this disk: fetched, hashed and only then handed out.

Nothing here trusts what is on the disk or what a server sends: a model's folder is handed out only
when every file of the catalog is there with the pinned length and sha256.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from engine.api import GenerationControl, ModelStoreEvent, VerifyProgress
from engine.errors import BadModelFile, ChecksumMismatch, FolderNotWritable, ModelFileMissing
from engine.models.file_fetch import FetchPolicy
from engine.models.folder_lock import folder_lock
from engine.models.model_catalog import CatalogModel
from engine.models.model_install import ModelInstall, held_bytes, require_writable
from engine.models.verified_files import VerifiedFiles, hash_file


class ModelStore:
    """The models under `root`, each in the folder of its id; one instance serves one thread."""

    def __init__(self, root: Path, policy: FetchPolicy | None = None) -> None:
        self._root = root
        self._policy = policy or FetchPolicy()

    def folder(self, model: CatalogModel) -> Path:
        """Where the model's files lie or will lie."""
        return self._root / model.model_id

    def is_on_disk(self, model: CatalogModel) -> bool:
        """Whether every file is there and unchanged since it was hashed; reads no content."""
        record = VerifiedFiles(self.folder(model))
        return all(record.holds(file) for file in model.files)

    def held_bytes(self, model: CatalogModel) -> int:
        """Bytes of the model that need not be fetched again, half-fetched files included."""
        folder = self.folder(model)
        return sum(held_bytes(folder / file.name, file.size_bytes) for file in model.files)

    def require_verified(self, model: CatalogModel) -> Path:
        """The folder of the model, every file of it with the pinned length and sha256.

        Hashes what has no valid record (about a second for 1.5 GB).

        Raises:
            ModelFileMissing, BadModelFile, ChecksumMismatch: one file is not as pinned.
        """
        for _progress in self.verify(model, GenerationControl()):
            pass
        return self.folder(model)

    def verify(self, model: CatalogModel, control: GenerationControl) -> Iterator[VerifyProgress]:
        """Hash every file that has no valid record; errors as in `require_verified`."""
        folder = self.folder(model)
        record = VerifiedFiles(folder)
        for file in model.files:
            path = folder / file.name
            if record.holds(file):
                yield VerifyProgress(file.name, file.size_bytes, file.size_bytes)
                continue
            if not path.is_file():
                raise ModelFileMissing(str(path), model.label)
            found_bytes = path.stat().st_size
            if found_bytes != file.size_bytes:
                raise BadModelFile(
                    str(path), f"expected {file.size_bytes} bytes, found {found_bytes}"
                )
            found_sha256 = yield from hash_file(path, file.name, control)
            if found_sha256 != file.sha256:
                raise ChecksumMismatch(str(path), file.sha256, found_sha256)
            record.add(file)

    def ensure_model(
        self, model: CatalogModel, control: GenerationControl
    ) -> Iterator[ModelStoreEvent]:
        """Fetch and check what is missing; afterwards `require_verified` passes.

        Raises:
            FolderNotWritable, StoreBusy, NotEnoughDisk: before anything is fetched (the last one
                also when the disk fills later).
            DownloadFailed: a file could not be fetched.
            ChecksumMismatch: a file was wrong twice in a row; it is not kept.
            DownloadCancelled: `control` was cancelled. What has arrived is kept.
        """
        folder = self.folder(model)
        require_writable(folder)
        with folder_lock(folder):
            yield from ModelInstall(model, folder, self._policy, control).run()

    def delete(self, model: CatalogModel) -> None:
        """Remove the model and all half-fetched files of it.

        Raises:
            StoreBusy: another process is fetching it.
            FolderNotWritable: a file cannot be removed.
        """
        folder = self.folder(model)
        if not folder.is_dir():
            return
        with folder_lock(folder):
            try:
                shutil.rmtree(folder)
            except OSError as error:
                reason = error.strerror or str(error)
                raise FolderNotWritable(str(folder), reason, error.errno) from error
