"""Open a model: a Hugging Face folder or a single GGUF, checked whole, tensors read lazily."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import BadModelFile, ModelFileMissing, UnsupportedModel
from engine.models.host_tensor import FLOAT_DTYPES, HostTensor
from engine.models.json_file import read_json_object
from engine.models.model_config import ModelConfig
from engine.models.safetensors_file import SafetensorsFile, TensorEntry, open_safetensors
from engine.models.weights import check_weights

if TYPE_CHECKING:
    from engine.models.gguf_file import GgufFile

INDEX_LIMIT_BYTES = 4 << 20
"""Largest model.safetensors.index.json that is read."""

_INDEX_NAME = "model.safetensors.index.json"
_SUPPORTED = "a folder with config.json and safetensors files, or one .gguf file"
_PICKLE_SUFFIXES = (".bin", ".pt", ".pth", ".pkl", ".ckpt")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model on disk that has been checked against its config.

    `format` is "safetensors" or "gguf"; `tensors` has the checkpoint's names; `nbytes` counts all
    stored tensors; `gguf` holds metadata (tokenizer, template) where the model is a GGUF.
    """

    path: Path
    name: str
    format: str
    config: ModelConfig
    tensors: Mapping[str, HostTensor]
    gguf: GgufFile | None = None

    @property
    def tensor_names(self) -> tuple[str, ...]:
        """All names, in file order."""
        return tuple(self.tensors)

    @property
    def nbytes(self) -> int:
        """Bytes of all stored tensors."""
        return sum(tensor.nbytes for tensor in self.tensors.values())

    def tensor(self, name: str) -> HostTensor:
        """Return the tensor of this checkpoint name.

        Raises:
            BadModelFile: there is none.
        """
        found = self.tensors.get(name)
        if found is None:
            raise BadModelFile(str(self.path), f"tensor {name} is missing")
        return found


def open_model(path: Path) -> ModelFiles:
    """Open a folder or a GGUF and check every tensor's name, shape and dtype; reads no tensor.

    Raises:
        ModelFileMissing: the path, config.json or a weight file is not there.
        BadModelFile: a file is damaged, or files contradict each other.
        UnsupportedModel: another architecture, feature, or kind of file (pickle is never opened).
    """
    try:
        return _open_folder(path) if path.is_dir() else _open_file(path)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise BadModelFile(str(path), reason, error.errno) from None


def _open_file(path: Path) -> ModelFiles:
    if not path.exists():
        raise ModelFileMissing(str(path), "the model")
    if not path.is_file():  # opening a pipe would wait for ever
        raise BadModelFile(str(path), "expected a file or a folder, found a pipe or a device")
    if path.suffix.lower() != ".gguf":
        kind = "a pickle file" if path.suffix.lower() in _PICKLE_SUFFIXES else path.suffix
        raise UnsupportedModel("model file", f"{path.name} ({kind or 'no suffix'})", _SUPPORTED)
    # Imported late: the package `gguf` need not be there for folders of safetensors.
    from engine.models.gguf_file import BLOCK_TYPES, open_gguf
    from engine.models.gguf_model import gguf_config, gguf_tensors

    file = open_gguf(path)
    config = gguf_config(file)
    tensors = gguf_tensors(file, config)
    check_weights(config, tensors, BLOCK_TYPES, str(path))
    return ModelFiles(path, path.stem, "gguf", config, tensors, file)


def _open_folder(folder: Path) -> ModelFiles:
    if not (folder / "config.json").is_file() and (ggufs := sorted(folder.glob("*.gguf"))):
        raise UnsupportedModel("model folder", folder.name, f"the file itself: {ggufs[0].name}")
    config = ModelConfig.from_json(folder / "config.json")
    tensors: dict[str, HostTensor] = {}
    for shard, names in _shards(folder).items():
        file = open_safetensors(folder / shard)
        if names is not None and names != file.tensors.keys():
            difference = sorted(names ^ file.tensors.keys())[0]
            raise BadModelFile(
                str(folder / _INDEX_NAME), f"{difference}: index and {shard} disagree about it"
            )
        for entry in file.tensors.values():
            tensors[entry.name] = _host_tensor(file, entry)
    check_weights(config, tensors, FLOAT_DTYPES, str(folder))
    return ModelFiles(folder, folder.resolve().name, "safetensors", config, tensors)


def _host_tensor(file: SafetensorsFile, entry: TensorEntry) -> HostTensor:
    return HostTensor(
        entry.name,
        entry.dtype,
        entry.shape,
        entry.end - entry.begin,
        lambda begin, end: file.read(entry.name, begin, end),
    )


def _shards(folder: Path) -> dict[str, set[str] | None]:
    """Weight files of a folder, each with the tensor names its index gives it (None: no index)."""
    if (folder / "model.safetensors").is_file():
        return {"model.safetensors": None}
    index_path = folder / _INDEX_NAME
    if not index_path.is_file():
        for suffix in _PICKLE_SUFFIXES:
            for pickle in sorted(folder.glob(f"*{suffix}")):
                raise UnsupportedModel("model file", f"{pickle.name} (a pickle file)", _SUPPORTED)
        raise ModelFileMissing(str(folder / "model.safetensors"), "the weights")
    index = read_json_object(index_path, INDEX_LIMIT_BYTES, "the weights")
    weight_map = index.get("weight_map")
    if not isinstance(weight_map, dict) or not weight_map:
        raise BadModelFile(str(index_path), "weight_map: expected tensor names and their files")
    shards: dict[str, set[str] | None] = {}
    for name, shard in weight_map.items():
        _check_shard_name(shard, name, index_path)
        names = shards.setdefault(shard, set())
        assert names is not None
        names.add(name)
    return shards


def _check_shard_name(shard: object, name: str, index_path: Path) -> None:
    # A plain file name of this folder: no separator of any system, no drive, no "..".
    plain = (
        isinstance(shard, str)
        and shard.endswith(".safetensors")
        and len(shard) <= 200
        and shard.isascii()
        and all(c.isalnum() or c in "._-" for c in shard)
        and not shard.startswith(".")
    )
    if not plain:
        raise BadModelFile(
            str(index_path),
            f"{name[:80]!r}: expected a safetensors file of this folder, found {shard!s:.80}",
        )
