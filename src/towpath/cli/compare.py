"""`towpath compare`: several weighters on the same tasks, with paired differences."""

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from towpath.cli.arguments import (
    Invocation,
    add_dry_run,
    add_engine,
    add_recipe,
    add_seeds,
    chosen_engine,
    chosen_recipe,
    chosen_seeds,
)
from towpath.cli.output import add_json, add_quiet, print_json
from towpath.cli.parser import Commands, add_command
from towpath.cli.train import RUNS
from towpath.files import inside
from towpath.wording import say

if TYPE_CHECKING:
    from towpath.grid.choice import EngineChoice
    from towpath.recipes.recipe import Recipe
    from towpath.runs.comparison import Comparison
    from towpath.runs.comparison_spec import ComparisonSpec


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "compare",
        "Train with several weighters on the same tasks and compare them pairwise.",
        "towpath compare quick --weighters uniform,tow:beta=1.0 --seeds 0,1",
        run,
    )
    add_recipe(parser)
    parser.add_argument(
        "--weighters",
        metavar="A,B",
        help="names, all, or referee: what a referee will ask for (default: the recipe's)",
    )
    add_seeds(parser)
    add_engine(parser)
    add_dry_run(parser)
    add_quiet(parser)
    add_json(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Compare the weighters that the command line or the recipe names, in a new folder."""
    from towpath.weighters.sets import expanded

    recipe = chosen_recipe(arguments)
    names = arguments.weighters.split(",") if arguments.weighters else recipe.compare
    weighters = expanded(
        [name for name in names if name.strip()],
        trusted=recipe.trusted.count > 0,
        mislabelled=recipe.episodes.label_noise > 0 or bool(recipe.data.options.get("mix")),
    )
    name = f"{recipe.name}-comparison"
    out = Path(arguments.out) if arguments.out else inside(RUNS, name, "the comparison")
    seeds, engine = chosen_seeds(arguments), chosen_engine(arguments)
    call = Invocation.of(arguments)
    if arguments.dry_run:
        from towpath.cli.dry_run import show_comparison
        from towpath.runs.comparison_spec import ComparisonSpec

        would_be = ComparisonSpec.new(out, recipe, weighters, seeds)
        show_comparison(console, would_be, call, arguments.json, engine.jobs or 1)
        return
    spec = begin_comparing(out, recipe, weighters, seeds, engine, call)
    result = go_on_comparing(console, spec, engine, call)
    if arguments.json:
        print_json({"folder": str(out), **result.as_json()})


def begin_comparing(
    out: Path,
    recipe: "Recipe",
    weighters: Sequence[str],
    seeds: Sequence[int],
    engine: "EngineChoice",
    call: Invocation,
) -> "ComparisonSpec":
    """Begin a comparison in a new folder, without running anything; return its description.

    Args:
        out: the comparison's folder.
        recipe: the recipe that all runs share, but for weighter and seed.
        weighters: the weighters as spelt on the command line, such as `tow:beta=1.0`.
        seeds: the seeds that each weighter is run with.
        engine: the engine that will run the runs.
        call: how the command was called.
    """
    from towpath.grid.compare import begin_comparison
    from towpath.grid.on_ray import require_ray

    if engine.engine == "ray":
        require_ray()
    return begin_comparison(
        out, recipe, weighters, seeds, data_root=call.data_root, allowed=call.allowed
    )


def go_on_comparing(
    console: Console, spec: "ComparisonSpec", engine: "EngineChoice", call: Invocation
) -> "Comparison":
    """Run what is missing of a comparison, show its table, draw its figures and return it.

    Args:
        console: where progress and the table are shown.
        spec: what is compared, and in which folder.
        engine: the engine that runs the runs.
        call: how the command was called.
    """
    from towpath.cli.reporting import reporting
    from towpath.cli.watching import ConsoleWatcher
    from towpath.grid.compare import ComparisonIncompleteError, run_comparison
    from towpath.reports import comparison_table, metrics_table, write_figures

    out, watcher = spec.path, ConsoleWatcher(console)
    incomplete: ComparisonIncompleteError | None = None
    try:
        with reporting(console, out) as reporter:
            result = run_comparison(
                spec,
                reporter,
                data_root=_lasting_data_root(call),
                allowed=call.allowed,
                command=call.command,
                engine=engine.made(reporter, watcher),
            )
    except ComparisonIncompleteError as error:
        result, incomplete = error.result, error
    finally:
        watcher.close()
    console.print(comparison_table(result))
    if (others := metrics_table(result)) is not None:
        console.print(others)
    for path in write_figures(out, result):
        say(console, f"  {path}")
    if incomplete is not None:
        raise incomplete
    say(console, f"The comparison is in {out}")
    if (advice := result.advice) is not None:
        say(console, f"Advice: {advice.sentence()}")
    return result


def _lasting_data_root(call: Invocation) -> str | None:
    """Return the data folder as a path for machines without our environment variables."""
    from towpath.data.locations import DATA_VARIABLE

    return call.data_root or os.environ.get(DATA_VARIABLE)
