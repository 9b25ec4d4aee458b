"""Plain JSON values: their type, how they are written, and how a reader checks them.

Every JSON file of a run is written from, and read into, a type of this package. Readers take values
through the functions below, so that a value of the wrong kind raises a TypeError or KeyError that
names it, wherever it stands.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""anything that a JSON file may hold"""
JsonObject: TypeAlias = Mapping[str, Json]


def plain_json(value: object) -> Json:
    """Return the value for a JSON file: NaN and infinity, which JSON does not know, become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): plain_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(v) for v in value]
    return value  # type: ignore[return-value]  # callers pass plain values


def json_file(content: JsonObject) -> bytes:
    """Return the bytes of a JSON file with this content, indented for people to read."""
    return f"{json.dumps(plain_json(content), indent=1, ensure_ascii=False)}\n".encode()


def json_digest(content: JsonObject) -> str:
    """Return a digest of the content of a JSON file that does not depend on its layout."""
    return hashlib.sha256(json.dumps(plain_json(content), sort_keys=True).encode()).hexdigest()


def is_count(value: object) -> bool:
    """Return whether the value is a whole number of at least 0 (and no bool)."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: object) -> bool:
    """Return whether the value is a finite number (and no bool)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_figure(value: object) -> bool:
    """Return whether the value is a finite number or null, which stands for one that is not."""
    return value is None or is_number(value)


def object_of(value: object, what: str) -> JsonObject:
    """Return the value as a JSON object; raise TypeError if it is not one.

    Args:
        value: the value to check.
        what: what the value should be, for the message.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"{repr(value)[:80]} is not {what}")
    return value


def text_at(content: JsonObject, key: str) -> str:
    """Return the string under a key; raise KeyError or TypeError if there is none."""
    value = content[key]
    if not isinstance(value, str):
        raise _wrong(key, value)
    return value


def count_at(content: JsonObject, key: str) -> int:
    """Return the whole number of at least 0 under a key; raise KeyError or TypeError otherwise."""
    value = content[key]
    if not isinstance(value, int) or not is_count(value):
        raise _wrong(key, value)
    return value


def number_at(content: JsonObject, key: str) -> float:
    """Return the finite number under a key; raise KeyError or TypeError if there is none."""
    value = content[key]
    if not isinstance(value, int | float) or not is_number(value):
        raise _wrong(key, value)
    return value


def figure_at(content: JsonObject, key: str) -> float:
    """Return the number under a key, and NaN for null, which is how NaN is written."""
    value = content[key]
    if value is None:
        return math.nan
    return number_at(content, key)


def known_at(content: JsonObject, key: str) -> float | None:
    """Return the number under a key; None where the key is missing or its value is null."""
    return None if content.get(key) is None else number_at(content, key)


def figures_at(content: JsonObject, key: str) -> list[float | None]:
    """Return the list of numbers under a key, with None for each that was not finite."""
    value = content[key]
    if not isinstance(value, list) or not all(map(is_figure, value)):
        raise _wrong(key, value)
    return value


def _wrong(key: str, value: object) -> TypeError:
    return TypeError(f"{key} is {repr(value)[:80]}")
