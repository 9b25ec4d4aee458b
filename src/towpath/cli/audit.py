"""`towpath audit`: the training tasks that a run's weights trusted least."""

import argparse
from pathlib import Path

from rich.console import Console

from towpath.cli.arguments import Invocation, add_sources
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.wording import say


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "audit",
        "The training tasks that a run's weights trusted least, as a table and a picture.",
        "towpath audit runs/quick-tow-seed0",
        run,
    )
    parser.add_argument("folder", metavar="RUN")
    parser.add_argument("--last", type=int, default=100, metavar="N", help="steps to look back")
    parser.add_argument("--rows", type=int, default=15, metavar="N", help="tasks to list")
    add_sources(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Show the least trusted tasks as a table, and draw them beside the most trusted ones."""
    from towpath.reports import audit, audit_table, write_sample_tasks
    from towpath.runs.folder import RunFolder
    from towpath.training.setup import prepare

    path, last, rows = Path(arguments.folder), arguments.last, arguments.rows
    call = Invocation.of(arguments)
    if last < 1 or rows < 1:
        raise UsageError(f"--last is {last} and --rows {rows}; expected at least 1 each.")
    folder = RunFolder.open(path)
    result = audit(folder.records(), last)
    if result is None:
        raise UsageError(
            f"{path} has no weighed tasks yet; expected a run that trained for at least one "
            f"window. Run: towpath resume {path}"
        )
    console.print(audit_table(result, rows))
    for group, trust, count in result.by_group()[:5]:
        say(console, f"  {group}: mean weight {trust:.2f} over {count} tasks")
    area = result.area_under_curve
    if area is not None:
        say(console, f"area under the ROC curve for mislabelled tasks: {area:.3f}")
    recipe, _ = folder.config()
    sampler = prepare(recipe, call.data_root, call.allowed).windows.sampler
    shown = [task for task in result.tasks if task.index >= 0]
    picks = [*shown[:6], *shown[-2:]]
    picture = write_sample_tasks(
        path / "audit.png",
        [sampler.episode(task.index) for task in picks],
        [task.trust for task in picks],
        "Least trusted training tasks, and the two most trusted (bottom): support | query",
        average=1.0,
    )
    say(console, f"  {picture}")
