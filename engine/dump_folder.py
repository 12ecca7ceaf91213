"""Writes the intermediate values of a prompt as .npy files, for comparing with an oracle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import FolderNotWritable


class DumpFolder:
    """A `DumpSink` that joins the chunks of each name and writes `<name>.npy` at the end.

    Files: hidden.00.npy (embeddings), hidden.01.npy (after layer 0), ..., hidden.norm.npy, each
    [T, E] float32, and logits.npy [T, V] float32; T are the positions of the prompt.
    """

    def __init__(self, folder: Path) -> None:
        """Make the folder.

        Raises:
            FolderNotWritable: it cannot be made.
        """
        self._folder = folder
        self._chunks: dict[str, list[NDArray[np.float32]]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or str(error)
            raise FolderNotWritable(str(folder), reason, error.errno) from error

    def __call__(self, name: str, value: NDArray[np.float32]) -> None:
        """Take the rows of one chunk."""
        # A copy: the backend may use its array again.
        self._chunks.setdefault(name, []).append(np.array(value, np.float32))

    def write(self) -> None:
        """Write all files.

        Raises:
            FolderNotWritable: a file cannot be written.
        """
        try:
            for name, chunks in self._chunks.items():
                np.save(self._folder / f"{name}.npy", np.concatenate(chunks))
        except OSError as error:
            reason = error.strerror or str(error)
            raise FolderNotWritable(str(self._folder), reason, error.errno) from error
