"""`towpath resume`: continue a run or a comparison that was stopped."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from towpath.cli.arguments import (
    Invocation,
    add_engine,
    add_loggers,
    add_sources,
    chosen_engine,
)
from towpath.cli.compare import go_on_comparing
from towpath.cli.output import add_json, add_quiet, print_json
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.cli.ranks import refuse_torchrun, share_tasks
from towpath.wording import nearest, say

if TYPE_CHECKING:
    from towpath.runs.summary import Summary

STEPS = "training.steps"
"""the field of a recipe that may be raised when a run goes on"""


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "resume",
        "Go on with a run or a comparison that was stopped. --training.steps N trains a run, "
        "finished or not, for more steps than it was asked for.",
        "towpath resume runs/quick-comparison",
        run,
    )
    parser.add_argument("folder", metavar="RUN")
    add_engine(parser)
    add_loggers(parser)
    add_sources(parser)
    add_quiet(parser)
    add_json(parser)
    share_tasks(parser)
    parser.set_defaults(takes_overrides=(STEPS,))


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Resume the run or the comparison that the folder holds."""
    from towpath.grid.choice import EngineChoice
    from towpath.runs.comparison_spec import ComparisonSpec, is_comparison

    path, call, engine = Path(arguments.folder), Invocation.of(arguments), chosen_engine(arguments)
    steps = _asked_steps(arguments.overrides)
    if is_comparison(path):
        if steps is not None:
            raise UsageError(
                f"--{STEPS} found the comparison {path}; expected a single run: the runs of a "
                "comparison have the same steps. Compare for longer in a new folder."
            )
        refuse_torchrun("resume of a comparison")
        if arguments.loggers:
            raise UsageError(
                f"--logger found the comparison {path}; expected a single run. Leave it out: "
                "the comparison's curves are drawn as pictures."
            )
        result = go_on_comparing(console, ComparisonSpec.read(path), engine, call)
        if arguments.json:
            print_json({"folder": str(path), **result.as_json()})
        return
    if engine != EngineChoice():
        raise UsageError(
            f"--jobs and --engine found the run {path}; expected a comparison, which has several. "
            "Leave them out."
        )
    summary = _resume_run(console, path, call, steps, arguments.loggers)
    if arguments.json:
        print_json({"folder": str(path), **summary.as_json()})


def _asked_steps(overrides: Sequence[tuple[str, str]]) -> int | None:
    """Return the number of `--training.steps N`; None if it is not given."""
    steps: int | None = None
    for dotted, word in overrides:
        if dotted != STEPS:
            raise UsageError(
                f"towpath resume found --{dotted}; expected nothing of the recipe but --{STEPS}: "
                "what else the run was begun with stays. Train with the other value in a new "
                f"folder.{nearest(dotted, [STEPS])}"
            )
        if not word.isdecimal():
            raise UsageError(f"--{STEPS} is {word!r}; expected a whole number, such as 600.")
        steps = int(word)
    return steps


def _resume_run(
    console: Console, path: Path, call: Invocation, steps: int | None, loggers: Sequence[str]
) -> "Summary":
    from towpath.cli.reporting import reporting
    from towpath.distributed.launch import launched
    from towpath.runs.folder import RunFolder
    from towpath.training import resume

    folder = RunFolder.open(path)
    recipe = folder.config()[0]
    more = steps is not None and steps != recipe.training.steps
    summary = None if more else folder.summary()
    if summary is not None and folder.finished:
        say(console, f"{path} is finished already.")
        return summary
    with reporting(console, path, loggers) as reporter, launched(recipe.device) as ranks:
        summary = resume(
            path,
            reporter,
            data_root=call.data_root,
            allowed=call.allowed,
            ranks=ranks,
            steps=steps,
        )
    say(console, f"The run is in {path}")
    return summary
