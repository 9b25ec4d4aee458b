"""A run folder: config.yaml, records.jsonl, checkpoints/, summary.json, evaluations.json.

Clock and memory figures live only under a `timing` key; everything else is reproducible.
"""

import json
import math
import os
import platform
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import torch
import yaml

from towpath.data.source import write_atomically
from towpath.machine import LockedError, locked
from towpath.training.recipe import Recipe
from towpath.training.typed import RecipeError

CONFIG, RECORDS, SUMMARY, EVALUATIONS = (
    "config.yaml",
    "records.jsonl",
    "summary.json",
    "evaluations.json",
)
CHECKPOINTS = "checkpoints"
PARTIAL = re.compile(r"\..*\.partial$")
"""what `write_atomically` writes before it renames"""


def versions() -> dict[str, str]:
    """What a result was made with."""
    return {
        "towpath": version("towpath"),
        "torch": str(torch.__version__),
        "python": platform.python_version(),
    }


def plain_json(value: Any) -> Any:
    """JSON knows no NaN and no infinity: they become null, so that every reader agrees."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): plain_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(v) for v in value]
    return value


def make_new(path: Path) -> None:
    """The folder, made; RecipeError if there is something in it, or if it cannot be made."""
    refuse_existing(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (PermissionError, FileExistsError, NotADirectoryError) as error:
        raise RecipeError(
            f"The folder {path} cannot be made ({error.strerror}); expected a place to write to. "
            "Choose another --out."
        ) from error


def refuse_existing(path: Path) -> None:
    """RecipeError if the folder holds something, leftovers of a write cut short aside."""
    if path.is_dir() and all(PARTIAL.match(entry.name) for entry in path.iterdir()):
        return
    if path.exists():
        raise RecipeError(
            f"The folder {path} exists and is not empty; expected a new one. Choose another --out, "
            f"or go on with it: towpath resume {path}"
        )


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run and what they hold."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        """The folder of the checkpoints."""
        return self.path / CHECKPOINTS

    @property
    def records_path(self) -> Path:
        """One line a logged step."""
        return self.path / RECORDS

    @property
    def finished(self) -> bool:
        """Whether the run has its summary."""
        return (self.path / SUMMARY).is_file()

    @classmethod
    def create(cls, path: Path, recipe: Recipe, made_with: Mapping[str, Any]) -> "RunFolder":
        """A new folder with its configuration; refuses one that already holds something."""
        make_new(path)
        mapping = {**recipe.as_mapping(), "made_with": dict(made_with)}
        text = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
        write_atomically(path / CONFIG, text.encode())
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """An existing run; RecipeError if it is none."""
        if not (path / CONFIG).is_file():
            raise RecipeError(
                f"{path} has no {CONFIG}; expected a run folder that `towpath train` or `compare` "
                "made. Check the path."
            )
        return cls(path)

    def config(self) -> tuple[Recipe, dict[str, Any]]:
        """The recipe and what the run was made with."""
        try:
            mapping = yaml.safe_load((self.path / CONFIG).read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise RecipeError(
                f"{self.path / CONFIG} is not readable YAML ({' '.join(str(error).split())}); "
                "expected the file that the run wrote. Restore it."
            ) from error
        if not isinstance(mapping, dict):
            raise RecipeError(f"{self.path / CONFIG} is empty; expected the run's configuration.")
        made_with = mapping.pop("made_with", {})
        return Recipe.of(mapping), made_with if isinstance(made_with, dict) else {}

    def records(self) -> Iterator[dict[str, Any]]:
        """The records, without a last line that was cut off."""
        if not self.records_path.exists():
            return
        with self.records_path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    return
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:
                    return

    @contextmanager
    def held(self) -> Iterator[None]:
        """No other process writes to the run meanwhile; RecipeError if one does already."""
        try:
            with locked(self.path):
                yield
        except LockedError as error:
            raise RecipeError(
                f"Another process is training in {self.path}; expected to be the only one. Wait "
                "until it has ended, or stop it."
            ) from error

    def summary(self) -> dict[str, Any] | None:
        """The final figures, if the run has ended."""
        return self._json(SUMMARY)

    def evaluations(self) -> dict[str, Any] | None:
        """Per-task results on each test set, if the run has ended."""
        return self._json(EVALUATIONS)

    def _json(self, name: str) -> dict[str, Any] | None:
        path = self.path / name
        if not path.is_file():
            return None
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except (json.JSONDecodeError, UnicodeDecodeError) as error:
            raise RecipeError(
                f"{path} is not readable ({error}); expected the file that the run wrote. Delete "
                f"it and run: towpath resume {self.path}"
            ) from error
        return content

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """A small file, whole or not at all."""
        text = json.dumps(plain_json(content), indent=1, ensure_ascii=False)
        write_atomically(self.path / name, f"{text}\n".encode())


class Records(Protocol):
    """Where a run's records go."""

    @property
    def bytes_written(self) -> int: ...
    def write(self, record: Mapping[str, Any]) -> None: ...
    def flush(self) -> None: ...
    def truncate(self, size: int) -> None: ...


class NoRecords:
    """For the ranks that write nothing."""

    bytes_written = 0

    def write(self, record: Mapping[str, Any]) -> None:
        """Nothing: the first rank has the same record."""

    def flush(self) -> None:
        """Nothing."""

    def truncate(self, size: int) -> None:
        """Nothing."""


class RecordWriter:
    """Appends records; starts by cutting off what the checkpoint does not know of."""

    def __init__(self, folder: RunFolder, keep_bytes: int) -> None:
        path = folder.records_path
        found = path.stat().st_size if path.exists() else 0
        if found < keep_bytes:  # truncate() would fill it up with zeros
            raise RecipeError(
                f"{path} has {found} bytes; expected at least {keep_bytes}, as the checkpoint "
                "says. Restore the file, or delete the run folder and train again."
            )
        self._file = path.open("ab")
        self._file.truncate(keep_bytes)
        self._file.seek(0, os.SEEK_END)

    @property
    def bytes_written(self) -> int:
        """Length of the file."""
        return self._file.tell()

    def write(self, record: Mapping[str, Any]) -> None:
        """One line."""
        line = json.dumps(plain_json(record), ensure_ascii=False, separators=(",", ":"))
        self._file.write(line.encode() + b"\n")

    def flush(self) -> None:
        """Hand the lines to the system."""
        self._file.flush()

    def truncate(self, size: int) -> None:
        """Cut the file to `size` bytes and see it onto the disk."""
        self._file.flush()
        if self._file.tell() != size:
            self._file.truncate(size)
            self._file.seek(0, os.SEEK_END)
        os.fsync(self._file.fileno())

    def __enter__(self) -> "RecordWriter":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()
