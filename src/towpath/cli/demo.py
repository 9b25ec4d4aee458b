"""`towpath demo`: six weighters on built-in data with wrong labels, with pictures to look at."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from towpath.cli.arguments import Invocation, add_seeds, chosen_seeds
from towpath.cli.compare import begin_comparing, go_on_comparing
from towpath.cli.output import add_quiet
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.machine import available_cores
from towpath.wording import say

if TYPE_CHECKING:
    from towpath.recipes.recipe import Recipe
    from towpath.runs.comparison_spec import ComparisonSpec


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "demo",
        "Six weighters on built-in synthetic data with wrong labels, in a few minutes.",
        "towpath demo",
        run,
    )
    parser.add_argument(
        "--out", metavar="FOLDER", default="towpath-demo", help="the folder for runs and report"
    )
    add_seeds(parser)
    parser.add_argument("--budget", default="full", help="full or small")
    add_quiet(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Run or resume the comparison of the demo's weighters, and write a report on it."""
    from towpath.grid.choice import EngineChoice
    from towpath.recipes.reading import read_recipe
    from towpath.reports import write_report
    from towpath.runs.comparison_spec import ComparisonSpec, is_comparison

    seeds = chosen_seeds(arguments)
    if not seeds:
        raise UsageError("--seeds is empty; expected whole numbers, as in 0,1,2")
    out, call = Path(arguments.out), Invocation.of(arguments)
    recipe = read_recipe("demo", budget=arguments.budget)
    say(console, recipe.about)
    # small tasks: a process a core beats two threads in one
    engine = EngineChoice(jobs=available_cores())
    if is_comparison(out):
        spec = ComparisonSpec.read(out)
        _refuse_another(spec, recipe, seeds)
    else:
        spec = begin_comparing(out, recipe, recipe.compare, seeds, engine, call)
    go_on_comparing(console, spec, engine, call)
    say(console, f"  {_draw_tasks(spec)}")
    page = out / "report.html"
    write_report([out], page, force=True)  # the folder is ours
    say(console, f"Open this in a browser: {page}")


def _refuse_another(spec: "ComparisonSpec", recipe: "Recipe", seeds: Sequence[int]) -> None:
    """Raise UsageError if the folder holds another comparison than this demo's."""
    from towpath.runs.plain import plain_json

    found, labels = spec.recipe, spec.labels
    same = plain_json(found.as_mapping()) == plain_json(recipe.as_mapping())
    if not same or labels != list(recipe.compare) or list(spec.seeds) != list(seeds):
        raise UsageError(
            f"{spec.path} holds the comparison {found.name} of {', '.join(labels)} with seeds "
            f"{list(spec.seeds)} and {found.training.steps} steps; expected this demo's, or a new "
            "folder. Choose another --out, or delete it."
        )


def _draw_tasks(spec: "ComparisonSpec") -> Path:
    """Draw the last mini-batch that tow-targets weighted with the first seed."""
    import numpy as np

    from towpath.data import Episode
    from towpath.reports import write_sample_tasks
    from towpath.runs.judged import judged
    from towpath.runs.records import StepRecord
    from towpath.training.setup import prepare

    weighed = next(one for one in spec.contestants if one.label == "tow-targets")
    run = spec.run(weighed, spec.seeds[0])
    last = [record for record in run.folder.records() if isinstance(record, StepRecord)][-1]
    setup = prepare(run.recipe)
    # the mini-batch's own tasks; those after them are trusted ones of another stream
    own = list(judged(last))
    episodes: list[Episode] = [setup.windows.sampler.episode(task.index) for task in own]
    order = np.argsort(last.weights[: len(own)])
    picks = [*order[:4], *order[-4:]]
    return write_sample_tasks(
        spec.path / "tasks.png",
        [episodes[i] for i in picks],
        [last.weights[i] for i in picks],
        f"What tow-targets trusted least (top) and most (bottom) at step {last.step}: "
        "support | query with its labels",
    )
