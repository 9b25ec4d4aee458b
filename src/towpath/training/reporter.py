"""Reporters, which receive the progress of a run and show or pass it on."""

from typing import Protocol

from towpath.runs.records import WindowRecord
from towpath.runs.scores import Score
from towpath.runs.summary import Summary
from towpath.training.estimate import Estimate
from towpath.training.setup import Setup
from towpath.weighters.race.record import RaceRecord


class Reporter(Protocol):
    """The receiver of a run's progress; the training loop calls its methods as events happen."""

    def began(self, setup: Setup, step: int) -> None:
        """Receive that training starts, or is resumed, at a step."""
        ...

    def expected(self, cost: Estimate) -> None:
        """Receive the estimated cost of the rest of the run."""
        ...

    def stepped(self, step: int, record: WindowRecord) -> None:
        """Receive that a window was trained on, or skipped; `record` is its last record."""
        ...

    def raced(self, step: int, race: RaceRecord) -> None:
        """Receive what a race of weighters decided in the window that ended with a step."""
        ...

    def noted(self, step: int, note: str) -> None:
        """Receive a sentence for the user on what was noticed at a step."""
        ...

    def validated(self, step: int, score: Score, best: bool) -> None:
        """Receive the score on the validation tasks, and whether it is the best so far."""
        ...

    def tested(self, done: int, total: int) -> None:
        """Receive how many of all test tasks have been evaluated."""
        ...

    def ended(self, summary: Summary) -> None:
        """Receive the summary of a run that has ended."""
        ...


class SilentReporter:
    """A reporter that shows nothing, used by every rank but the first."""

    def began(self, setup: Setup, step: int) -> None:
        """Ignore the news that training began or was resumed."""

    def expected(self, cost: Estimate) -> None:
        """Ignore the estimated cost of the run."""

    def stepped(self, step: int, record: WindowRecord) -> None:
        """Ignore the news that a window was trained on."""

    def raced(self, step: int, race: RaceRecord) -> None:
        """Ignore what a race of weighters decided."""

    def noted(self, step: int, note: str) -> None:
        """Ignore what was noticed at a step."""

    def validated(self, step: int, score: Score, best: bool) -> None:
        """Ignore the score on the validation tasks."""

    def tested(self, done: int, total: int) -> None:
        """Ignore the news that test tasks were evaluated."""

    def ended(self, summary: Summary) -> None:
        """Ignore the news that the run has ended."""
