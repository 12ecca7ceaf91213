"""Safetensors, read strictly: the whole header is checked before any byte of it is believed.

Format: 8 bytes header length (little endian), a JSON object, then the tensors' bytes without a gap.
Stricter than the reference library, which takes duplicate keys, path-like names, unknown fields
and headers of 100 MB. Never accepts what the reference refuses (a test compares the two).
"""

from __future__ import annotations

import math
import mmap
import re
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.errors import BadModelFile, ModelFileMissing
from engine.models.json_file import parse_json_object

HEADER_LIMIT_BYTES = 2 << 20
"""Largest header that is parsed; the largest supported model (512 layers) needs under 1 MiB."""

DTYPE_BYTES = {
    "BOOL": 1, "U8": 1, "I8": 1, "F8_E4M3": 1, "F8_E5M2": 1,
    "U16": 2, "I16": 2, "F16": 2, "BF16": 2,
    "U32": 4, "I32": 4, "F32": 4,
    "U64": 8, "I64": 8, "F64": 8,
}  # fmt: skip
"""Bytes per value of each known dtype."""

_NUMPY_DTYPES = {"BF16": "<u2", "F16": "<f2", "F32": "<f4"}
_NAME = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", re.ASCII)
_NAME_LIMIT = 256
_DIMENSION_LIMIT = 8
_TENSOR_LIMIT = 16_384
# Above any real tensor and far below 2^64, so that no product anywhere can wrap.
_COUNT_LIMIT = 1 << 44


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """One tensor of the header; `begin` and `end` are offsets in the file, in bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class SafetensorsFile:
    """A mapped file whose header has been checked; made by `open_safetensors`."""

    def __init__(self, path: Path, mapped: mmap.mmap, tensors: dict[str, TensorEntry]) -> None:
        self.path = path
        self.tensors = tensors
        self.nbytes = len(mapped)
        self._mapped = mapped

    def read(self, name: str, begin: int = 0, end: int | None = None) -> NDArray[np.generic]:
        """Rows `begin` to `end` (all by default) of a BF16 (as uint16), F16 or F32 tensor: a view.

        Raises:
            BadModelFile: no such tensor, another dtype, or the file has changed its length since
                it was opened (touching a page beyond the new end would kill the process).
        """
        entry = self.tensors.get(name)
        if entry is None:
            raise BadModelFile(str(self.path), f"tensor {name} is missing")
        numpy_dtype = _NUMPY_DTYPES.get(entry.dtype)
        if numpy_dtype is None:
            raise BadModelFile(
                str(self.path), f"{name}: expected dtype BF16, F16 or F32, found {entry.dtype}"
            )
        found_bytes = self._mapped.size()
        if found_bytes != self.nbytes:
            raise BadModelFile(
                str(self.path),
                f"expected {self.nbytes:,} bytes as when it was opened, found {found_bytes:,}",
            )
        count = math.prod(entry.shape)
        flat = np.frombuffer(self._mapped, numpy_dtype, count, entry.begin)
        rows = flat.reshape(entry.shape)[begin:end] if entry.shape else flat
        # The format does not align tensors; compiled loops need aligned ones, so copy those.
        return np.require(rows, requirements="A")


def open_safetensors(path: Path) -> SafetensorsFile:
    """Check the header and map the file; reads no tensor.

    Raises:
        ModelFileMissing: there is no such file.
        BadModelFile: any rule of the format is broken; names the rule and the tensor.
    """
    where = str(path)
    try:
        with path.open("rb") as file:
            file_bytes = path.stat().st_size
            header = _read_header(file.read(8), file_bytes, where)
            data = file.read(header)
            mapped = mmap.mmap(file.fileno(), file_bytes, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise ModelFileMissing(where, "the weights") from None
    except (OSError, ValueError) as error:
        # mmap says ValueError where the file has shrunk meanwhile.
        reason = f"cannot be read: {error}"
        raise BadModelFile(where, reason, getattr(error, "errno", None)) from None
    return SafetensorsFile(path, mapped, parse_header(data, 8 + header, file_bytes, where))


def _read_header(first_bytes: bytes, file_bytes: int, where: str) -> int:
    """Return the header's length in bytes, checked against the file's."""
    if file_bytes < 10 or len(first_bytes) < 8:
        raise BadModelFile(where, f"expected at least 10 bytes, found {file_bytes}: too short")
    (header_bytes,) = struct.unpack("<Q", first_bytes)
    if header_bytes > HEADER_LIMIT_BYTES:
        raise BadModelFile(
            where,
            f"expected a header of at most {HEADER_LIMIT_BYTES:,} bytes, found {header_bytes:,}",
        )
    if header_bytes < 2 or 8 + header_bytes > file_bytes:
        raise BadModelFile(
            where,
            f"header length: expected 2 to {file_bytes - 8:,} bytes, found {header_bytes:,}",
        )
    return int(header_bytes)


def parse_header(
    data: bytes, data_begin: int, file_bytes: int, where: str
) -> dict[str, TensorEntry]:
    """Check the header's JSON; `data_begin` is where the tensors' bytes begin in the file.

    Raises:
        BadModelFile: see `open_safetensors`.
    """
    if data[:1] != b"{":
        raise BadModelFile(where, f"header: expected '{{' first, found {data[:1]!r}")
    # Each tensor opens a brace: refuse a flood of them before the slow work of parsing it.
    if (objects := data.count(b"{")) > _TENSOR_LIMIT:
        raise BadModelFile(
            where, f"header: expected at most {_TENSOR_LIMIT:,} tensors, found {objects:,}"
        )
    values = parse_json_object(data, f"{where} (header)")
    if "__metadata__" in values:
        _check_metadata(values.pop("__metadata__"), where)
    entries = [_entry(name, value, data_begin, where) for name, value in values.items()]
    _check_contiguous(entries, data_begin, file_bytes, where)
    return {entry.name: entry for entry in entries}


def _check_metadata(metadata: object, where: str) -> None:
    if not isinstance(metadata, dict):
        raise BadModelFile(where, "__metadata__: expected an object of texts")
    for key, value in metadata.items():
        if not isinstance(value, str):
            raise BadModelFile(where, f"__metadata__: expected a text for {key[:80]!r}")
        # JSON can spell half a surrogate pair, which is no text.
        if not (key + value).isascii() and any("\ud800" <= c <= "\udfff" for c in key + value):
            raise BadModelFile(where, f"__metadata__: {key[:80]!r} holds half a surrogate pair")


def _natural(value: object) -> bool:
    # bool is an int in Python; JSON's true is not one.
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _COUNT_LIMIT


def _entry(name: str, value: object, data_begin: int, where: str) -> TensorEntry:
    if len(name) > _NAME_LIMIT or not _NAME.fullmatch(name):
        raise BadModelFile(
            where,
            f"tensor name: expected letters, digits, '_', '-' and single dots, found {name[:80]!r}",
        )
    if not isinstance(value, dict) or set(value) != {"dtype", "shape", "data_offsets"}:
        raise BadModelFile(where, f"{name}: expected exactly dtype, shape and data_offsets")
    dtype, shape, offsets = value["dtype"], value["shape"], value["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_BYTES:
        raise BadModelFile(where, f"{name}: unknown dtype {str(dtype)[:80]!r}")
    if (
        not isinstance(shape, list)
        or len(shape) > _DIMENSION_LIMIT
        or not all(_natural(n) for n in shape)
    ):
        raise BadModelFile(
            where, f"{name}: shape: expected at most {_DIMENSION_LIMIT} sizes, found {shape!s:.80}"
        )
    count = 1
    for size in shape:
        count *= size
        if count > _COUNT_LIMIT:
            raise BadModelFile(where, f"{name}: shape {shape} has too many values")
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(_natural(n) for n in offsets)
        or offsets[0] > offsets[1]
    ):
        raise BadModelFile(
            where, f"{name}: data_offsets: expected [begin, end], found {offsets!s:.80}"
        )
    expected_bytes = count * DTYPE_BYTES[dtype]
    if offsets[1] - offsets[0] != expected_bytes:
        raise BadModelFile(
            where,
            f"{name}: expected {expected_bytes:,} bytes for {dtype} {shape}, "
            f"found {offsets[1] - offsets[0]:,}",
        )
    return TensorEntry(name, dtype, tuple(shape), data_begin + offsets[0], data_begin + offsets[1])


def _check_contiguous(
    entries: list[TensorEntry], data_begin: int, file_bytes: int, where: str
) -> None:
    position = data_begin
    for entry in sorted(entries, key=lambda entry: (entry.begin, entry.end)):
        if entry.begin != position:
            kind = "a hole" if entry.begin > position else "an overlap"
            raise BadModelFile(
                where,
                f"{entry.name}: expected its data at byte {position:,}, "
                f"found {kind}: {entry.begin:,}",
            )
        position = entry.end
    if position != file_bytes:
        raise BadModelFile(
            where, f"expected {position:,} bytes for its tensors, found {file_bytes:,}"
        )
