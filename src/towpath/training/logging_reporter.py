"""Scalars of a run for experiment trackers: one small protocol, and the reporter that feeds it.

A tracker is anything with the three methods of `Logger`; those that we know are in `loggers.py`. In
Python, `train(path, recipe, LoggingReporter(other, path, [MyLogger()]))` uses one of your own.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.records import StepRecord, WindowRecord
from towpath.runs.scores import Score
from towpath.runs.summary import Summary
from towpath.training.estimate import Estimate
from towpath.training.reporter import Reporter
from towpath.training.setup import Setup
from towpath.weighters.race.record import RaceRecord
from towpath.wording import one_line

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LoggedRun:
    """The run that a logger is told of."""

    folder: Path
    recipe: Recipe
    step: int
    """the step that training starts from: 0, or that of the checkpoint a run is resumed from"""

    @property
    def settings(self) -> dict[str, str]:
        """The values of the recipe as texts, by dotted name."""
        found: dict[str, str] = {}
        for section, value in self.recipe.as_mapping().items():
            if isinstance(value, Mapping):
                found |= {f"{section}.{key}": str(inner) for key, inner in value.items()}
            else:
                found[section] = str(value)
        return found


class Logger(Protocol):
    """An experiment tracker: it is told of a run, then of scalars by step, then of the end."""

    def begin(self, run: LoggedRun) -> None:
        """Receive the run, whose folder exists now; one that was logged before is continued."""
        ...

    def log(self, values: Mapping[str, float], step: int) -> None:
        """Receive scalars by name, such as `training/loss`, at a step."""
        ...

    def close(self, finished: bool) -> None:
        """Receive that no more is logged, and whether the run has ended; also after an error."""
        ...


class LoggingReporter:
    """Gives loss, accuracy, validation and test to loggers, and passes all on to a reporter."""

    def __init__(self, other: Reporter, folder: Path, loggers: Sequence[Logger]) -> None:
        self.other, self.folder, self.loggers = other, folder, loggers
        self._begun: list[Logger] = []
        self._failed: list[Logger] = []
        """those that began and failed later: nothing is logged to them any more"""
        self._finished = False

    def began(self, setup: Setup, step: int) -> None:
        """Begin to log, now that the run folder exists."""
        run = LoggedRun(self.folder, setup.recipe, step)
        for logger in self.loggers:
            try:
                logger.begin(run)
            except Exception as error:
                raise RecipeError(
                    f"{type(logger).__name__} cannot begin ({one_line(error)}); expected an "
                    "experiment tracker that takes the run. Set it up, or leave it out."
                ) from error
            self._begun.append(logger)
        self.other.began(setup, step)

    def expected(self, cost: Estimate) -> None:
        """Pass the estimated cost on without logging it."""
        self.other.expected(cost)

    def stepped(self, step: int, record: WindowRecord) -> None:
        """Log loss and accuracy of the window's last mini-batch."""
        if isinstance(record, StepRecord):
            known = {"training/loss": record.loss, "training/accuracy": record.accuracy}
            self._log({name: value for name, value in known.items() if value is not None}, step)
        self.other.stepped(step, record)

    def raced(self, step: int, race: RaceRecord) -> None:
        """Pass the decision of a race on without logging it."""
        self.other.raced(step, race)

    def noted(self, step: int, note: str) -> None:
        """Pass what was noticed on without logging it."""
        self.other.noted(step, note)

    def validated(self, step: int, score: Score, best: bool) -> None:
        """Log the mean score on the validation tasks, and each metric that it has beside it."""
        others = {f"validation/{metric.name}": score.of(metric).mean for metric in score.others}
        self._log({"validation/score": score.mean, **others}, step)
        self.other.validated(step, score, best)

    def tested(self, done: int, total: int) -> None:
        """Pass the progress of the test on without logging it."""
        self.other.tested(done, total)

    def ended(self, summary: Summary) -> None:
        """Log the test scores at the last step."""
        for name, score in summary.test.items():
            others = {
                f"test/{name}/{metric.name}": one.mean for metric, one in score.others.items()
            }
            # no name is the beginning of another: MLflow makes folders and files of them
            self._log({f"test/{name}/score": score.mean, **others}, summary.steps)
        self._finished = True
        self.other.ended(summary)

    def close(self) -> None:
        """Close the loggers, whether or not the run has ended.

        Those that failed are closed as well, because they may hold files or threads, and one that
        cannot be closed does not keep the others open.
        """
        for logger in (*self._begun, *self._failed):
            try:
                logger.close(self._finished)
            except Exception as error:  # noqa: BLE001 - any library's errors
                log.warning(
                    "%s could not be closed (%s): what it logged last may be missing there.",
                    type(logger).__name__,
                    one_line(error),
                )
        self._begun.clear()
        self._failed.clear()

    def _log(self, values: Mapping[str, float], step: int) -> None:
        """Log the values; a tracker that fails in between does not cost the training."""
        for logger in tuple(self._begun):
            try:
                logger.log(values, step)
            except Exception as error:  # noqa: BLE001 - any library's errors
                self._begun.remove(logger)
                self._failed.append(logger)
                log.warning(
                    "%s failed at step %d (%s): training goes on without it.",
                    type(logger).__name__,
                    step,
                    one_line(error),
                )
