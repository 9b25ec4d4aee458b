"""Who is told how a run goes."""

from typing import Protocol

from towpath.runs.records import WindowRecord
from towpath.runs.scores import Score
from towpath.runs.summary import Summary
from towpath.training.estimate import Estimate
from towpath.training.setup import Setup


class Reporter(Protocol):
    """Who is told how a run goes."""

    def began(self, setup: Setup, step: int) -> None:
        """Training starts, or goes on, at a step."""
        ...

    def expected(self, cost: Estimate) -> None:
        """What the rest of the run should take."""
        ...

    def stepped(self, step: int, record: WindowRecord) -> None:
        """A window was trained on, or skipped; `record` is its last."""
        ...

    def validated(self, step: int, score: Score, best: bool) -> None:
        """The validation tasks were tried."""
        ...

    def tested(self, done: int, total: int) -> None:
        """Test tasks were tried."""
        ...

    def ended(self, summary: Summary) -> None:
        """The run has its summary."""
        ...


class SilentReporter:
    """A reporter that shows nothing, as every rank but the first has."""

    def began(self, setup: Setup, step: int) -> None:
        """Say nothing."""

    def expected(self, cost: Estimate) -> None:
        """Say nothing."""

    def stepped(self, step: int, record: WindowRecord) -> None:
        """Say nothing."""

    def validated(self, step: int, score: Score, best: bool) -> None:
        """Say nothing."""

    def tested(self, done: int, total: int) -> None:
        """Say nothing."""

    def ended(self, summary: Summary) -> None:
        """Say nothing."""
