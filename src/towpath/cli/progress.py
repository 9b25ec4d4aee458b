"""Live progress of runs: bars on a terminal, plain lines elsewhere."""

import math

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

from towpath.data.registry import is_synthetic
from towpath.grid.events import Began, Ended, Event, Failed
from towpath.metrics import ACCURACY, Metric
from towpath.recipes.paths import set_label
from towpath.runs.records import StepRecord, WindowRecord
from towpath.runs.scores import Score
from towpath.runs.summary import Summary
from towpath.training.estimate import Estimate
from towpath.training.setup import Setup
from towpath.weighters.race.record import RaceRecord
from towpath.wording import printable, say

PLAIN_LINES = 10
"""number of progress lines of a run where there is no terminal"""


def figure(mean: float, interval: float, metric: Metric, named: bool = False) -> str:
    """Return a mean with the half-width of its 95% interval, as text.

    Args:
        mean: the mean of the metric.
        interval: the half-width of its interval.
        metric: the metric.
        named: whether to name even an accuracy, which its per cent sign tells where it is alone.
    """
    name = f"{metric.words} " if named or not metric.percent else ""
    width = interval if math.isfinite(interval) else 0.0  # of a single task
    return f"{name}{metric.text(mean)} +-{metric.shown(width)}"


def left_out(count: int, metric: Metric) -> str:
    """Return how many tasks are left out of a metric, and why, as text; empty where none are."""
    return f" ({count} left out: {metric.undefined_where})" if count else ""


def duration(seconds: float) -> str:
    """Return a time as text, in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


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
        say(
            self.console,
            f"  expected: {duration(cost.seconds)} ({cost.seconds_per_step:.2f} s a step, "
            f"{cost.overhead:.1f} times uniform; {duration(cost.evaluation_seconds)} of validation "
            f"and test), {cost.peak_bytes / 2**30:.1f} GiB",
        )

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


GRID_LINES = 2
"""number of progress lines for each of several runs at once, where there is no terminal"""


class ConsoleWatcher:
    """Shows several runs at once: a bar for each that runs, a line for each that ends."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bars: Progress | None = None
        self._tasks: dict[str, TaskID] = {}
        self._last_line: dict[str, int] = {}

    def heard(self, name: str, event: Event) -> None:
        """Move the progress bar of the run, or print a line now and then."""
        if isinstance(event, Ended):
            self._drop(name)
            figures = ", ".join(test.metric.text(test.mean) for test in event.test.values())
            self._say(f"{name}: ended, test {figures}")
            return
        if isinstance(event, Failed):
            return  # `failed` is called too, and knows whether it is tried again
        step, steps = event.step, event.steps
        if self.console.is_terminal:
            bars = self._opened()
            if name not in self._tasks:
                self._tasks[name] = bars.add_task(printable(name), total=steps)
            bars.update(self._tasks[name], completed=step)
        elif isinstance(event, Began):
            self._last_line[name] = step
            self._say(f"{name}: from step {step} of {steps}")
        elif step - self._last_line.get(name, 0) >= steps / GRID_LINES and step < steps:
            self._last_line[name] = step
            self._say(f"{name}: step {step}/{steps}")

    def failed(self, name: str, reason: str, again: bool) -> None:
        """Print why the run failed, and whether it is tried again."""
        self._drop(name)
        what = "trying once more" if again else "given up; the other runs go on"
        self._say(f"{name}: failed ({reason}); {what}")

    def close(self) -> None:
        """Stop the progress bars and restore the terminal, also after an error."""
        if self._bars is not None:
            self._bars.stop()
        self._bars = None
        self._tasks.clear()

    def _opened(self) -> Progress:
        if self._bars is None:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
            )
            self._bars = Progress(*columns, console=self.console, transient=True)
            self._bars.start()
        return self._bars

    def _drop(self, name: str) -> None:
        if self._bars is not None and name in self._tasks:
            self._bars.remove_task(self._tasks.pop(name))

    def _say(self, text: str) -> None:
        say(self.console, text)
