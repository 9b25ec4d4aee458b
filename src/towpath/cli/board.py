"""TensorBoard, an extra: scalars of a run in `<run>/tensorboard`, beside the console's output."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from towpath.recipes.typed import RecipeError
from towpath.runs.folder import BOARD
from towpath.runs.records import StepRecord, WindowRecord
from towpath.runs.scores import Score
from towpath.runs.summary import Summary
from towpath.training.estimate import Estimate
from towpath.training.reporter import Reporter
from towpath.training.setup import Setup
from towpath.weighters.race.record import RaceRecord


def _summary_writer(folder: str, first_step: int) -> Any:
    from torch.utils.tensorboard import SummaryWriter  # an extra: only if it is requested

    # what was written after the checkpoint that training goes on from is dropped
    return SummaryWriter(folder, purge_step=first_step)


def require_tensorboard() -> None:
    """Raise RecipeError where the extra `tensorboard` is not installed."""
    if find_spec("tensorboard") is None:
        raise RecipeError(
            "--tensorboard found no package tensorboard; expected the extra. Install it: pip "
            "install 'towpath[tensorboard]'"
        )


class BoardReporter:
    """Writes scalars (loss, accuracy, validation, test) and passes all on to another reporter."""

    def __init__(
        self, other: Reporter, run: Path, make: Callable[[str, int], Any] = _summary_writer
    ) -> None:
        self.other, self.run, self._make = other, run, make
        self._writer: Any = None

    def began(self, setup: Setup, step: int) -> None:
        """Open the writer of scalars, now that the run folder exists."""
        self._writer = self._make(str(self.run / BOARD), step + 1)
        self.other.began(setup, step)

    def expected(self, cost: Estimate) -> None:
        """Pass the estimated cost on without writing a scalar."""
        self.other.expected(cost)

    def stepped(self, step: int, record: WindowRecord) -> None:
        """Write loss and accuracy of the window's last mini-batch."""
        if isinstance(record, StepRecord):
            for name, value in (("loss", record.loss), ("accuracy", record.accuracy)):
                if value is not None:
                    self._writer.add_scalar(f"training/{name}", value, step)
        self.other.stepped(step, record)

    def raced(self, step: int, race: RaceRecord) -> None:
        """Pass the decision of a race on without writing a scalar."""
        self.other.raced(step, race)

    def noted(self, step: int, note: str) -> None:
        """Pass what was noticed on without writing a scalar."""
        self.other.noted(step, note)

    def validated(self, step: int, score: Score, best: bool) -> None:
        """Write the mean score on the validation tasks, and each metric that it has beside it."""
        self._writer.add_scalar("validation/score", score.mean, step)
        for metric in score.others:
            self._writer.add_scalar(f"validation/{metric.name}", score.of(metric).mean, step)
        self.other.validated(step, score, best)

    def tested(self, done: int, total: int) -> None:
        """Pass the progress of the test on without writing a scalar."""
        self.other.tested(done, total)

    def ended(self, summary: Summary) -> None:
        """Write the test scores at the last step."""
        for name, score in summary.test.items():
            self._writer.add_scalar(f"test/{name}", score.mean, summary.steps)
            for metric, said in score.others.items():
                self._writer.add_scalar(f"test/{name}/{metric.name}", said.mean, summary.steps)
        self.other.ended(summary)

    def close(self) -> None:
        """Flush the scalars to disk and close the writer."""
        if self._writer is not None:
            self._writer.close()
