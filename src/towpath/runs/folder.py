"""A run folder: config.yaml, records.jsonl, checkpoints/, summary.json, evaluations.json; and, for
a run on a table, table.json.

Clock and memory figures live only under a `timing` key; everything else is reproducible. Digests
in the files say which of them belong together (identity.py), and each reader here refuses those
that do not.
"""

import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import yaml

from towpath.data.tables.trained import TrainedTable
from towpath.files import new_folder, write
from towpath.recipes.recipe import Recipe
from towpath.recipes.strict_yaml import load_yaml
from towpath.recipes.typed import RecipeError
from towpath.runs.belonging import regular_bytes
from towpath.runs.confusion import Confusion, Confusions, confusions_of
from towpath.runs.identity import Identity
from towpath.runs.locking import LOCK_FILE, LockedError, locked
from towpath.runs.made_with import MadeWith
from towpath.runs.plain import JsonObject, json_digest, json_file, object_of
from towpath.runs.record_file import CutOffRecordError, read_records
from towpath.runs.records import Record
from towpath.runs.scores import Score, scores_as_json, scores_from_json
from towpath.runs.summary import Summary
from towpath.runs.table_file import TABLE, table_as_json, table_from_json
from towpath.wording import one_line

Content = TypeVar("Content")

CONFIG, RECORDS, SUMMARY, EVALUATIONS = (
    "config.yaml",
    "records.jsonl",
    "summary.json",
    "evaluations.json",
)
CONFUSION = "confusion.json"
"""which classes of the test sets were taken for which, for tasks that name their classes"""
CHECKPOINTS, BOARD, MLFLOW, WANDB = "checkpoints", "tensorboard", "mlflow", "wandb"
COMPARISON = "comparison.yaml"
"""what the folder of a comparison has in place of a configuration"""
PASSING = re.compile(rf"\..*\.partial$|{re.escape(LOCK_FILE)}$")
"""temporary files of `files.write`, and the lock file, which only Windows needs"""


def refuse_existing(path: Path) -> None:
    """Raise RecipeError if the folder is not empty, or is no folder.

    A lock file and what an interrupted write left behind do not count.
    """
    if path.is_dir() and all(PASSING.match(entry.name) for entry in path.iterdir()):
        return
    if path.exists() and not path.is_dir():
        raise RecipeError(
            f"{path} is a file; expected the path of a new folder. Choose another --out."
        )
    if path.exists():
        begun = any((path / name).exists() for name in (CONFIG, COMPARISON))
        remedy = f"another --out, or go on with it: towpath resume {path}" if begun else "another."
        raise RecipeError(
            f"The folder {path} exists and is not empty; expected a new one. Choose {remedy}"
        )


@dataclass(frozen=True)
class RunConfig:
    """The content of a run's `config.yaml`: its recipe and what else the run was made with."""

    recipe: Recipe
    made_with: MadeWith
    """versions, shapes and digests that are needed to repeat the run"""
    plain: JsonObject
    """the recipe's values exactly as they stand in the file"""


@dataclass(frozen=True)
class RunFolder:
    """The paths of a run and readers of its files; its configuration is read only once."""

    path: Path
    written: RunConfig | None = field(default=None, repr=False, compare=False)
    """the configuration, where this process has just written it"""

    @property
    def checkpoints(self) -> Path:
        """The folder in which the run keeps its checkpoints."""
        return self.path / CHECKPOINTS

    @property
    def records_path(self) -> Path:
        """The path of `records.jsonl`, which has one line for each record of training."""
        return self.path / RECORDS

    @property
    def finished(self) -> bool:
        """Whether the run has results for all the steps that its configuration requests."""
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
        table: TrainedTable | None = None,
    ) -> "RunFolder":
        """Create a run folder with its configuration; raise RecipeError if it is not empty.

        Args:
            path: the folder.
            recipe: the recipe to run.
            made_with: versions, shapes and digests that are needed to repeat the run.
            data: a digest of each data set, keyed by the recipe's field that names the set.
            table: what predictions need of the training table, for a run on a table.
        """
        refuse_existing(path)
        kept = None if table is None else table_as_json(table)
        if kept is not None:
            made_with = replace(made_with, table=json_digest(kept))
        # as it will be read back: the digests are of that
        config = yaml.safe_load(yaml.safe_dump(recipe.as_mapping()))
        made_with = replace(made_with, identity=Identity.of(config, data or {}))
        mapping = {**recipe.as_mapping(), "made_with": made_with.as_mapping()}
        text = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
        folder = cls(path, RunConfig(recipe, made_with, config))
        with new_folder(path), folder.held():
            refuse_existing(path)  # another process may have been quicker
            if kept is not None:
                write(path / TABLE, json_file(kept))
            write(path / CONFIG, text.encode())
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open the folder of an existing run; raise RecipeError if it holds none."""
        if not path.exists():
            raise RecipeError(f"{path} does not exist; expected a run folder. Check the path.")
        if (path / COMPARISON).exists():
            names = sorted(inside.parent.name for inside in path.glob(f"*/{CONFIG}"))
            raise RecipeError(
                f"{path} is the folder of a comparison; expected that of one run. Name one of "
                f"its runs, such as {path / (names[0] if names else 'uniform-seed0')}"
            )
        if not (path / CONFIG).exists():
            raise RecipeError(
                f"{path} has no {CONFIG}; expected a run folder that `towpath train` or `compare` "
                "made. Check the path."
            )
        return cls(path)

    def remove_untrained(self) -> None:
        """Remove what a refused start left, so that the corrected command can use the folder."""
        if self.checkpoints.is_dir() and any(self.checkpoints.iterdir()):
            return
        for name in (CONFIG, RECORDS, TABLE):
            (self.path / name).unlink(missing_ok=True)
        for name in (BOARD, MLFLOW, WANDB):
            shutil.rmtree(self.path / name, ignore_errors=True)
        for empty in (self.checkpoints, self.path):
            with suppress(OSError):  # it has files that are not ours
                empty.rmdir()

    def config(self) -> tuple[Recipe, MadeWith]:
        """Return the recipe, and what else the run was made with.

        Raises:
            RecipeError: if the configuration is missing, damaged or was edited since the run began.
        """
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
        """Return what the run was made with; raise RecipeError if its configuration was edited."""
        if self.written is not None:
            return self.written.made_with
        path = self.path / CONFIG
        found = self._plain_config.get("made_with")
        made_with = MadeWith.read(found if isinstance(found, Mapping) else {}, path)
        if made_with.identity is not None:
            made_with.identity.check_config(self.plain_config(), path)
        return made_with

    def with_steps(self, steps: int) -> "RunFolder":
        """Write another number of training steps into the configuration and return the folder.

        Raises:
            RecipeError: if they are fewer than before, if the run stopped early, or if another
                process trains in the folder.
        """
        path, mapping = self.path / CONFIG, dict(self._plain_config)
        asked = self.config()[0].training.steps
        if steps < asked:
            raise RecipeError(
                f"{path} says training.steps {asked}; found {steps}, and it may only be raised. "
                "Train for fewer steps in a new folder."
            )
        if steps > asked:
            self._refuse_stopped_early(steps)
        mapping["training"] = {**object_of(mapping["training"], "a section"), "steps": steps}
        plain = {key: value for key, value in mapping.items() if key != "made_with"}
        Recipe.of(plain)  # a number out of range is refused before it is written
        text = yaml.safe_dump(mapping, sort_keys=False, allow_unicode=True)
        with self.held():
            write(path, text.encode())
        return RunFolder.open(self.path)

    def _refuse_stopped_early(self, steps: int) -> None:
        """Raise RecipeError if validation ended the run: it would end it again before any step."""
        recipe, summary = self.config()[0], self.summary()
        if summary is None or not self.finished or summary.steps >= recipe.training.steps:
            return
        raise RecipeError(
            f"{self.path} stopped early, at step {summary.steps} of {recipe.training.steps}, by "
            f"validation.patience {recipe.validation.patience}; found {steps} steps, which do not "
            "change that. Train it anew for longer, by the same steps at first: towpath train "
            f"{self.path / CONFIG} --validation.patience 0 --training.steps {steps} --out NEW"
        )

    def table(self) -> TrainedTable | None:
        """Return what predictions need of the training table; None for a run on images.

        Raises:
            RecipeError: if the file is missing, damaged or of another run.
        """
        if not self._made_with.table:
            return None
        path = self.path / TABLE
        content = regular_bytes(path, "the features that the run was trained on")
        try:
            found = object_of(json.loads(content), "a set of named values")
            return table_from_json(found, self._made_with.table)
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise RecipeError(
                f"{path} cannot be used ({one_line(error)}); expected the features that the run "
                "was trained on. Restore it, or train again in a new folder."
            ) from error

    def plain_config(self) -> JsonObject:
        """Return the values of `config.yaml` exactly as they stand there, without `made_with`."""
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
        """Return the digests that identify the run; None for a run folder of towpath 0.1."""
        return self._made_with.identity

    @property
    def digest(self) -> str:
        """The digest of the run's identity; empty for a run folder of towpath 0.1."""
        identity = self.identity()
        return "" if identity is None else identity.digest

    def records(self) -> Iterator[Record]:
        """Yield the records of the run; a last line that was cut off is left out."""
        with suppress(CutOffRecordError):
            yield from read_records(self.records_path)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the run for this process while the block runs.

        Raises:
            RecipeError: if another process has locked it.
        """
        try:
            with locked(self.path):
                yield
        except LockedError as error:
            raise RecipeError(
                f"Another process is training in {self.path}; expected to be the only one. Wait "
                "until it has ended, or stop it."
            ) from error

    def summary(self) -> Summary | None:
        """Return the final results, or None if the run has not ended.

        Raises:
            RecipeError: if the file is damaged or belongs to another run.
        """
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
        """Return the score on each test set, or None if the run has not ended.

        Raises:
            RecipeError: if the file is damaged or belongs to another run.
        """
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

    def confusions(self) -> Mapping[str, Confusion]:
        """Return which classes were taken for which, by test set; empty where it is not known.

        Raises:
            RecipeError: if the file is damaged or belongs to another run.
        """
        found = self._json(CONFUSION, confusions_of)
        summary = self.summary()
        if found is None or summary is None or summary.identity is None:
            return {}
        if found.evaluations != summary.identity.evaluations:
            raise RecipeError(
                f"{self.path / CONFUSION} is not of the results in {SUMMARY}; expected the files "
                "of one run. Restore it, or delete it."
            )
        return found.sets

    def _json(self, name: str, read: Callable[[JsonObject], Content]) -> Content | None:
        """Return a JSON file as its type; None if it is missing, RecipeError if it is damaged."""
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
        """Write the test scores and the summary of a run that has ended."""
        # a summary of fewer steps, if they were raised, must not stand beside the new evaluations
        (self.path / SUMMARY).unlink(missing_ok=True)
        (self.path / CONFUSION).unlink(missing_ok=True)
        write(self.path / EVALUATIONS, json_file(scores_as_json(scores)))
        seen = {name: one.confusion for name, one in scores.items() if one.confusion is not None}
        if seen:
            digest = json_digest(scores_as_json(scores))
            write(self.path / CONFUSION, json_file(Confusions(digest, seen).as_json()))
        write(self.path / SUMMARY, json_file(summary.as_json()))
