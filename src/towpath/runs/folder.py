"""A run folder: config.yaml, records.jsonl, checkpoints/, summary.json, evaluations.json.

Clock and memory figures live only under a `timing` key; everything else is reproducible. The files
know by their digests which of them belong together (identity.py), and each reader here refuses what
does not.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import yaml

from towpath.files import new_folder, write
from towpath.machine import LOCK_FILE, LockedError, locked
from towpath.recipes.recipe import Recipe
from towpath.recipes.strict_yaml import load_yaml
from towpath.recipes.typed import RecipeError
from towpath.runs.belonging import regular_bytes
from towpath.runs.identity import Identity
from towpath.runs.made_with import MadeWith
from towpath.runs.plain import JsonObject, json_digest, json_file, object_of
from towpath.runs.record_file import CutOffRecordError, read_records
from towpath.runs.records import Record
from towpath.runs.scores import Score, scores_as_json, scores_from_json
from towpath.runs.summary import Summary

Content = TypeVar("Content")

CONFIG, RECORDS, SUMMARY, EVALUATIONS = (
    "config.yaml",
    "records.jsonl",
    "summary.json",
    "evaluations.json",
)
CHECKPOINTS = "checkpoints"
PASSING = re.compile(rf"\..*\.partial$|{re.escape(LOCK_FILE)}$")
"""what `files.write` writes before it renames, and the lock where a folder cannot have one"""


def refuse_existing(path: Path) -> None:
    """RecipeError if the folder holds anything but a lock and leftovers of a write cut short."""
    if path.is_dir() and all(PASSING.match(entry.name) for entry in path.iterdir()):
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
    made_with: MadeWith
    """what else is needed to run it again"""
    plain: JsonObject
    """the recipe's values as they stand in the file"""


@dataclass(frozen=True)
class RunFolder:
    """Paths of a run and what they hold; its configuration is read once."""

    path: Path
    written: RunConfig | None = field(default=None, repr=False, compare=False)
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
        asked = None if summary.identity is None else summary.identity.asked_steps
        return asked is None or self.config()[0].training.steps <= asked

    @classmethod
    def create(
        cls,
        path: Path,
        recipe: Recipe,
        made_with: MadeWith,
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
        made_with = replace(made_with, identity=Identity.of(config, data or {}))
        mapping = {**recipe.as_mapping(), "made_with": made_with.as_mapping()}
        text = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
        folder = cls(path, RunConfig(recipe, made_with, config))
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

    def config(self) -> tuple[Recipe, MadeWith]:
        """The recipe and what the run was made with; RecipeError if it was edited since."""
        return self._config.recipe, self._config.made_with

    @cached_property
    def _config(self) -> RunConfig:
        if self.written is not None:
            return self.written
        plain = self.plain_config()
        recipe = Recipe.of(plain)
        return RunConfig(recipe, self._made_with, plain)

    @cached_property
    def _made_with(self) -> MadeWith:
        """What the run was made with; RecipeError if its configuration was edited since."""
        if self.written is not None:
            return self.written.made_with
        path = self.path / CONFIG
        found = self._plain_config.get("made_with")
        made_with = MadeWith.read(found if isinstance(found, Mapping) else {}, path)
        if made_with.identity is not None:
            made_with.identity.check_config(self.plain_config(), path)
        return made_with

    def plain_config(self) -> JsonObject:
        """The values of `config.yaml` as they stand there, without `made_with`."""
        return {k: v for k, v in self._plain_config.items() if k != "made_with"}

    @cached_property
    def _plain_config(self) -> JsonObject:
        if self.written is not None:
            return self.written.plain
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
        """What the run is; None for a run folder of towpath 0.1."""
        return self._made_with.identity

    @property
    def digest(self) -> str:
        """The digest of the run's identity; empty for a run folder of towpath 0.1."""
        identity = self.identity()
        return "" if identity is None else identity.digest

    def records(self) -> Iterator[Record]:
        """The records, without a last line that was cut off."""
        with suppress(CutOffRecordError):
            yield from read_records(self.records_path)

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

    def summary(self) -> Summary | None:
        """The final figures, if the run has ended; RecipeError if they are another run's."""
        summary = self._json(SUMMARY, Summary.from_json)
        if summary is None:
            return None
        found = "" if summary.identity is None else summary.identity.run
        if found != self.digest:
            raise RecipeError(
                f"{self.path / SUMMARY} is of another run than {self.path / CONFIG}; expected the "
                f"files of one run. Restore it, or delete it and run: towpath resume {self.path}"
            )
        return summary

    def evaluations(self) -> dict[str, Score] | None:
        """Scores on each test set, if the run has ended; RecipeError if they are another run's."""
        scores = self._json(EVALUATIONS, scores_from_json)
        summary = self.summary()
        if scores is None or summary is None or summary.identity is None:
            return scores
        if summary.identity.evaluations != json_digest(scores_as_json(scores)):
            raise RecipeError(
                f"{self.path / EVALUATIONS} is not what {SUMMARY} was made from; expected the "
                f"files of one run. Restore it, or delete both and run: towpath resume {self.path}"
            )
        return scores

    def _json(self, name: str, read: Callable[[JsonObject], Content]) -> Content | None:
        """A JSON file as its type; None where there is none, RecipeError where it is damaged."""
        path = self.path / name
        if not path.exists():
            return None
        found = regular_bytes(path, "the file that the run wrote")
        try:
            return read(object_of(json.loads(found), "a set of named values"))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RecipeError(
                f"{path} is not readable ({type(error).__name__}: {error}); expected the file that "
                f"the run wrote. Delete it and run: towpath resume {self.path}"
            ) from error

    def conclude(self, summary: Summary, scores: Mapping[str, Score]) -> None:
        """Write the results of a run that has ended."""
        # a summary of fewer steps, if they were raised, must not stand beside the new evaluations
        (self.path / SUMMARY).unlink(missing_ok=True)
        write(self.path / EVALUATIONS, json_file(scores_as_json(scores)))
        write(self.path / SUMMARY, json_file(summary.as_json()))
