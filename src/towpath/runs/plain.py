"""Plain values as JSON knows them: their type, how they are written, how a reader checks them.

Every file of a run that is JSON is written from and read into a type of this room. What a reader
takes from a file goes through the functions below, so that a value of the wrong kind is a TypeError
or KeyError that names it, wherever it stands.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
"""whatever a JSON file may hold"""
JsonObject: TypeAlias = Mapping[str, Json]


def plain_json(value: object) -> Json:
    """The value for a JSON file: NaN and infinity, which JSON does not know, become null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): plain_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(v) for v in value]
    return value  # type: ignore[return-value]  # whoever writes it hands over plain values


def json_file(content: JsonObject) -> bytes:
    """The bytes of a small JSON file."""
    return f"{json.dumps(plain_json(content), indent=1, ensure_ascii=False)}\n".encode()


def json_digest(content: JsonObject) -> str:
    """Digest of what a small JSON file holds, however it is laid out."""
    return hashlib.sha256(json.dumps(plain_json(content), sort_keys=True).encode()).hexdigest()


def is_count(value: object) -> bool:
    """Whether it is a whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: object) -> bool:
    """Whether it is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_figure(value: object) -> bool:
    """Whether it is a number, or null, which is how a file says that it is not finite."""
    return value is None or is_number(value)


def object_of(value: object, what: str) -> JsonObject:
    """The value as a JSON object; TypeError, naming `what` it should be, if it is none."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{repr(value)[:80]} is not {what}")
    return value


def text_at(content: JsonObject, key: str) -> str:
    """The text under a key."""
    value = content[key]
    if not isinstance(value, str):
        raise _wrong(key, value)
    return value


def count_at(content: JsonObject, key: str) -> int:
    """The whole number of at least 0 under a key."""
    value = content[key]
    if not isinstance(value, int) or not is_count(value):
        raise _wrong(key, value)
    return value


def number_at(content: JsonObject, key: str) -> float:
    """The finite number under a key."""
    value = content[key]
    if not isinstance(value, int | float) or not is_number(value):
        raise _wrong(key, value)
    return value


def figure_at(content: JsonObject, key: str) -> float:
    """The number under a key; NaN for null, which is what was written for a NaN."""
    value = content[key]
    if value is None:
        return math.nan
    return number_at(content, key)


def known_at(content: JsonObject, key: str) -> float | None:
    """The number under a key; None where there is none, or null."""
    return None if content.get(key) is None else number_at(content, key)


def figures_at(content: JsonObject, key: str) -> list[float | None]:
    """The numbers under a key, with None for each that was not finite."""
    value = content[key]
    if not isinstance(value, list) or not all(map(is_figure, value)):
        raise _wrong(key, value)
    return value


def _wrong(key: str, value: object) -> TypeError:
    return TypeError(f"{key} is {repr(value)[:80]}")
