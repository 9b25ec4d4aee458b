"""`towpath data verify`: compare the counts of data sets with what they should be."""

import argparse

from rich.console import Console

from towpath.cli.arguments import add_data_root
from towpath.cli.parser import Commands, add_command
from towpath.wording import say


def add(commands: Commands) -> None:
    """Add this command and its arguments to those of `towpath data`."""
    parser = add_command(
        commands,
        "verify",
        "Compare the counts of a set (default: of all that are there) with what they should be.",
        "towpath data verify glyphs",
        run,
    )
    add_data_root(parser)
    parser.add_argument("name", metavar="NAME", nargs="?")


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Check the counts of one set, or of all that are there; raise DataError for wrong ones."""
    from towpath.data.locations import data_root
    from towpath.data.registry import SETS, present
    from towpath.data.verification import require, verify

    name: str | None = arguments.name
    folder = data_root(arguments.data_root)
    names = [name] if name is not None else list(SETS)
    reports = []
    for each in names:
        if name is None and not present(each, folder):
            say(console, f"{each}: not in {folder}, skipped")
            continue
        report = verify(each, folder)
        reports.append(report)
        say(console, f"{each}: {'counts are right' if report.ok else 'COUNTS ARE WRONG'}")
        for line in report.lines:
            say(console, f"  {line}")
    for report in reports:
        require(report)
