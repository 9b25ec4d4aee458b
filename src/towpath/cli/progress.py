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
from towpath.recipes.paths import set_label
from towpath.runs.records import StepRecord, WindowRecord
from towpath.runs.scores import Score, ScoreSummary
from towpath.runs.summary import Summary
from towpath.training.estimate import Estimate
from towpath.training.setup import Setup
from towpath.weighters.race.record import RaceRecord
from towpath.wording import printable, say

PLAIN_LINES = 10
"""number of progress lines of a run where there is no terminal"""


def percent(value: float) -> str:
    """Return an accuracy as a percentage with one decimal."""
    return f"{100 * value:.1f}%"


def figure(score: Score) -> str:
    """Return a score as text, with the half-width of its 95% interval."""
    if score.metric == "loss":
        return f"loss {score.mean:.4f} +-{score.interval:.4f}"
    return f"{percent(score.mean)} +-{100 * score.interval:.1f}"


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
        self._validation = ""

    def began(self, setup: Setup, step: int) -> None:
        """Print what is run and open the progress bar."""
        self.close()  # of a run that failed
        recipe = setup.recipe
        self._steps, self._last_line = recipe.training.steps, step
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
        self._validation = f"  validation {figure(score)} at step {step}{mark}"

    def tested(self, done: int, total: int) -> None:
        """Move the progress bar over the test tasks."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total, description="testing")

    def ended(self, summary: Summary) -> None:
        """Close the progress bar and print the test scores."""
        self.close()
        best = summary.validation
        chosen = "" if best is None else f", parameters of step {best.step} (best validation)"
        for name, score in summary.test.items():
            say(
                self.console,
                f"  test on {name}: {_outcome(score)} over {score.tasks} tasks, worst tenth "
                f"{percent(score.worst_tenth)}, {summary.timing.training_seconds:.0f} s of "
                f"training{chosen}",
            )

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
    return text if record.accuracy is None else f"{text} accuracy {percent(record.accuracy)}"


def _outcome(score: ScoreSummary) -> str:
    """Return the mean of a test as text, with its interval where it is an accuracy."""
    if not score.is_accuracy:
        return f"loss {score.mean:.4f}"
    width = score.interval if math.isfinite(score.interval) else 0.0  # of a single task
    return f"{percent(score.mean)} +-{100 * width:.1f}"


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
            figures = ", ".join(
                percent(test.mean) if test.is_accuracy else f"{test.mean:.4f}"
                for test in event.test.values()
            )
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
