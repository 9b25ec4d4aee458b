"""Live progress of a run: a bar on a terminal, plain lines elsewhere."""

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from towpath.cli.figure_text import cost_text, figure, left_out
from towpath.data.registry import is_synthetic
from towpath.metrics import ACCURACY
from towpath.recipes.paths import set_label
from towpath.runs.records import StepRecord, WindowRecord
from towpath.runs.scores import Score
from towpath.runs.summary import Summary
from towpath.training.estimate import Estimate
from towpath.training.setup import Setup
from towpath.weighters.race.record import RaceRecord
from towpath.wording import say

PLAIN_LINES = 10
"""number of progress lines of a run where there is no terminal"""


class ConsoleReporter:
    """Shows progress on a rich console, for one run or for several one after another."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._steps, self._last_line = 1, 0
        self._patience = 0
        self._validation = ""

    def began(self, setup: Setup, step: int) -> None:
        """Print what is run and open the progress bar."""
        self.close()  # of a run that failed
        recipe = setup.recipe
        self._steps, self._last_line = recipe.training.steps, step
        self._patience = recipe.validation.patience
        self._validation = ""
        name = f"{recipe.name} · {recipe.weighter.name} · seed {recipe.seed}"
        data = set_label(recipe.data.name)
        if is_synthetic(recipe.data.name):
            data += " (synthetic)"
        say(
            self.console,
            f"{name}: {recipe.learner.name} on {data}, "
            f"{self._steps} steps of {recipe.training.meta_batch_size} tasks"
            + (f", from step {step}" if step else ""),
        )
        for note in setup.notes:
            say(self.console, f"  {note}")
        if self.console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                console=self.console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("training", total=self._steps, completed=step)

    def expected(self, cost: Estimate) -> None:
        """Print the estimated time and memory of the run."""
        say(self.console, f"  expected: {cost_text(cost)}")
        if cost.note:
            say(self.console, f"  {cost.note}")

    def stepped(self, step: int, record: WindowRecord) -> None:
        """Move the progress bar, or print a line now and then."""
        text = _progress(record)
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=step, description=f"{text}{self._validation}")
        elif step - self._last_line >= self._steps / PLAIN_LINES or step >= self._steps:
            self._last_line = step
            say(self.console, f"step {step}/{self._steps}  {text}{self._validation}")

    def raced(self, step: int, race: RaceRecord) -> None:
        """Print a line when another weighter leads, and at the end of a heat that changed nothing.

        What is decided in between is in the records.
        """
        if race.ended:
            say(self.console, f"step {step}: {race.decision()} ({race.reason()})")

    def noted(self, step: int, note: str) -> None:
        """Print what was noticed at a step."""
        say(self.console, f"step {step}: {note}")

    def validated(self, step: int, score: Score, best: bool) -> None:
        """Show the last validation score beside the progress from now on."""
        mark = " (best)" if best else ""
        said = figure(score.mean, score.interval, score.metric)
        self._validation = f"  validation {said} at step {step}{mark}"

    def tested(self, done: int, total: int) -> None:
        """Move the progress bar over the test tasks."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, description="testing")

    def ended(self, summary: Summary) -> None:
        """Close the progress bar and print the best validation and the test scores."""
        self.close()
        best = summary.validation
        if summary.steps < self._steps:
            say(
                self.console,
                f"  stopped early, at step {summary.steps} of {self._steps}: no new best in the "
                f"last {self._patience} validations (validation.patience)",
            )
        chosen = ""
        if best is not None:
            metric = summary.score.metric
            value = metric.text(metric.goodness(best.score))  # of a loss the negative is kept
            chosen = f", parameters of step {best.step} (best validation, {value})"
        for name, score in summary.test.items():
            metric = score.metric
            say(
                self.console,
                f"  test on {name}: {figure(score.mean, score.interval, metric)} over "
                f"{score.tasks} tasks{left_out(score.main.left_out, metric)}, worst tenth "
                f"{metric.text(score.worst_tenth)}, {summary.timing.training_seconds:.0f} s of "
                f"training{chosen}",
            )
            if score.others:
                said = (figure(o.mean, o.interval, m, named=True) for m, o in score.others.items())
                say(self.console, f"    {', '.join(said)}")

    def close(self) -> None:
        """Stop the progress bar and restore the terminal, also after an error."""
        if self._bar is not None:
            self._bar.stop()
        self._bar, self._task = None, None


def _progress(record: WindowRecord) -> str:
    """Return loss and accuracy of the last mini-batch as text, as far as they are known."""
    if not isinstance(record, StepRecord):
        return ""
    text = "" if record.loss is None else f"loss {record.loss:.3f}"
    return text if record.accuracy is None else f"{text} accuracy {ACCURACY.text(record.accuracy)}"
