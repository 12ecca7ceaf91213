"""JSON objects from files that are not trusted: size first, duplicate keys and NaN refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

from engine.errors import BadModelFile, ModelFileMissing


def _object_without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    # Most readers let the last of two equal keys win, so two readers could see two models.
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"duplicate key {key[:80]!r}")
            seen.add(key)
    return result


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _number(text: str) -> int | float:
    # "-0" is no whole number to strict readers (Python would make it the integer 0).
    return float(text) if text == "-0" else int(text)


def parse_json_object(data: bytes, where: str) -> dict[str, object]:
    """Parse UTF-8 bytes that must hold one JSON object; `where` names them in errors.

    Raises:
        BadModelFile: not UTF-8, not JSON, not an object, duplicate keys, NaN, nested too deeply.
    """
    try:
        value: object = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object_without_duplicates,
            parse_constant=_refuse_constant,
            parse_int=_number,
        )
    except UnicodeDecodeError as error:
        raise BadModelFile(
            where, f"expected UTF-8 text, found byte {error.start} damaged"
        ) from None
    except RecursionError:
        raise BadModelFile(where, "expected a JSON object, found it nested too deeply") from None
    except ValueError as error:
        raise BadModelFile(where, f"expected JSON, found {error}") from None
    if not isinstance(value, dict):
        raise BadModelFile(where, f"expected a JSON object, found {type(value).__name__}")
    return value


def read_json_object(path: Path, limit_bytes: int, needed_for: str) -> dict[str, object]:
    """Read a file that must hold one JSON object of at most `limit_bytes`.

    Raises:
        ModelFileMissing: there is no such file.
        BadModelFile: it cannot be read, is too large, or `parse_json_object` refuses it.
    """
    try:
        with path.open("rb") as file:
            data = file.read(limit_bytes + 1)
    except FileNotFoundError:
        raise ModelFileMissing(str(path), needed_for) from None
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}"
        raise BadModelFile(str(path), reason, error.errno) from None
    if len(data) > limit_bytes:
        raise BadModelFile(str(path), f"expected at most {limit_bytes:,} bytes, found more")
    return parse_json_object(data, str(path))
