"""Small questions about the files of a run folder: is this a file to read, is it what it says?

A run folder may come from anywhere, cut short, edited or forged. Whatever reads one asks here
first, so that each kind of damage has one sentence, whichever file has it.
"""

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from towpath.files import FileError, check_readable, open_regular, read_bytes
from towpath.recipes.typed import RecipeError


def regular_bytes(path: Path, what: str) -> bytes:
    """Content of a file; RecipeError if it cannot be read or is no regular file.

    Opening a pipe that lies under the name would wait for ever, hence the question before it.
    """
    require_regular(path, what)
    try:
        return read_bytes(path)
    except FileError as error:
        raise unreadable(path, what, error) from error


def require_regular(path: Path, what: str) -> None:
    """RecipeError if there is something at the path that is no file, or may not be read."""
    if not path.is_file():
        raise RecipeError(
            f"{path} is not a regular file; expected {what}. Restore it, or train again in a new "
            "folder."
        )
    try:
        check_readable(path)
    except FileError as error:
        raise unreadable(path, what, error) from error


def unreadable(path: Path, what: str, error: OSError) -> RecipeError:
    """The refusal of a file that the system does not let us read."""
    return RecipeError(
        f"{path} cannot be read ({error.strerror or error}); expected {what}. Check its "
        "permissions and the disk."
    )


def prefix_digest(path: Path, size: int) -> "hashlib._Hash | None":
    """SHA-256 of the first `size` bytes, to be gone on with; None if there are fewer."""
    digest = hashlib.sha256()
    if size == 0:
        return digest
    require_regular(path, "the records of a run")
    left = size
    with open_regular(path) as file:
        while left and (chunk := file.read(min(left, 2**20))):
            digest.update(chunk)
            left -= len(chunk)
    return None if left else digest


def checked_record(line: bytes, number: int, path: Path) -> dict[str, Any]:
    """A line of `records.jsonl`; RecipeError if it is not what towpath writes."""
    try:
        record: dict[str, Any] = json.loads(line)
        _check_record(record)
    except (ValueError, KeyError, TypeError) as error:
        raise RecipeError(
            f"Line {number} of {path} is not what towpath writes ({type(error).__name__}: "
            f"{error}); expected the records of a run. Restore the file, or train again in a new "
            "folder."
        ) from error
    return record


def _check_record(record: Any) -> None:
    if not isinstance(record, dict):
        raise TypeError("not a record")
    if "weights" not in record or "probe" in record:
        return
    weights, tasks, losses = record["weights"], record["tasks"], record["losses"]
    if not len(weights) == len(tasks) == len(losses) >= 1:
        raise ValueError("weights, tasks and losses of different numbers of tasks")
    if not (all(map(is_number, weights)) and all(isinstance(task, dict) for task in tasks)):
        raise TypeError("weights are numbers, tasks are described by name")
    if not (is_count(record["step"]) and all(map(is_figure, losses))):
        raise TypeError("steps and losses are numbers")


def check_summary(content: Mapping[str, Any]) -> None:
    """TypeError or KeyError if a summary lacks what a comparison and a report show of it."""
    shown = {
        "recipe": _is_word,
        "weighter": _is_word,
        "seed": is_count,
        "steps": is_count,
        "mean": is_figure,
        "interval": is_figure,
        "worst_tenth": is_figure,
        "evaluations": is_number,
        "tasks_trained": is_count,
    }
    _require(content, shown)
    clock = ("seconds", "seconds_per_step", "training_seconds")
    _require(content["timing"], dict.fromkeys(clock, is_number))
    if content["weight_by_label"] is not None:
        _require(content["weight_by_label"], {"ratio": is_figure})
    if not isinstance(content["test"], Mapping) or not content["test"]:
        raise TypeError("test is not a result for each test set")
    for score in content["test"].values():
        _require(score, {"mean": is_figure, "interval": is_figure, "metric": _is_word})


def check_evaluations(content: Mapping[str, Any]) -> None:
    """TypeError or KeyError if the results of the test tasks are not lists of numbers."""
    if not isinstance(content, Mapping) or not content:
        raise TypeError(f"{repr(content)[:80]} is not a result for each test set")
    for name, scores in content.items():
        losses, accuracies = scores["losses"], scores["accuracies"]
        for values in (losses, losses if accuracies is None else accuracies):
            numbers = isinstance(values, list) and all(map(is_figure, values))
            if not numbers or len(values) != len(losses) or not values:
                raise TypeError(f"{name}: not one number for each test task")


def _require(content: Any, kinds: Mapping[str, Callable[[Any], bool]]) -> None:
    if not isinstance(content, Mapping):
        raise TypeError(f"{repr(content)[:80]} is not a set of named values")
    for name, is_kind in kinds.items():
        if not is_kind(content[name]):
            raise TypeError(f"{name} is {content[name]!r}")


def _is_word(value: Any) -> bool:
    return isinstance(value, str)


def is_count(value: Any) -> bool:
    """Whether it is a whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_figure(value: Any) -> bool:
    """Whether it is a number, or null, which is how a file says that it is not finite."""
    return value is None or is_number(value)
