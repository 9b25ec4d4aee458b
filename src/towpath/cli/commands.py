"""The functions behind `towpath train`, `compare`, `resume`, `evaluate`, `report` and the like.

Each takes plain arguments and a rich console; wrong input is raised as a ValueError whose text is
one sentence for the user.
"""

import csv
import io
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from towpath.cli.board import BoardReporter, require_tensorboard
from towpath.cli.progress import ConsoleReporter, ConsoleWatcher, duration, figure
from towpath.data import Episode
from towpath.data.images import decode, is_image_name
from towpath.data.locations import DATA_VARIABLE
from towpath.data.source import LARGEST_IMAGE
from towpath.distributed.ranks import LostRankError, launched, launched_size, ranks_of_this_machine
from towpath.distributed.stopping import Terminated, ranks_ended
from towpath.files import Output, read_bytes
from towpath.grid.choice import Grid
from towpath.grid.compare import asked_for, run_name
from towpath.grid.on_ray import require_ray
from towpath.machine import available_cores
from towpath.recipes import shipped_recipes
from towpath.recipes.components import EMBEDDING_LEARNERS
from towpath.recipes.reading import read_recipe, recipe_text
from towpath.reports import (
    audit,
    audit_table,
    comparison_table,
    write_figures,
    write_report,
    write_sample_tasks,
)
from towpath.runs.folder import plain_json
from towpath.training import (
    ComparisonIncompleteError,
    Recipe,
    RecipeError,
    Reporter,
    RunFolder,
    begin_comparison,
    evaluate,
    is_comparison,
    load,
    resume,
    run_comparison,
    train,
)
from towpath.training.estimate import estimate
from towpath.training.loop import check_data, one_thread_a_task
from towpath.training.setup import prepare
from towpath.wording import say, spreadsheet_cell

INK_IS_ONE = ("glyphs", "omniglot")
"""sets of dark strokes on a light ground, stored with ink = 1"""


@dataclass(frozen=True)
class Common:
    """What every command that trains takes."""

    data_root: str | None = None
    allowed: Collection[str] = ()
    command: str = ""
    tensorboard: bool = False
    grid: Grid | None = None


@contextmanager
def _reporting(console: Console, out: Path, board: bool = False) -> Iterator[Reporter]:
    """Progress on the console, closed whatever happens; a run that is stopped says how to go on."""
    shown = ConsoleReporter(console)
    reporter: ConsoleReporter | BoardReporter = shown
    if board:
        require_tensorboard()
        reporter = BoardReporter(shown, out)
    try:
        yield reporter
    except LostRankError as error:
        raise LostRankError(f"{error}, then go on with: {_resuming(out)}") from error
    except Terminated:
        if launched_size() > 1:
            raise Terminated(f"{ranks_ended()}, then go on with: {_resuming(out)}") from None
        if not out.exists():
            raise
        raise Terminated(f"Stopped by SIGTERM; go on with: {_resuming(out)}") from None
    except KeyboardInterrupt:
        if not out.exists():
            raise
        raise KeyboardInterrupt(f"Interrupted; go on with: {_resuming(out)}") from None
    finally:
        shown.close()
        reporter.close()


def _resuming(out: Path) -> str:
    """The command that goes on with a run, in as many processes as now."""
    if launched_size() == 1:
        return f"towpath resume {out}"
    here = ranks_of_this_machine()
    return f"torchrun --nproc-per-node {here} -m towpath resume {out}"


def train_recipe(console: Console, recipe: Recipe, out: Path, common: Common) -> None:
    """`towpath train`."""
    with _reporting(console, out, common.tensorboard) as reporter, launched(recipe.device) as ranks:
        train(
            out,
            recipe,
            reporter,
            data_root=common.data_root,
            allowed=common.allowed,
            command=common.command,
            ranks=ranks,
        )
    say(console, f"The run is in {out}")


def compare_weighters(
    console: Console,
    recipe: Recipe,
    weighters: Sequence[str],
    seeds: Sequence[int],
    out: Path,
    common: Common,
) -> None:
    """`towpath compare`."""
    if common.grid is not None and common.grid.engine == "ray":
        require_ray()
    begin_comparison(
        out, recipe, weighters, seeds, data_root=common.data_root, allowed=common.allowed
    )
    go_on_comparing(console, out, common)


def go_on_comparing(console: Console, out: Path, common: Common) -> None:
    """Run what is missing of a comparison, then its table and figures."""
    watcher = ConsoleWatcher(console)
    incomplete: ComparisonIncompleteError | None = None
    try:
        with _reporting(console, out) as reporter:
            result = run_comparison(
                out,
                reporter,
                data_root=_lasting_data_root(common),
                allowed=common.allowed,
                command=common.command,
                engine=(common.grid or Grid()).made(reporter, watcher),
            )
    except ComparisonIncompleteError as error:
        result, incomplete = error.result, error
    finally:
        watcher.close()
    console.print(comparison_table(result))
    for path in write_figures(out, result):
        say(console, f"  {path}")
    if incomplete is not None:
        raise incomplete
    say(console, f"The comparison is in {out}")


def _lasting_data_root(common: Common) -> str | None:
    """The data folder also for runs on machines that do not have our environment."""
    return common.data_root or os.environ.get(DATA_VARIABLE)


def resume_run(console: Console, path: Path, common: Common) -> None:
    """`towpath resume`, of a run or of a comparison."""
    if is_comparison(path):
        one_process("resume of a comparison")
        if common.tensorboard:
            raise RecipeError(
                f"--tensorboard found the comparison {path}; expected a single run. Leave it out: "
                "the comparison's curves are drawn as pictures."
            )
        go_on_comparing(console, path, common)
        return
    if common.grid is not None and common.grid != Grid():
        raise RecipeError(
            f"--jobs and --engine found the run {path}; expected a comparison, which has several. "
            "Leave them out."
        )
    folder = RunFolder.open(path)
    if folder.finished:
        say(console, f"{path} is finished already.")
        return
    device = folder.config()[0].device
    with _reporting(console, path, common.tensorboard) as reporter, launched(device) as ranks:
        resume(path, reporter, data_root=common.data_root, allowed=common.allowed, ranks=ranks)
    say(console, f"The run is in {path}")


def one_process(what: str) -> None:
    """UsageError-like refusal of torchrun for what does not share its tasks over ranks."""
    if launched_size() > 1:
        raise RecipeError(
            f"{what} found {launched_size()} processes of torchrun; expected one: only train, and "
            "resume of a run, share their tasks over ranks. Start it without torchrun (compare "
            "takes --jobs N)."
        )


def report_runs(
    console: Console, folders: Sequence[Path], out: Path, of_paper: bool, force: bool = False
) -> None:
    """`towpath report`: one page, and what is missing in it."""
    for line in write_report(folders, out, of_paper=of_paper, force=force):
        say(console, line)
    say(console, f"The report is in {out}")


def evaluate_run(console: Console, path: Path, tasks: int, common: Common) -> None:
    """`towpath evaluate`: the trained learner on fixed test tasks."""
    if tasks < 2:
        raise RecipeError(f"--tasks is {tasks}; expected at least 2 (an interval needs two).")
    trained = load(path, common.allowed)
    recipe = replace(trained.recipe, validation=replace(trained.recipe.validation, every=0))
    setup = prepare(replace(recipe, probes=[]), common.data_root, common.allowed)
    check_data(RunFolder.open(path), setup)
    setup.learner.module.eval()
    params = {name: p.to(setup.device) for name, p in trained.params.items()}
    table = Table(title=f"{path}, parameters of step {trained.step}", title_justify="left")
    for column in ("test set", "result", "worst tenth", "tasks"):
        table.add_column(column)
    for name in setup.tests:
        score = evaluate(setup.objective, params, setup.test_tasks(name, tasks))
        worst = f"{100 * score.worst_tenth:.1f}%"
        table.add_row(name, figure(score), worst, str(tasks))
    console.print(table)
    policy = getattr(setup.learner.model, "norm_policy", "not stated")
    say(console, f"normalisation: {policy}")


def predict_folder(
    console: Console, run: Path, support: Path, query: Path, output: Output, common: Common
) -> None:
    """`towpath predict`: a csv of class probabilities for every image of a folder."""
    output.check()
    trained = load(run, common.allowed)
    classes = sorted(p for p in _listed(support) if p.is_dir() and not p.name.startswith("."))
    if not classes:
        raise RecipeError(
            f"{support} has no folders; expected one folder of images for each class, named after "
            "the class."
        )
    ways = trained.recipe.episodes.ways
    has_head = trained.recipe.learner["name"] not in EMBEDDING_LEARNERS
    if has_head and len(classes) != ways:
        raise RecipeError(
            f"{support} has {len(classes)} classes; expected {ways}, the ways that this run's "
            f"{trained.recipe.learner['name']} was trained with. A protonet takes any number."
        )
    images, labels = [], []
    for label, folder in enumerate(classes):
        files = _images(folder)
        if not files:
            raise RecipeError(f"{folder} has no images; expected at least one for its class.")
        images += [_image(file, trained.channels, trained.image_size) for file in files]
        labels += [label] * len(files)
    files = _images(query)
    if not files:
        raise RecipeError(f"{query} has no images; expected the images to be classified.")
    queries = [_image(file, trained.channels, trained.image_size) for file in files]
    inks = trained.recipe.data["name"] in INK_IS_ONE
    support_x, query_x = _as_trained(images, inks), _as_trained(queries, inks)
    probabilities = trained.adapt(support_x, torch.tensor(labels)).predict(query_x)
    names = [folder.name for folder in classes]
    text = io.StringIO()
    writer = csv.writer(text)
    cells = [spreadsheet_cell(name) for name in names]
    writer.writerow(["file", "predicted", *cells])
    for file, row in zip(files, probabilities.tolist(), strict=True):
        chosen = cells[int(np.argmax(row))]
        writer.writerow([spreadsheet_cell(file.name), chosen, *(f"{p:.6f}" for p in row)])
    output.write(text.getvalue().encode("utf-8", "surrogateescape"))  # names as the disk has them
    say(console, f"{len(files)} predictions over {len(names)} classes are in {output.path}")


def _listed(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise RecipeError(f"{folder} is not a folder; expected one. Check the path.")
    return list(folder.iterdir())


def _images(folder: Path) -> list[Path]:
    return [p for p in sorted(_listed(folder)) if is_image_name(p.name) and p.is_file()]


def _image(path: Path, channels: int, size: int) -> Tensor:
    pixels = decode(read_bytes(path, LARGEST_IMAGE), str(path), (size, size), channels)
    return torch.from_numpy(pixels.copy()).float() / 255


def _as_trained(images: list[Tensor], ink_is_one: bool) -> Tensor:
    """Stacked, and turned to ink = 1 where the run was trained so and the paper is light."""
    stack = torch.stack(images)
    return 1 - stack if ink_is_one and float(stack.mean()) > 0.5 else stack


def audit_run(console: Console, path: Path, last: int, rows: int, common: Common) -> None:
    """`towpath audit`: the training tasks that the plan trusted least, as a table and a picture."""
    if last < 1 or rows < 1:
        raise RecipeError(f"--last is {last} and --rows {rows}; expected at least 1 each.")
    folder = RunFolder.open(path)
    result = audit(folder.records(), last)
    if result is None:
        raise RecipeError(
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
    sampler = prepare(recipe, common.data_root, common.allowed).windows.sampler
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


def bench_recipe(console: Console, recipe: Recipe, common: Common) -> None:
    """`towpath bench`: what a run of the recipe will cost on this machine."""
    with one_thread_a_task():
        cost = estimate(prepare(recipe, common.data_root, common.allowed))
    say(
        console,
        f"{recipe.name} with {recipe.weighter['name']}: {cost.seconds_per_step:.2f} s a step, "
        f"{cost.overhead:.1f} times uniform ({cost.uniform_seconds_per_step:.2f} s)",
    )
    say(
        console,
        f"expected for {recipe.training.steps} steps: {duration(cost.training_seconds)} of "
        f"training and {duration(cost.evaluation_seconds)} of validation and test; peak memory "
        f"{cost.peak_bytes / 2**30:.1f} GiB, of which a plan's own {cost.plan_bytes / 2**20:.0f} "
        "MiB",
    )


def list_recipes(console: Console) -> None:
    """`towpath recipes list`."""
    table = Table(title="Recipes", title_justify="left")
    for column in ("name", "what it is", "reproduces"):
        table.add_column(column)
    for name in shipped_recipes():
        recipe = read_recipe(name)
        first = recipe.about.partition(". ")[0]  # the rest is what the paper leaves open
        table.add_row(name, first, recipe.reproduces or "-")
    console.print(table)


def show_recipe(console: Console, name: str) -> None:
    """`towpath recipes show`: the YAML as it is."""
    console.out(recipe_text(name), highlight=False, end="")


def copy_recipe(console: Console, name: str, output: Output) -> None:
    """`towpath recipes copy`: a file to edit."""
    output.write(recipe_text(name).encode())
    say(console, f"Copied to {output.path}; run it with: towpath train {output.path}")


def demo(console: Console, out: Path, seeds: Sequence[int], budget: str, common: Common) -> None:
    """`towpath demo`: the main job on the built-in data, with something to look at."""
    recipe = read_recipe("demo", budget=budget)
    say(console, recipe.about)
    if common.grid is None:  # small tasks: a process a core beats two threads in one
        common = replace(common, grid=Grid(jobs=available_cores()))
    if is_comparison(out):
        _refuse_another(out, recipe, seeds)
        go_on_comparing(console, out, common)
    else:
        compare_weighters(console, recipe, recipe.compare, seeds, out, common)
    say(console, f"  {_demo_tasks(out, common)}")
    page = out / "report.html"
    write_report([out], page, force=True)  # the folder is ours
    say(console, f"Open this in a browser: {page}")


def _refuse_another(out: Path, recipe: Recipe, seeds: Sequence[int]) -> None:
    """RecipeError if the folder holds another comparison than this demo's."""
    found, contestants, found_seeds = asked_for(out)
    labels = [contestant.label for contestant in contestants]
    same = plain_json(found.as_mapping()) == plain_json(recipe.as_mapping())
    if not same or labels != list(recipe.compare) or list(found_seeds) != list(seeds):
        raise RecipeError(
            f"{out} holds the comparison {found.name} of {', '.join(labels)} with seeds "
            f"{list(found_seeds)} and {found.training.steps} steps; expected this demo's, or a new "
            "folder. Choose another --out, or delete it."
        )


def _demo_tasks(out: Path, common: Common) -> Path:
    """The last mini-batch that tow-targets weighed with the first seed, as pictures."""
    recipe, _, seeds = asked_for(out)
    seed = seeds[0]
    folder = RunFolder(out / run_name("tow-targets", seed))
    last = [r for r in folder.records() if "weights" in r and "probe" not in r][-1]
    setup = prepare(replace(recipe, seed=seed), common.data_root)
    # the mini-batch's own tasks; those after them are trusted ones of another stream
    own = last["tasks"][: recipe.training.meta_batch_size]
    episodes: list[Episode] = [setup.windows.sampler.episode(task["index"]) for task in own]
    order = np.argsort(last["weights"][: len(own)])
    picks = [*order[:4], *order[-4:]]
    return write_sample_tasks(
        out / "tasks.png",
        [episodes[i] for i in picks],
        [last["weights"][i] for i in picks],
        f"What tow-targets trusted least (top) and most (bottom) at step {last['step']}: "
        "support | query with its labels",
    )
