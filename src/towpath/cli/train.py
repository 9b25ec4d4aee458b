"""`towpath train`: one learner with one weighter, in a new run folder."""

import argparse
from pathlib import Path

from rich.console import Console

from towpath.cli.arguments import (
    Invocation,
    add_dry_run,
    add_loggers,
    add_recipe,
    chosen_recipe,
)
from towpath.cli.output import add_json, add_quiet, print_json
from towpath.cli.parser import Commands, add_command
from towpath.cli.ranks import share_tasks
from towpath.files import inside
from towpath.wording import say

RUNS = Path("runs")
"""folder of runs unless --out names another"""


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "train",
        "Train one learner with one weighter. Any field of the recipe may be overridden by its "
        "dotted name.",
        "towpath train quick --weighter.name tow --weighter.beta 1.0",
        run,
    )
    add_recipe(parser)
    parser.add_argument("--seed", type=int, metavar="N")
    add_loggers(parser)
    add_dry_run(parser)
    add_quiet(parser)
    add_json(parser)
    share_tasks(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Train the recipe in a new folder, with the other ranks where torchrun started several."""
    from towpath.cli.reporting import reporting
    from towpath.distributed.launch import launched
    from towpath.training import train

    recipe, call = chosen_recipe(arguments), Invocation.of(arguments)
    name = f"{recipe.name}-{recipe.weighter.name}-seed{recipe.seed}"
    out = Path(arguments.out) if arguments.out else inside(RUNS, name, "the run")
    if arguments.dry_run:
        from towpath.cli.dry_run import show_run
        from towpath.training.loggers import make_loggers

        make_loggers(arguments.loggers)  # refuses those that training would refuse
        show_run(console, out, recipe, call, arguments.json)
        return
    with (
        reporting(console, out, arguments.loggers) as reporter,
        launched(recipe.device) as ranks,
    ):
        summary = train(
            out,
            recipe,
            reporter,
            data_root=call.data_root,
            allowed=call.allowed,
            command=call.command,
            ranks=ranks,
        )
    say(console, f"The run is in {out}")
    if arguments.json:
        print_json({"folder": str(out), **summary.as_json()})
