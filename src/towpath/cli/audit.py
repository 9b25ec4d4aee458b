"""`towpath audit`: the classes, groups and training tasks of a run that should be checked again."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from towpath.cli.arguments import Invocation, add_force, add_sources
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.files import Output
from towpath.wording import nearest, say

if TYPE_CHECKING:
    from towpath.reports.audit import Audit, Signal
    from towpath.reports.redrawn import Redrawn
    from towpath.runs.folder import RunFolder

AUTO = "auto"
GROUPS_LISTED = 5


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "audit",
        "What to check again: classes, groups and tasks that a run's weights trusted least.",
        "towpath audit runs/quick-tow-seed0 --csv to-check.csv",
        run,
    )
    parser.add_argument("folder", metavar="RUN")
    parser.add_argument(
        "--last", type=int, metavar="N", help="steps to look back (default: all of the run)"
    )
    parser.add_argument("--rows", type=int, default=15, metavar="N", help="rows of each list")
    parser.add_argument(
        "--by",
        default=AUTO,
        metavar="WHAT",
        help="weights or losses (default: what tells more, and says which)",
    )
    parser.add_argument("--csv", metavar="FILE", help="also write a CSV file to work through")
    parser.add_argument("--out", metavar="FILE", help="the page (default: RUN/audit.html)")
    add_force(parser, "files that are no pages or lists of ours")
    add_sources(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Print what to check first, and write it as a page with pictures and as a CSV file."""
    from towpath.recipes.paths import set_label
    from towpath.reports.audit import audit, labels_known
    from towpath.reports.audit_csv import CSV_SIGNATURE, audit_csv
    from towpath.reports.audit_page import audit_page
    from towpath.reports.page import REPORT_SIGNATURE
    from towpath.runs.folder import RunFolder

    path, last, rows = Path(arguments.folder), arguments.last, arguments.rows
    for option, value in (("--last", last), ("--rows", rows)):
        if value is not None and value < 1:
            raise UsageError(f"{option} is {value}; expected at least 1.")
    signal = _signal(arguments.by)
    folder = RunFolder.open(path)
    place = Path(arguments.out) if arguments.out else path / "audit.html"
    page = Output(place, arguments.force, REPORT_SIGNATURE)
    listing = (
        Output(Path(arguments.csv), arguments.force, CSV_SIGNATURE, "--csv")
        if arguments.csv
        else None
    )
    for output in (page, listing) if listing is not None else (page,):  # all or nothing
        output.check()
    recipe, _ = folder.config()
    result = audit(folder.records(), last, by=signal, labels_known=labels_known(recipe))
    if result is None:
        raise UsageError(
            f"{path} has no weighed tasks yet; expected a run that trained for at least one "
            f"window. Run: towpath resume {path}"
        )
    drawn = _redrawn(folder, Invocation.of(arguments), result.words.extras, console)
    _show(result, rows, console)
    title = f"{recipe.name} on {set_label(recipe.data.name)}"
    page.write(audit_page(title, result, drawn))
    say(console, f"  {page.path}")
    if listing is not None:
        listing.write(audit_csv(result, drawn, rows))
        say(console, f"  {listing.path}")


def _signal(word: str) -> "Signal | None":
    from towpath.reports.audit import SIGNALS

    if word == AUTO:
        return None
    if word not in SIGNALS:
        known = (*SIGNALS, AUTO)
        raise UsageError(
            f"--by is {word!r}; expected one of {', '.join(known)}.{nearest(word, known)}"
        )
    return SIGNALS[word]


def _redrawn(
    folder: "RunFolder", call: Invocation, extras: str, console: Console
) -> "Redrawn | None":
    """Draw the run's tasks again; None, and a line on why, where their data are not there."""
    from towpath.reports.redrawn import Redrawn

    try:
        return Redrawn.of(folder, call.data_root, call.allowed)
    except ValueError as error:
        say(console, f"Without {extras}: {error}")
        return None


def _show(result: "Audit", rows: int, console: Console) -> None:
    from towpath.reports.audit_page import audit_finding, method
    from towpath.reports.audit_table import effects_table, tasks_table

    for reason in filter(None, (result.reason, result.class_reason)):
        say(console, reason)
    if result.classes:
        console.print(effects_table(result, result.classes, rows, result.words.unit))
        say(console, audit_finding(result))
    if result.groups:
        console.print(effects_table(result, result.groups, GROUPS_LISTED, "group"))
    say(console, method(result))
    console.print(tasks_table(result, rows))
    area = result.area_under_curve
    if area is not None:
        say(console, f"area under the ROC curve for {result.wrong_tasks}: {area:.3f}")
