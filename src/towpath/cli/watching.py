"""Live progress of several runs at once: a bar each on a terminal, plain lines elsewhere."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn

from towpath.grid.events import Began, Ended, Event, Failed
from towpath.wording import printable, say

GRID_LINES = 2
"""number of progress lines for each of the runs, where there is no terminal"""


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
