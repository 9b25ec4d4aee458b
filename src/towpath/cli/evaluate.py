"""`towpath evaluate`: a trained learner on fixed test tasks."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from towpath.cli.arguments import Invocation, add_force, add_sources
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.files import Output
from towpath.wording import say

if TYPE_CHECKING:
    from towpath.runs.confusion import Confusion

SHOWN = 5
"""classes, and pairs of classes, that are shown of each test set"""


def add(commands: Commands) -> None:
    """Add this command and its arguments to the command line."""
    parser = add_command(
        commands,
        "evaluate",
        "Scores of a run on fixed test tasks, with 95% intervals.",
        "towpath evaluate runs/quick-tow-seed0 --tasks 100",
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


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Evaluate the chosen parameters of a run on its test sets and show a table."""
    from towpath.cli.figure_text import figure, left_out
    from towpath.runs.folder import RunFolder
    from towpath.training import evaluate, load
    from towpath.training.judging import evaluation_mode
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
    recipe = replace(trained.recipe, validation=replace(trained.recipe.validation, every=0))
    require_in_place(RunFolder.open(path), recipe)
    setup = prepare(replace(recipe, probes=[]), call.data_root, call.allowed)
    check_data(RunFolder.open(path), setup)
    params = {name: p.to(setup.device) for name, p in trained.params.items()}
    table = Table(title=f"{path}, parameters of step {trained.step}", title_justify="left")
    for column in ("test set", "result", "worst tenth", "tasks"):
        table.add_column(column)
    main = setup.metric
    confusions: dict[str, Confusion] = {}
    with one_thread_a_task(), evaluation_mode(setup.learner.module):  # as at the end of the run
        for name in setup.tests:
            score = evaluate(setup.objective, params, setup.test_tasks(name, tasks), main=main)
            if score.confusion is not None:
                confusions[name] = score.confusion
            for metric in (score.metric, *score.others):
                one = score.of(metric)
                result = figure(one.mean, one.interval, metric, named=bool(score.others))
                counted = f"{tasks}{left_out(one.left_out, metric)}"
                table.add_row(name, result, metric.text(one.worst_tenth), counted)
    console.print(table)
    for name, confusion in confusions.items():
        _show_classes(name, confusion, console)
    if output is not None:
        _write_classes(confusions, output, console)
    policy = getattr(setup.learner.model, "norm_policy", "not stated")
    say(console, f"normalisation: {policy}")


def _show_classes(test: str, one: "Confusion", console: Console) -> None:
    """Say which classes are hardest, and which are taken for others most often."""
    hardest = [f"{name} {100 * one.accuracy(name):.0f}%" for name in one.worst()[:SHOWN]]
    say(console, f"hardest classes of {test}: {', '.join(hardest)}")
    pairs = [
        f"{pair.true} for {pair.predicted} {100 * pair.count.share:.0f}%"
        for pair in one.confused()[:SHOWN]
    ]
    if pairs:
        say(console, f"most often taken: {', '.join(pairs)}")


def _write_classes(confusions: "dict[str, Confusion]", output: Output, console: Console) -> None:
    """Write the CSV file of all test sets; raise UsageError if none has classes."""
    from towpath.runs.confusion_csv import confusion_csv

    if not confusions:
        raise UsageError(
            "--classes asks for classes, and the test tasks of the run have none of their own; "
            "expected a run on classes of images or features. Leave --classes out."
        )
    output.write(confusion_csv(confusions))
    say(console, f"the classes are in {output.path}")
