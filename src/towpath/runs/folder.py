"""A run folder: config.yaml, records.jsonl, checkpoints/, summary.json, evaluations.json.

Clock and memory figures live only under a `timing` key; everything else is reproducible. The files
know by their digests which of them belong together (identity.py), and each reader here refuses what
does not.
"""

import hashlib
import json
import math
import os
import platform
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

import torch
import yaml

from towpath.files import new_folder, write
from towpath.machine import LockedError, locked
from towpath.recipes.recipe import Recipe
from towpath.recipes.strict_yaml import load_yaml
from towpath.recipes.typed import RecipeError
from towpath.runs.belonging import (
    check_evaluations,
    check_summary,
    checked_record,
    prefix_digest,
    regular_bytes,
    require_regular,
)
from towpath.runs.identity import KEY, Identity

CONFIG, RECORDS, SUMMARY, EVALUATIONS = (
    "config.yaml",
    "records.jsonl",
    "summary.json",
    "evaluations.json",
)
CHECKPOINTS = "checkpoints"
PARTIAL = re.compile(r"\..*\.partial$")
"""what `files.write` writes before it renames"""


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
class RunConfig:
    """What `config.yaml` of a run says."""

    recipe: Recipe
    made_with: dict[str, Any]
    """what else is needed to run it again"""
    plain: Mapping[str, Any]
    """the recipe's values as they stand in the file"""


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run and what they hold; its configuration is read once."""

    path: Path
    made: "RunConfig | None" = field(default=None, repr=False, compare=False)
    """the configuration, where this process has just written it"""

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
        """Whether the run has its results, for all steps that its configuration asks for."""
        summary = self.summary()
        if summary is None or not (self.path / EVALUATIONS).is_file():
            return False
        asked = summary.get(KEY, {}).get("asked_steps")
        return asked is None or self.config()[0].training.steps <= asked

    @classmethod
    def create(
        cls,
        path: Path,
        recipe: Recipe,
        made_with: Mapping[str, Any],
        data: Mapping[str, str] | None = None,
    ) -> "RunFolder":
        """A new folder with its configuration; refuses one that already holds something.

        Args:
            path: the folder.
            recipe: what is run.
            made_with: what else is needed to run it again.
            data: the content of each data set, by where the recipe names it.
        """
        refuse_existing(path)
        # as it will be read back
        config = yaml.safe_load(yaml.safe_dump(recipe.as_mapping()))
        identity = Identity.of(config, data or {})
        mapping = {**recipe.as_mapping(), "made_with": {**made_with, KEY: identity.as_mapping()}}
        text = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
        plain_made_with = {**made_with, KEY: identity.as_mapping()}
        folder = cls(path, RunConfig(recipe, plain_made_with, config))
        with new_folder(path), folder.held():
            refuse_existing(path)  # another process may have been quicker
            write(path / CONFIG, text.encode())
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """An existing run; RecipeError if it is none."""
        if not (path / CONFIG).exists():
            raise RecipeError(
                f"{path} has no {CONFIG}; expected a run folder that `towpath train` or `compare` "
                "made. Check the path."
            )
        return cls(path)

    def remove_untrained(self) -> None:
        """Remove what a refused start left, so that it does not block the corrected command."""
        if self.checkpoints.is_dir() and any(self.checkpoints.iterdir()):
            return
        for name in (CONFIG, RECORDS):
            (self.path / name).unlink(missing_ok=True)
        for empty in (self.checkpoints, self.path):
            with suppress(OSError):  # it holds something that is not ours
                empty.rmdir()

    def config(self) -> tuple[Recipe, dict[str, Any]]:
        """The recipe and what the run was made with; RecipeError if it was edited since."""
        return self._config.recipe, self._config.made_with

    @cached_property
    def _config(self) -> "RunConfig":
        if self.made is not None:
            return self.made
        mapping = self.plain_config()
        made_with = self._plain_config.get("made_with", {})
        recipe = Recipe.of(mapping)
        self.identity()  # refuses what was edited
        return RunConfig(recipe, made_with if isinstance(made_with, dict) else {}, mapping)

    def plain_config(self) -> dict[str, Any]:
        """The values of `config.yaml` as they stand there, without `made_with`."""
        return {k: v for k, v in self._plain_config.items() if k != "made_with"}

    @cached_property
    def _plain_config(self) -> Mapping[str, Any]:
        if self.made is not None:
            return self.made.plain
        path = self.path / CONFIG
        content = regular_bytes(path, "the configuration that the run wrote")
        try:
            mapping = load_yaml(content.decode("utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
            raise RecipeError(
                f"{path} is not readable YAML ({' '.join(str(error).split())}); "
                "expected the file that the run wrote. Restore it."
            ) from error
        if not isinstance(mapping, dict):
            raise RecipeError(f"{path} is empty; expected the run's configuration.")
        return mapping

    def identity(self) -> Identity | None:
        """What the run is; None for a run folder of towpath 0.1.

        RecipeError if the configuration was edited since it was written.
        """
        return self._identity

    @cached_property
    def _identity(self) -> Identity | None:
        path = self.path / CONFIG
        if self.made is not None:
            return Identity.read(self.made.made_with, path)
        made_with = self._plain_config.get("made_with", {})
        identity = Identity.read(made_with if isinstance(made_with, dict) else {}, path)
        if identity is not None:
            identity.check_config(self.plain_config(), path)
        return identity

    @property
    def digest(self) -> str:
        """The digest of the run's identity; empty for a run folder of towpath 0.1."""
        identity = self.identity()
        return "" if identity is None else identity.digest

    def records(self) -> Iterator[dict[str, Any]]:
        """The records, without a last line that was cut off."""
        if not self.records_path.exists():
            return
        require_regular(self.records_path, "the records of a run")
        with self.records_path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    return
                yield checked_record(line, number, self.records_path)

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
        """The final figures, if the run has ended; RecipeError if they are another run's."""
        content = self._json(SUMMARY, check_summary)
        if content is None:
            return None
        known = content.get(KEY)
        found = known.get("run", "") if isinstance(known, dict) else ""
        if found != self.digest:
            raise RecipeError(
                f"{self.path / SUMMARY} is of another run than {self.path / CONFIG}; expected the "
                f"files of one run. Restore it, or delete it and run: towpath resume {self.path}"
            )
        return content

    def evaluations(self) -> dict[str, Any] | None:
        """Per-task results on each test set, if the run has ended; RecipeError for another's."""
        content = self._json(EVALUATIONS, check_evaluations)
        summary = self.summary()
        if content is None or summary is None or KEY not in summary:
            return content
        if summary[KEY].get("evaluations") != json_digest(content):
            raise RecipeError(
                f"{self.path / EVALUATIONS} is not what {SUMMARY} was made from; expected the "
                f"files of one run. Restore it, or delete both and run: towpath resume {self.path}"
            )
        return content

    def _json(self, name: str, check: Callable[[Mapping[str, Any]], None]) -> dict[str, Any] | None:
        path = self.path / name
        if not path.exists():
            return None
        found = regular_bytes(path, "the file that the run wrote")
        try:
            content: dict[str, Any] = json.loads(found)
            check(content)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RecipeError(
                f"{path} is not readable ({type(error).__name__}: {error}); expected the file that "
                f"the run wrote. Delete it and run: towpath resume {self.path}"
            ) from error
        return content

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        """A small file, whole or not at all."""
        text = json.dumps(plain_json(content), indent=1, ensure_ascii=False)
        write(self.path / name, f"{text}\n".encode())


def json_digest(content: Mapping[str, Any]) -> str:
    """Digest of what a small file holds, however it is laid out."""
    return hashlib.sha256(json.dumps(plain_json(content), sort_keys=True).encode()).hexdigest()


class Records(Protocol):
    """Where a run's records go."""

    @property
    def bytes_written(self) -> int: ...
    @property
    def digest(self) -> str: ...
    def in_place(self) -> bool: ...
    def write(self, record: Mapping[str, Any]) -> None: ...
    def flush(self) -> None: ...
    def truncate(self, size: int) -> None: ...


class NoRecords:
    """For the ranks that write nothing."""

    bytes_written = 0
    digest = ""

    def in_place(self) -> bool:
        """There is nothing that could be moved."""
        return True

    def write(self, record: Mapping[str, Any]) -> None:
        """Nothing: the first rank has the same record."""

    def flush(self) -> None:
        """Nothing."""

    def truncate(self, size: int) -> None:
        """Nothing."""


class RecordWriter:
    """Appends records; starts by cutting off what the checkpoint does not know of."""

    def __init__(self, folder: RunFolder, keep_bytes: int) -> None:
        self._path = folder.records_path
        digest = prefix_digest(self._path, keep_bytes)
        if digest is None:  # truncate() would fill it up with zeros
            raise RecipeError(
                f"{self._path} has fewer than {keep_bytes} bytes; expected at least as many, as "
                "the checkpoint says. Restore the file, or delete the run folder and train again."
            )
        self._digest = digest
        self._file = self._path.open("ab")
        self._file.truncate(keep_bytes)
        self._file.seek(0, os.SEEK_END)

    @property
    def bytes_written(self) -> int:
        """Length of the file."""
        return self._file.tell()

    @property
    def digest(self) -> str:
        """SHA-256 of the file as far as it is written."""
        return self._digest.hexdigest()

    def in_place(self) -> bool:
        """Whether the file is still the one under its name: nobody moved or replaced the folder."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self._path.stat())
        except OSError:
            return False

    def write(self, record: Mapping[str, Any]) -> None:
        """One line."""
        text = json.dumps(plain_json(record), ensure_ascii=False, separators=(",", ":"))
        line = text.encode() + b"\n"
        self._digest.update(line)
        self._file.write(line)

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
