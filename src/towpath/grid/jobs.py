"""A run of a comparison as a job: plain values that any process on any machine can take up.

The process that runs it reports its progress in events (`events.py`) to a watcher in the process
that started it.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Protocol

from towpath.grid.events import Began, Ended, Event, Stepped
from towpath.recipes.recipe import Recipe
from towpath.runs.folder import CONFIG
from towpath.runs.records import WindowRecord
from towpath.runs.scores import Score
from towpath.runs.summary import Summary
from towpath.training.estimate import Estimate
from towpath.training.loop import resume, train
from towpath.training.reporter import Reporter
from towpath.training.setup import Setup
from towpath.weighters.race.record import RaceRecord

ATTEMPTS = 2
"""a run that fails is tried once more, since machines fail too"""


@dataclass(frozen=True)
class Job:
    """One run in a folder of its own, resumed where an earlier attempt stopped."""

    name: str
    folder: str
    recipe: Recipe
    """the recipe, with all options of its weighter"""
    data_root: str | None = None
    allowed: tuple[str, ...] = ()
    command: str = ""
    workers: int | None = None
    """number of threads, where other runs share the cores; no result depends on it"""

    def run(self, reporter: Reporter) -> Summary:
        """Train the run, or resume it if it has begun; return the summary."""
        folder = Path(self.folder)
        if (folder / CONFIG).exists():
            return resume(
                folder,
                reporter,
                data_root=self.data_root,
                allowed=self.allowed,
                workers=self.workers,
            )
        return train(
            folder,
            self.recipe,
            reporter,
            data_root=self.data_root,
            allowed=self.allowed,
            command=self.command,
            workers=self.workers,
        )

    def as_json(self) -> str:
        """Return the job as JSON, from which `from_json` makes it again on any machine."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return json.dumps({**own, "recipe": self.recipe.as_mapping()})

    @classmethod
    def from_json(cls, text: str) -> "Job":
        """Return the job that the JSON describes, with its recipe read and checked."""
        values = json.loads(text)
        recipe, allowed = Recipe.of(values["recipe"]), tuple(values["allowed"])
        return cls(**{**values, "recipe": recipe, "allowed": allowed})


class Watcher(Protocol):
    """The receiver of progress of several runs at once."""

    def heard(self, name: str, event: Event) -> None:
        """Receive an event of a run: it began, took a step or ended."""
        ...

    def failed(self, name: str, reason: str, again: bool) -> None:
        """Receive that an attempt failed; `again` tells whether there is another one."""
        ...


class EventReporter:
    """A reporter that passes the progress of a run on as events."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._steps = 0

    def began(self, setup: Setup, step: int) -> None:
        """Pass on at which step the run starts, and how many it has."""
        self._steps = setup.recipe.training.steps
        self._tell(Began(step, self._steps))

    def expected(self, cost: Estimate) -> None:
        """Ignore the estimated cost, which was measured as if the run had the machine alone."""

    def stepped(self, step: int, record: WindowRecord) -> None:  # noqa: ARG002  of the protocol
        """Pass on which step the run has reached."""
        self._tell(Stepped(step, self._steps))

    def raced(self, step: int, race: RaceRecord) -> None:
        """Ignore the decision of a race, which is in the records of the run."""

    def noted(self, step: int, note: str) -> None:
        """Ignore what was noticed at a step, which is in the records of the run."""

    def validated(self, step: int, score: Score, best: bool) -> None:
        """Ignore the validation, which is in the records of the run."""

    def tested(self, done: int, total: int) -> None:
        """Ignore the test tasks, which take little of the run's time."""

    def ended(self, summary: Summary) -> None:
        """Pass on the scores on the test sets."""
        self._tell(Ended(summary.test))


def reason_of(error: BaseException) -> str:
    """Return a description of the error in one line for the user."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError | RuntimeError) and text else repr(error)
