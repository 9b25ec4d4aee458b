"""`towpath data fetch`: download a data set."""

import argparse

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from towpath.cli.arguments import add_data_root
from towpath.cli.parser import Commands, add_command
from towpath.data.errors import DataError
from towpath.wording import say


def add(commands: Commands) -> None:
    """Add this command and its arguments to those of `towpath data`."""
    parser = add_command(
        commands,
        "fetch",
        "Download a set into the data folder.",
        "towpath data fetch omniglot",
        run,
    )
    add_data_root(parser)
    parser.add_argument("name", metavar="NAME")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Download a data set into the data folder, and check the checksum of each file."""
    from towpath.data.download import fetch
    from towpath.data.locations import data_root
    from towpath.data.registry import known

    name: str = arguments.name
    entry = known(name)
    if not entry.files:
        if entry.built_in:
            say(console, f"{name}: {entry.manual}")
            return
        raise DataError(
            f"{name} has no address to fetch from; expected a set that may be downloaded freely. "
            f"{entry.manual}"
        )
    folder = data_root(arguments.data_root)
    there = entry.sources(folder)
    if entry.single_source and there:
        say(console, f"{there[0]} is there already; nothing to fetch.")
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        for file in entry.files:
            fetched = fetch(
                file,
                folder / entry.folder,
                manual=entry.manual,
                progress=lambda label: _Bar(bars, label),
            )
            if not fetched.was_there:
                say(console, f"{fetched.path}: downloaded, checksum right")
            elif fetched.official:
                say(console, f"{fetched.path}: there already, checksum right")
            else:
                say(
                    console,
                    f"{fetched.path}: there already and left alone; its checksum is not the "
                    f"official one. `towpath data verify {name}` tells whether its content is; to "
                    "fetch it again, move it away first.",
                )


class _Bar:
    """A progress bar with the interface that pooch expects, drawn by rich."""

    def __init__(self, bars: Progress, label: str) -> None:
        self._bars = bars
        self._task: TaskID = bars.add_task(label, total=None)
        self._total = 0

    @property
    def total(self) -> int:
        """The size of the download in bytes; 0 while it is not known."""
        return self._total

    @total.setter
    def total(self, value: int) -> None:
        """Set the size of the download in bytes and show it."""
        self._total = value
        self._bars.update(self._task, total=value or None)

    def update(self, amount: int) -> None:
        """Advance the bar by an amount of downloaded bytes."""
        self._bars.update(self._task, advance=amount)

    def reset(self) -> None:
        """Move the bar back to its start."""
        # pooch resets the bar and fills it in one go when a download ends.
        self._bars.update(self._task, completed=0)

    def close(self) -> None:
        """Stop the clock of the bar, which stays visible."""
        self._bars.stop_task(self._task)
