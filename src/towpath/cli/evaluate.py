"""`towpath evaluate`: a trained learner on fixed test tasks."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from towpath.cli.arguments import Invocation, add_force, add_sources
from towpath.cli.output import add_json, print_json
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.files import Output
from towpath.wording import nearest, say

SHAPE_OF_TASKS = ("ways", "shots", "query", "within_group")
"""fields of `episodes` that test tasks may have otherwise than training had"""

if TYPE_CHECKING:
    from towpath.recipes.recipe import Recipe
    from towpath.runs.confusion import Confusion
    from towpath.runs.scores import Score
    from towpath.training.deploy import TrainedLearner
    from towpath.training.setup import Setup

SHOWN = 5
"""classes, and pairs of classes, that are shown of each test set"""


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "evaluate",
        "Scores of a run on fixed test tasks, with 95% intervals. --episodes.shots and the like "
        "test on other tasks than those it was trained for.",
        "towpath evaluate runs/quick-tow-seed0 --tasks 100 --episodes.shots 3",
        run,
    )
    parser.add_argument("folder", metavar="RUN")
    parser.add_argument(
        "--tasks", type=int, default=600, metavar="N", help="how many tasks of each test set"
    )
    parser.add_argument(
        "--classes", metavar="FILE", help="write a CSV file of which classes are taken for which"
    )
    add_force(parser, "a CSV file that exists")
    add_sources(parser)
    add_json(parser)
    parser.set_defaults(takes_overrides=tuple(f"episodes.{name}" for name in SHAPE_OF_TASKS))


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Evaluate the chosen parameters of a run on its test sets and show a table."""
    from towpath.runs.folder import RunFolder
    from towpath.training import load
    from towpath.training.same_data import check_data, require_in_place
    from towpath.training.setup import prepare
    from towpath.training.threads import one_thread_a_task

    path, tasks, call = Path(arguments.folder), arguments.tasks, Invocation.of(arguments)
    if tasks < 2:
        raise UsageError(f"--tasks is {tasks}; expected at least 2 (an interval needs two).")
    output = None
    if arguments.classes is not None:
        output = Output(Path(arguments.classes), arguments.force, option="--classes")
        output.check()
    trained = load(path, call.allowed)
    recipe = _with_tasks(trained.recipe, arguments.overrides, arguments.known_options)
    recipe = replace(recipe, validation=replace(recipe.validation, every=0))
    require_in_place(RunFolder.open(path), recipe)
    setup = prepare(replace(recipe, probes=[]), call.data_root, call.allowed)
    check_data(RunFolder.open(path), setup)
    _check_outputs(trained, setup)
    with one_thread_a_task():  # as at the end of the run
        scores = _scores(trained, setup, tasks)
    confusions = {n: score.confusion for n, score in scores.items() if score.confusion is not None}
    if output is not None:
        _write_classes(confusions, output)
    policy = getattr(setup.learner.model, "norm_policy", "not stated")
    if arguments.json:
        shape = recipe.as_mapping()["episodes"]
        print_json(
            {
                "run": str(path),
                "step": trained.step,
                "tasks": tasks,
                "episodes": {name: shape[name] for name in SHAPE_OF_TASKS},
                "normalisation": policy,
                "test": {name: score.summary().as_json() for name, score in scores.items()},
            }
        )
        return
    changed = "".join(f", {name} {word}" for name, word in arguments.overrides)
    title = f"{path}, parameters of step {trained.step}{changed}"
    console.print(_table(title, scores, tasks))
    for name, confusion in confusions.items():
        _show_classes(name, confusion, console)
    if output is not None:
        say(console, f"the classes are in {output.path}")
    say(console, f"normalisation: {policy}")


def _with_tasks(
    recipe: "Recipe", overrides: Sequence[tuple[str, str]], options: Sequence[str]
) -> "Recipe":
    """Return the recipe with other test tasks, as `--episodes.NAME VALUE` gives them.

    Args:
        recipe: the recipe of the run.
        overrides: names and values from the command line.
        options: what else the command takes, for a hint at a mistyped one.
    """
    from towpath.recipes.reading import overridden
    from towpath.recipes.recipe import Recipe
    from towpath.recipes.typed import plain_value

    mapping = recipe.as_mapping()
    known = [f"--episodes.{name}" for name in SHAPE_OF_TASKS]
    for dotted, word in overrides:
        if f"--{dotted}" not in known:
            raise UsageError(
                f"towpath evaluate found --{dotted}; expected one of {', '.join(known)}: test "
                "tasks have right labels, and the rest of the recipe is that of the run."
                f"{nearest(f'--{dotted}', [*options, *known])}"
            )
        mapping = dict(overridden(mapping, dotted, plain_value(word)))
    return Recipe.of(mapping)


def _check_outputs(trained: "TrainedLearner", setup: "Setup") -> None:
    """Refuse other ways than the network's head was trained for."""
    from towpath.learners import LEARNERS

    shapes = {name: p.shape for name, p in setup.start.params.items()}
    if shapes != {name: p.shape for name, p in trained.params.items()}:
        was, ways = trained.recipe.episodes.ways, setup.recipe.episodes.ways
        headless = ", ".join(name for name, kind in LEARNERS.items() if kind.wants_embedding)
        raise UsageError(
            f"--episodes.ways is {ways}, and the head of the network was trained for {was} "
            f"classes; expected {was}. Only learners without such a head take tasks of other ways: "
            f"{headless}."
        )


def _scores(trained: "TrainedLearner", setup: "Setup", tasks: int) -> "dict[str, Score]":
    """Evaluate the trained parameters on the first tasks of each test set."""
    from towpath.training import evaluate
    from towpath.training.evaluation import evaluation_mode

    params = {name: p.to(setup.device) for name, p in trained.params.items()}
    with evaluation_mode(setup.learner.module):
        return {
            name: evaluate(
                setup.objective, params, setup.test_tasks(name, tasks), main=setup.metric
            )
            for name in setup.tests
        }


def _table(title: str, scores: "dict[str, Score]", tasks: int) -> Table:
    """Return the table of all metrics of each test set."""
    from towpath.cli.figure_text import figure, left_out

    table = Table(title=title, title_justify="left")
    for column in ("test set", "result", "worst tenth", "tasks"):
        table.add_column(column)
    for name, score in scores.items():
        for metric in (score.metric, *score.others):
            one = score.of(metric)
            result = figure(one.mean, one.interval, metric, named=bool(score.others))
            counted = f"{tasks}{left_out(one.left_out, metric)}"
            table.add_row(name, result, metric.text(one.worst_tenth), counted)
    return table


def _show_classes(test: str, one: "Confusion", console: Console) -> None:
    """Say which classes are hardest, and which are taken for others most often."""
    hardest = [f"{name} {100 * one.accuracy(name):.0f}%" for name in one.worst()[:SHOWN]]
    say(console, f"hardest classes of {test}: {', '.join(hardest)}")
    pairs = [
        f"{pair.true} for {pair.predicted} {100 * pair.count.share:.0f}% "
        f"({pair.count.taken} of {pair.count.met})"
        for pair in one.confused()[:SHOWN]
    ]
    if pairs:
        say(console, f"most often taken: {', '.join(pairs)}")


def _write_classes(confusions: "dict[str, Confusion]", output: Output) -> None:
    """Write the CSV file of all test sets; raise UsageError if none has classes."""
    from towpath.runs.confusion_csv import confusion_csv

    if not confusions:
        raise UsageError(
            "--classes asks for classes, and the test tasks of the run have none of their own; "
            "expected a run on classes of images or features. Leave --classes out."
        )
    output.write(confusion_csv(confusions))
