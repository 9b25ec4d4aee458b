"""`towpath resume`: continue a run or a comparison that was stopped."""

import argparse
from pathlib import Path

from rich.console import Console

from towpath.cli.arguments import (
    Invocation,
    add_engine,
    add_sources,
    add_tensorboard,
    chosen_engine,
)
from towpath.cli.compare import go_on_comparing
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.cli.ranks import refuse_torchrun, share_tasks
from towpath.wording import say


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "resume",
        "Go on with a run or a comparison that was stopped.",
        "towpath resume runs/quick-comparison",
        run,
    )
    parser.add_argument("folder", metavar="RUN")
    add_engine(parser)
    add_tensorboard(parser)
    add_sources(parser)
    share_tasks(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Resume the run or the comparison that the folder holds."""
    from towpath.grid.choice import EngineChoice
    from towpath.runs.comparison_spec import ComparisonSpec, is_comparison

    path, call, engine = Path(arguments.folder), Invocation.of(arguments), chosen_engine(arguments)
    if is_comparison(path):
        refuse_torchrun("resume of a comparison")
        if arguments.tensorboard:
            raise UsageError(
                f"--tensorboard found the comparison {path}; expected a single run. Leave it out: "
                "the comparison's curves are drawn as pictures."
            )
        go_on_comparing(console, ComparisonSpec.read(path), engine, call)
        return
    if engine != EngineChoice():
        raise UsageError(
            f"--jobs and --engine found the run {path}; expected a comparison, which has several. "
            "Leave them out."
        )
    _resume_run(console, path, call, arguments.tensorboard)


def _resume_run(console: Console, path: Path, call: Invocation, board: bool) -> None:
    from towpath.cli.reporting import reporting
    from towpath.distributed.launch import launched
    from towpath.runs.folder import RunFolder
    from towpath.training import resume

    folder = RunFolder.open(path)
    if folder.finished:
        say(console, f"{path} is finished already.")
        return
    device = folder.config()[0].device
    with reporting(console, path, board) as reporter, launched(device) as ranks:
        resume(path, reporter, data_root=call.data_root, allowed=call.allowed, ranks=ranks)
    say(console, f"The run is in {path}")
