"""GGUF, read strictly: header, metadata and tensor list are bounded and checked by hand.

The package `gguf` supplies block sizes and dequantization; its reader trusts counts and lengths of
the file, so it is not used. Layout (version 2 and 3, little endian): magic, version, tensor count,
metadata count, metadata, tensor list, padding, tensor data.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize
from numpy.typing import NDArray

from engine.errors import BadModelFile, ModelFileMissing, UnsupportedModel

MetadataValue = bool | int | float | str | list[bool] | list[int] | list[float] | list[str]
"""A metadata value as Python sees it."""

BLOCK_TYPES = (
    "F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K",
    "Q6_K", "IQ4_NL", "IQ4_XS",
)  # fmt: skip
"""Tensor types that are read."""

_VIEWS = {"F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_METADATA_LIMIT = 4096
# Vocabulary, merges and template of the largest tokenizers take about 10 MB.
_METADATA_LIMIT_BYTES = 64 << 20
_TENSOR_LIMIT = 16_384
_KEY_LIMIT_BYTES = 1024
_STRING_LIMIT_BYTES = 4 << 20
_ARRAY_LIMIT = 1 << 21
_DIMENSION_LIMIT = 4
_COUNT_LIMIT = 1 << 44

_STRING, _ARRAY, _BOOL = 8, 9, 7
# GGUF value type -> struct code (bool is handled apart).
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
_DEFAULT_ALIGNMENT = 32


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """One tensor of the list: numpy's order of `shape` (rows first), `begin` in bytes."""

    name: str
    block_type: str
    shape: tuple[int, ...]
    begin: int
    nbytes: int


class GgufFile:
    """A mapped GGUF whose header has been checked; made by `open_gguf`."""

    def __init__(
        self,
        path: Path,
        mapped: mmap.mmap,
        metadata: dict[str, MetadataValue],
        tensors: dict[str, GgufTensor],
    ) -> None:
        self.path = path
        self.metadata = metadata
        self.tensors = tensors
        self.nbytes = len(mapped)
        self._mapped = mapped

    def read_rows(self, tensor: GgufTensor, rows: slice | NDArray[np.intp]) -> NDArray[np.generic]:
        """Rows of a tensor: F32, F16 and BF16 (uint16) as stored, else dequantized to float32.

        A slice of a float tensor is a view of the file; row numbers make a copy.

        Raises:
            BadModelFile: the file has changed its length since it was opened (touching a page
                beyond the new end would kill the process).
        """
        found_bytes = self._mapped.size()
        if found_bytes != self.nbytes:
            raise BadModelFile(
                str(self.path),
                f"expected {self.nbytes:,} bytes as when it was opened, found {found_bytes:,}",
            )
        stored = np.frombuffer(self._mapped, np.uint8, tensor.nbytes, tensor.begin)
        part = stored.reshape(tensor.shape[0], -1)[rows]
        shape = (part.shape[0], *tensor.shape[1:])
        if tensor.block_type in _VIEWS:
            return part.view(_VIEWS[tensor.block_type]).reshape(shape)
        # A damaged scale may be infinite: NaN weights end in NumericalError at the first logits.
        with np.errstate(all="ignore"):
            values = dequantize(part, GGMLQuantizationType[tensor.block_type])
        return np.asarray(values, dtype=np.float32).reshape(shape)


def open_gguf(path: Path) -> GgufFile:
    """Check header, metadata and tensor list, and map the file; reads no tensor.

    Raises:
        ModelFileMissing: there is no such file.
        BadModelFile: not a GGUF, or any count, length, offset or text in it is impossible.
        UnsupportedModel: version, byte order, split file or tensor type is not supported.
    """
    where = str(path)
    try:
        with path.open("rb") as file:
            file_bytes = path.stat().st_size
            if file_bytes < 24:
                raise BadModelFile(where, f"expected at least 24 bytes, found {file_bytes}")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise ModelFileMissing(where, "the model") from None
    except (OSError, ValueError) as error:
        reason = f"cannot be read: {error}"
        raise BadModelFile(where, reason, getattr(error, "errno", None)) from None
    cursor = _Cursor(mapped, where)
    tensor_count, metadata_count = _read_counts(cursor)
    metadata = _read_metadata(cursor, metadata_count)
    if metadata.get("split.count", 1) not in (0, 1):
        raise UnsupportedModel("split.count", metadata["split.count"], "a GGUF in one file")
    tensors = _read_tensors(cursor, tensor_count, _alignment(metadata, where))
    return GgufFile(path, mapped, metadata, tensors)


class _Cursor:
    """A position in the mapped file; every step is checked against the file's end."""

    def __init__(self, mapped: mmap.mmap, where: str) -> None:
        self.mapped = mapped
        self.where = where
        self.position = 0

    def take(self, nbytes: int, what: str) -> bytes:
        """Return the next `nbytes` bytes."""
        begin, end = self.position, self.position + nbytes
        if end > len(self.mapped):
            raise BadModelFile(
                self.where, f"{what}: expected {nbytes:,} bytes at byte {begin:,}, found the end"
            )
        self.position = end
        return self.mapped[begin:end]

    def number(self, code: str, what: str) -> int:
        """Return one little-endian whole number of struct code `code`."""
        (value,) = struct.unpack(f"<{code}", self.take(struct.calcsize(code), what))
        return int(value)

    def count(self, limit: int, what: str) -> int:
        """Return a 64-bit count of at most `limit`."""
        value = self.number("Q", what)
        if value > limit:
            raise BadModelFile(self.where, f"{what}: expected at most {limit:,}, found {value:,}")
        return value

    def text(self, limit_bytes: int, what: str) -> str:
        """Return one string: 64-bit length, then UTF-8."""
        data = self.take(self.count(limit_bytes, f"length of {what}"), what)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise BadModelFile(self.where, f"{what}: expected UTF-8 text") from None


def _read_counts(cursor: _Cursor) -> tuple[int, int]:
    """Read magic, version and both counts."""
    magic = cursor.take(4, "magic")
    if magic != b"GGUF":
        raise BadModelFile(cursor.where, f"expected a GGUF file, found {magic!r} at its start")
    version = cursor.number("I", "version")
    if version not in (2, 3):
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big")
        found = f"{swapped} in big-endian order" if swapped in (1, 2, 3) else str(version)
        raise UnsupportedModel("GGUF version", found, "2, 3 (little-endian)")
    return cursor.count(_TENSOR_LIMIT, "tensor count"), cursor.count(
        _METADATA_LIMIT, "metadata count"
    )


def _read_metadata(cursor: _Cursor, count: int) -> dict[str, MetadataValue]:
    metadata: dict[str, MetadataValue] = {}
    for _ in range(count):
        key = cursor.text(_KEY_LIMIT_BYTES, "metadata key")
        if key in metadata:
            raise BadModelFile(cursor.where, f"duplicate metadata key {key[:80]!r}")
        metadata[key] = _read_value(cursor, key[:80])
        if cursor.position > _METADATA_LIMIT_BYTES:
            raise BadModelFile(
                cursor.where, f"expected at most {_METADATA_LIMIT_BYTES:,} bytes of metadata"
            )
    return metadata


def _read_value(cursor: _Cursor, key: str) -> MetadataValue:
    value_type = cursor.number("I", f"type of {key}")
    if value_type == _STRING:
        return cursor.text(_STRING_LIMIT_BYTES, key)
    if value_type == _ARRAY:
        return _read_array(cursor, key)
    return _read_scalars(cursor, value_type, 1, key)[0]


def _read_array(cursor: _Cursor, key: str) -> MetadataValue:
    value_type = cursor.number("I", f"element type of {key}")
    count = cursor.count(_ARRAY_LIMIT, f"length of {key}")
    if value_type != _STRING:
        return _read_scalars(cursor, value_type, count, key)
    if cursor.position + 8 * count > len(cursor.mapped):
        raise BadModelFile(cursor.where, f"{key}: {count:,} texts do not fit in the file")
    return [cursor.text(_STRING_LIMIT_BYTES, key) for _ in range(count)]


def _read_scalars(
    cursor: _Cursor, value_type: int, count: int, key: str
) -> list[bool] | list[int] | list[float]:
    code = _SCALARS.get(value_type)
    if code is None:
        # Arrays of arrays are allowed by the format; no model that we read has one.
        raise BadModelFile(cursor.where, f"{key}: unknown value type {value_type}")
    data = cursor.take(count * struct.calcsize(code), key)
    values = list(struct.unpack(f"<{count}{code}", data))
    if value_type != _BOOL:
        return values
    if any(value > 1 for value in values):
        raise BadModelFile(cursor.where, f"{key}: expected true (1) or false (0)")
    return [value == 1 for value in values]


def _alignment(metadata: dict[str, MetadataValue], where: str) -> int:
    alignment = metadata.get("general.alignment", _DEFAULT_ALIGNMENT)
    if (
        not isinstance(alignment, int)
        or not 8 <= alignment <= 1 << 16
        or alignment & (alignment - 1)
    ):
        raise BadModelFile(
            where, f"general.alignment: expected a power of two from 8, found {alignment!s:.80}"
        )
    return alignment


def _read_tensors(cursor: _Cursor, count: int, alignment: int) -> dict[str, GgufTensor]:
    listed = [_read_tensor(cursor) for _ in range(count)]
    data_begin = -(-cursor.position // alignment) * alignment
    tensors: dict[str, GgufTensor] = {}
    expected = 0
    for tensor in listed:
        # llama.cpp demands the same: in file order, each padded to the alignment, no gap.
        if tensor.begin != expected:
            raise BadModelFile(
                cursor.where,
                f"{tensor.name}: expected its data at {expected:,}, found {tensor.begin:,}",
            )
        end = data_begin + tensor.begin + tensor.nbytes
        if end > len(cursor.mapped):
            raise BadModelFile(
                cursor.where,
                f"{tensor.name}: expected {end:,} bytes in the file, found {len(cursor.mapped):,}",
            )
        if tensor.name in tensors:
            raise BadModelFile(cursor.where, f"duplicate tensor {tensor.name!r}")
        tensors[tensor.name] = GgufTensor(
            tensor.name,
            tensor.block_type,
            tensor.shape,
            data_begin + tensor.begin,
            tensor.nbytes,
        )
        expected += -(-tensor.nbytes // alignment) * alignment
    return tensors


def _read_tensor(cursor: _Cursor) -> GgufTensor:
    """Read one line of the tensor list; `begin` still counts from the start of the data."""
    name = cursor.text(_KEY_LIMIT_BYTES, "tensor name")
    dimensions = cursor.number("I", f"dimensions of {name[:80]!r}")
    if not 1 <= dimensions <= _DIMENSION_LIMIT:
        raise BadModelFile(
            cursor.where, f"{name[:80]!r}: expected 1 to 4 dimensions, found {dimensions}"
        )
    # GGUF names the fastest dimension first.
    sizes = [cursor.count(_COUNT_LIMIT, f"shape of {name[:80]!r}") for _ in range(dimensions)]
    block_type, block_size, block_bytes = _block_type(cursor.number("I", "tensor type"), name)
    begin = cursor.number("Q", f"offset of {name[:80]!r}")
    values = 1
    for size in sizes:
        values *= size
        if not 0 < values <= _COUNT_LIMIT:
            raise BadModelFile(cursor.where, f"{name[:80]!r}: impossible shape {sizes}")
    if sizes[0] % block_size:
        raise BadModelFile(
            cursor.where,
            f"{name[:80]!r}: expected a row of whole {block_type} blocks of {block_size}, "
            f"found {sizes[0]}",
        )
    if dimensions == 1 and block_size > 1:
        raise BadModelFile(
            cursor.where, f"{name[:80]!r}: expected a vector of floats, found {block_type} blocks"
        )
    nbytes = values // block_size * block_bytes
    return GgufTensor(name, block_type, tuple(reversed(sizes)), begin, nbytes)


def _block_type(number: int, name: str) -> tuple[str, int, int]:
    """Return name, values per block and bytes per block of a tensor type."""
    try:
        block_type = GGMLQuantizationType(number)
    except ValueError:
        raise UnsupportedModel(
            f"type of tensor {name[:80]!r}", number, ", ".join(BLOCK_TYPES)
        ) from None
    if block_type.name not in BLOCK_TYPES:
        raise UnsupportedModel(
            f"type of tensor {name[:80]!r}", block_type.name, ", ".join(BLOCK_TYPES)
        )
    values, nbytes = GGML_QUANT_SIZES[block_type]
    return block_type.name, values, nbytes
