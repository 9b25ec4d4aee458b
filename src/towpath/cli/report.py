"""`towpath report`: one HTML page on runs and comparisons."""

import argparse
from pathlib import Path

from rich.console import Console

from towpath.cli.arguments import add_data_root, add_force
from towpath.cli.parser import Commands, add_command
from towpath.wording import say


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "report",
        "One self-contained HTML page of runs and comparisons, finished or not.",
        "towpath report runs/quick-comparison --out report.html",
        run,
    )
    parser.add_argument("folders", metavar="RUN", nargs="+", help="run or comparison folders")
    parser.add_argument(
        "--out", metavar="FILE", default="report.html", help="the HTML file to write"
    )
    parser.add_argument(
        "--paper", action="store_true", help="the paper's own figures and tables, from its recipes"
    )
    add_force(parser, "a file that is no report of ours")
    add_data_root(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Write the page and print what is missing in it."""
    from towpath.reports import write_report

    out = Path(arguments.out)
    folders = [Path(folder) for folder in arguments.folders]
    missing = write_report(
        folders,
        out,
        of_paper=arguments.paper,
        force=arguments.force,
        data_root=arguments.data_root,
    )
    for line in missing:
        say(console, line)
    say(console, f"The report is in {out}")
