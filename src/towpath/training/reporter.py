"""Who is told how a run goes."""

from typing import Any, Protocol

from towpath.training.estimate import Estimate
from towpath.training.evaluation import Score
from towpath.training.setup import Setup


class Reporter(Protocol):
    """Who is told how a run goes."""

    def began(self, setup: Setup, step: int) -> None:
        """Training starts, or goes on, at a step."""
        ...

    def expected(self, cost: Estimate) -> None:
        """What the rest of the run should take."""
        ...

    def stepped(self, step: int, record: dict[str, Any]) -> None:
        """A window was trained on; `record` is its last."""
        ...

    def validated(self, step: int, score: Score, best: bool) -> None:
        """The validation tasks were tried."""
        ...

    def tested(self, done: int, total: int) -> None:
        """Test tasks were tried."""
        ...

    def ended(self, summary: dict[str, Any]) -> None:
        """The run has its summary."""
        ...


class Unheard:
    """The reporter of a rank that shows nothing."""

    def began(self, setup: Setup, step: int) -> None:
        """Nothing."""

    def expected(self, cost: Estimate) -> None:
        """Nothing."""

    def stepped(self, step: int, record: dict[str, Any]) -> None:
        """Nothing."""

    def validated(self, step: int, score: Score, best: bool) -> None:
        """Nothing."""

    def tested(self, done: int, total: int) -> None:
        """Nothing."""

    def ended(self, summary: dict[str, Any]) -> None:
        """Nothing."""
