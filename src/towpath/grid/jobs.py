"""A run of a comparison as a job: plain values that any process on any machine can take up.

The process that runs it tells how it goes in events (`events.py`); whoever started it watches.
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

ATTEMPTS = 2
"""a run that fails is tried once more: machines fail too"""


@dataclass(frozen=True)
class Job:
    """One run, in a folder of its own; it goes on where an attempt before it stopped."""

    name: str
    folder: str
    recipe: Recipe
    """with all options of its weighter"""
    data_root: str | None = None
    allowed: tuple[str, ...] = ()
    command: str = ""
    workers: int | None = None
    """threads, where other runs have the same cores; no result depends on it"""

    def run(self, reporter: Reporter) -> Summary:
        """Train, or go on; returns the summary."""
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
        """The job as text, which `from_json` reads back on any machine."""
        own = {one.name: getattr(self, one.name) for one in fields(self)}
        return json.dumps({**own, "recipe": self.recipe.as_mapping()})

    @classmethod
    def from_json(cls, text: str) -> "Job":
        """The job of the text, its recipe read and checked."""
        values = json.loads(text)
        recipe, allowed = Recipe.of(values["recipe"]), tuple(values["allowed"])
        return cls(**{**values, "recipe": recipe, "allowed": allowed})


class Watcher(Protocol):
    """Who is told how the runs of a grid go, several at once."""

    def heard(self, name: str, event: Event) -> None:
        """A run said something: it began, took a step or ended."""
        ...

    def failed(self, name: str, reason: str, again: bool) -> None:
        """An attempt failed; `again` where there is another."""
        ...


class EventReporter:
    """A reporter that turns what it hears into events."""

    def __init__(self, tell: Callable[[Event], None]) -> None:
        self._tell = tell
        self._steps = 0

    def began(self, setup: Setup, step: int) -> None:
        """Tell where the run starts, and how far it goes."""
        self._steps = setup.recipe.training.steps
        self._tell(Began(step, self._steps))

    def expected(self, cost: Estimate) -> None:
        """Tell nothing: the runs have the machine to share, and it was measured alone."""

    def stepped(self, step: int, record: WindowRecord) -> None:  # noqa: ARG002  of the protocol
        """Tell how far it is."""
        self._tell(Stepped(step, self._steps))

    def validated(self, step: int, score: Score, best: bool) -> None:
        """Tell nothing: it is in the records."""

    def tested(self, done: int, total: int) -> None:
        """Tell nothing: the test takes little of the run's time."""

    def ended(self, summary: Summary) -> None:
        """Tell the final figures."""
        self._tell(Ended(summary.test))


def reason_of(error: BaseException) -> str:
    """What went wrong, in one line for the user."""
    text = " ".join(str(error).split())
    return text if isinstance(error, ValueError | RuntimeError) and text else repr(error)
