"""Chosen metadata values of a GGUF file, read with every length checked first.

The `gguf` package builds Python objects for each of some 100,000 texts and for every tensor before
it gives the first value back, which takes seconds; a tokenizer needs a dozen keys.
Source of the format: ggml's docs/gguf.md, versions 2 and 3, little endian.
"""

from __future__ import annotations

import struct
from collections.abc import Collection
from pathlib import Path

from engine.errors import BadModelFile, ModelFileMissing, UnsupportedModel

METADATA_LIMIT_BYTES = 128 << 20
"""Most bytes of metadata that are read; 150,000 tokens and merges take some 6 MB."""

_KEY_VALUE_LIMIT = 4096
_KEY_LIMIT_BYTES = 1024
_DEPTH_LIMIT = 4
_STRING, _ARRAY = 8, 9
# struct formats of the scalar types, by GGUF type number.
_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?",
    10: "<Q", 11: "<q", 12: "<d",
}  # fmt: skip


def read_gguf_metadata(path: Path, keys: Collection[str]) -> dict[str, object]:
    """The values of those of `keys` that the file has: numbers, texts, lists of either.

    Raises:
        ModelFileMissing: there is no such file.
        BadModelFile: it is no GGUF file, or is cut off or damaged in its metadata.
        UnsupportedModel: a GGUF version other than 2 and 3.
    """
    try:
        with path.open("rb") as file:
            data = file.read(METADATA_LIMIT_BYTES)
    except FileNotFoundError:
        raise ModelFileMissing(str(path), "the tokenizer") from None
    except OSError as error:
        raise BadModelFile(str(path), f"cannot be read: {error.strerror or error}") from None
    return _MetadataReader(str(path), data).read(keys)


class _MetadataReader:
    """Reads forward through the bytes; every read is checked against their end."""

    def __init__(self, where: str, data: bytes) -> None:
        self._where = where
        self._data = data
        self._position = 0

    def read(self, keys: Collection[str]) -> dict[str, object]:
        if self._data[:4] != b"GGUF":
            raise BadModelFile(
                self._where, f"expected a GGUF file, found one that begins {self._data[:4]!r}"
            )
        self._position = 4
        version = self._number("<I")
        if version not in (2, 3):
            raise UnsupportedModel("GGUF version", version, "2, 3 (little endian)")
        self._number("<Q")
        count = self._number("<Q")
        if count > _KEY_VALUE_LIMIT:
            raise BadModelFile(
                self._where, f"expected at most {_KEY_VALUE_LIMIT} metadata keys, found {count}"
            )
        values: dict[str, object] = {}
        seen: set[str] = set()
        for _ in range(int(count)):
            key = self._text(_KEY_LIMIT_BYTES)
            if key in seen:
                raise BadModelFile(self._where, f"duplicate metadata key {key[:80]!r}")
            seen.add(key)
            value = self._value(int(self._number("<I")), key, depth=0)
            if key in keys:
                values[key] = value
        return values

    def _take(self, length: int) -> int:
        """Offset of the next `length` bytes, which are then behind us."""
        begin = self._position
        if length > len(self._data) - begin:
            raise BadModelFile(
                self._where, f"metadata: {length} bytes expected at {begin}, the file is cut off"
            )
        self._position = begin + length
        return begin

    def _number(self, number_format: str) -> int | float | bool:
        begin = self._take(struct.calcsize(number_format))
        number: int | float | bool = struct.unpack_from(number_format, self._data, begin)[0]
        return number

    def _text(self, limit_bytes: int = METADATA_LIMIT_BYTES) -> str:
        length = int(self._number("<Q"))
        if length > limit_bytes:
            raise BadModelFile(self._where, f"metadata: a text of {length} bytes is too long")
        begin = self._take(length)
        return self._data[begin : begin + length].decode("utf-8", "replace")

    def _value(self, kind: int, key: str, depth: int) -> object:
        if kind in _SCALARS:
            return self._number(_SCALARS[kind])
        if kind == _STRING:
            return self._text()
        if kind != _ARRAY or depth >= _DEPTH_LIMIT:
            raise BadModelFile(self._where, f"{key[:80]}: unknown metadata type {kind}")
        item_kind = int(self._number("<I"))
        count = int(self._number("<Q"))
        if item_kind in _SCALARS:
            item_format = _SCALARS[item_kind]
            begin = self._take(count * struct.calcsize(item_format))
            return list(struct.unpack_from(f"<{count}{item_format[1]}", self._data, begin))
        # Each item takes 8 bytes at least: a false count ends at the end of the file.
        return [self._value(item_kind, key, depth + 1) for _ in range(count)]
