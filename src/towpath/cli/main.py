"""The command line. Every failure is one sentence: 2 the user's input, 130 interrupted, 143 ended
by SIGTERM, 1 else.

A command is an entry of `COMMANDS` that adds its arguments to a parser and names the function to
run; the functions live beside what they work on.
"""

import argparse
import logging
import os
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from towpath.cli import weighters as weighters_command
from towpath.cli.parser import Parser, UsageError, overrides
from towpath.data.errors import DownloadError
from towpath.distributed.stopping import Terminated, exit_code, heeding_sigterm
from towpath.distributed.torchrun import LostRankError, launched_rank
from towpath.files import Output, inside, problem
from towpath.lazy import LazyModule
from towpath.training.allocator import keep_freed_memory
from towpath.training.errors import TrainingStoppedError
from towpath.wording import nearest, one_line

if TYPE_CHECKING:
    from towpath.cli import commands
    from towpath.cli import data as data_commands
    from towpath.recipes import reading as config
    from towpath.training import Recipe, grid
    from towpath.weighters import guide
else:  # they import torch, which `--help` and a mistyped word have no need of
    commands, config = LazyModule("towpath.cli.commands"), LazyModule("towpath.recipes.reading")
    data_commands = LazyModule("towpath.cli.data")
    grid = LazyModule("towpath.grid.choice")
    guide = LazyModule("towpath.weighters.guide")

SHARED = ("train", "resume")
"""commands whose tasks the ranks of torchrun share"""
RUNS = Path("runs")
"""where runs go unless --out says otherwise"""
Run = Callable[[argparse.Namespace, Console], None]


def _add_data(commands: Any) -> None:
    data = commands.add_parser("data", help="list, fetch, verify and preview data sets")
    kinds = data.add_subparsers(dest="data_command", required=True, metavar="COMMAND")

    def add(name: str, text: str, example: str, run: Run) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = kinds.add_parser(
            name, help=text, description=text, epilog=f"example: {example}"
        )
        parser.add_argument(
            "--data-root", metavar="DIR", help="the data folder (default: TOWPATH_DATA)"
        )
        parser.set_defaults(run=run)
        return parser

    add(
        "list",
        "What sets there are, where, under which licence, with how many classes.",
        "towpath data list",
        lambda a, c: data_commands.list_sets(c, a.data_root),
    )
    fetch = add(
        "fetch",
        "Download a set into the data folder.",
        "towpath data fetch omniglot",
        lambda a, c: data_commands.fetch_set(c, a.name, a.data_root),
    )
    fetch.add_argument("name", metavar="NAME")
    verify = add(
        "verify",
        "Compare the counts of a set (default: of all that are there) with what they should be.",
        "towpath data verify glyphs",
        lambda a, c: data_commands.verify_sets(c, a.name, a.data_root),
    )
    verify.add_argument("name", metavar="NAME", nargs="?")
    preview = add(
        "preview",
        "Contact sheets of a set, or of a folder of your own, as PNG files.",
        "towpath data preview glyphs --out sheets",
        lambda a, c: data_commands.preview_set(c, a.name, a.data_root, a.out, a.force),
    )
    preview.add_argument("name", metavar="NAME")
    preview.add_argument("--out", metavar="DIR", help="where to (default: preview-NAME)")
    _add_force(preview, "pictures that are no contact sheets of ours")


def _add_force(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--force", action="store_true", help=f"replace {what}")


def _package(text: str) -> str:
    if not text.isidentifier():
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected the name of a package, as in --allow-import my_package"
        )
    return text


def _common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-root", metavar="DIR", help="the data folder (default: TOWPATH_DATA)"
    )
    parser.add_argument(
        "--allow-import",
        metavar="PACKAGE",
        action="append",
        type=_package,
        default=[],
        help="package that a recipe may name classes of by import path",
    )


def _recipe_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", metavar="RECIPE", help="a shipped name, or a YAML file")
    parser.add_argument("--out", metavar="FOLDER", help="the run folder (default: runs/NAME)")
    _recipe_settings(parser)


def _recipe_settings(parser: argparse.ArgumentParser) -> None:
    _common(parser)
    parser.add_argument("--device", help="cpu, cuda, ...")
    parser.add_argument(
        "--budget", default="full", help="full, or small: the same recipe in minutes"
    )
    parser.set_defaults(takes_overrides=True)


def _add_tensorboard(parser: argparse.ArgumentParser) -> None:
    text = "write scalars to RUN/tensorboard as well (needs the extra)"
    parser.add_argument("--tensorboard", action="store_true", help=text)


def _add_grid(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, metavar="N", help="runs at a time on this machine")
    parser.add_argument(
        "--engine", default="local", metavar="NAME", help="local, or ray (needs the extra)"
    )
    parser.add_argument("--address", metavar="HOST", help="of a Ray cluster (RAY_ADDRESS)")
    parser.add_argument("--cpus-per-run", type=float, metavar="X", help="with ray; default 1")
    parser.add_argument("--gpus-per-run", type=float, metavar="X", help="with ray; default 0")


def _grid(arguments: argparse.Namespace) -> "grid.Grid":
    return grid.Grid(
        arguments.engine,
        arguments.jobs,
        arguments.address,
        arguments.cpus_per_run,
        arguments.gpus_per_run,
    )


def _shared(arguments: argparse.Namespace) -> "commands.Common":
    return commands.Common(
        arguments.data_root,
        tuple(getattr(arguments, "allow_import", ())),
        shlex.join(["towpath", *arguments.argv]),
        getattr(arguments, "tensorboard", False),
        _grid(arguments) if hasattr(arguments, "engine") else None,
    )


def _recipe(arguments: argparse.Namespace) -> "Recipe":
    overrides = [*arguments.overrides]
    for name in ("seed", "device"):
        if getattr(arguments, name, None) is not None:
            overrides.append((name, str(getattr(arguments, name))))
    return config.read_recipe(arguments.recipe, overrides, arguments.budget)


def _numbers(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",") if word.strip()]
    except ValueError as error:
        raise UsageError(f"--seeds is {text!r}; expected whole numbers, as in 0,1,2") from error


def _train(arguments: argparse.Namespace, console: Console) -> None:
    recipe = _recipe(arguments)
    name = f"{recipe.name}-{recipe.weighter['name']}-seed{recipe.seed}"
    out = Path(arguments.out) if arguments.out else inside(RUNS, name, "the run")
    commands.train_recipe(console, recipe, out, _shared(arguments))


def _compare(arguments: argparse.Namespace, console: Console) -> None:
    recipe = _recipe(arguments)
    names = arguments.weighters.split(",") if arguments.weighters else recipe.compare
    weighters = guide.expanded(
        [name for name in names if name.strip()],
        trusted=recipe.trusted.count > 0,
        mislabelled=recipe.episodes.label_noise > 0,
    )
    name = f"{recipe.name}-comparison"
    out = Path(arguments.out) if arguments.out else inside(RUNS, name, "the comparison")
    seeds = _numbers(arguments.seeds)
    commands.compare_weighters(console, recipe, weighters, seeds, out, _shared(arguments))


def _demo(arguments: argparse.Namespace, console: Console) -> None:
    seeds = _numbers(arguments.seeds)
    if not seeds:
        raise UsageError("--seeds is empty; expected whole numbers, as in 0,1,2")
    out = Path(arguments.out)
    commands.demo(console, out, seeds, arguments.budget, _shared(arguments))


def _add_runs(kinds: Any) -> None:
    def add(name: str, text: str, example: str, run: Run) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = kinds.add_parser(
            name, help=text, description=text, epilog=f"example: {example}"
        )
        parser.set_defaults(run=run)
        return parser

    demo = add(
        "demo",
        "Five weighters on built-in synthetic data with wrong labels, in a few minutes.",
        "towpath demo",
        _demo,
    )
    demo.add_argument("--out", metavar="FOLDER", default="towpath-demo")
    demo.add_argument("--seeds", metavar="0,1,2", default="0")
    demo.add_argument("--budget", default="full", help="full or small")
    demo.set_defaults(data_root=None)
    trains = add(
        "train",
        "Train one learner with one weighter. Any field of the recipe may be overridden by its "
        "dotted name.",
        "towpath train quick --weighter.name tow --weighter.beta 1.0",
        _train,
    )
    _recipe_options(trains)
    trains.add_argument("--seed", type=int, metavar="N")
    _add_tensorboard(trains)
    compares = add(
        "compare",
        "Train with several weighters on the same tasks and compare them pairwise.",
        "towpath compare quick --weighters uniform,tow:beta=1.0 --seeds 0,1",
        _compare,
    )
    _recipe_options(compares)
    compares.add_argument(
        "--weighters",
        metavar="A,B",
        help="names, all, or referee: what a referee will ask for (default: the recipe's)",
    )
    compares.add_argument("--seeds", metavar="0,1,2", default="0")
    _add_grid(compares)
    resumes = add(
        "resume",
        "Go on with a run or a comparison that was stopped.",
        "towpath resume runs/quick-comparison",
        lambda a, c: commands.resume_run(c, Path(a.folder), _shared(a)),
    )
    resumes.add_argument("folder", metavar="RUN")
    _add_grid(resumes)
    _add_tensorboard(resumes)
    _common(resumes)
    reports = add(
        "report",
        "One self-contained HTML page of runs and comparisons, finished or not.",
        "towpath report runs/quick-comparison --out report.html",
        lambda a, c: commands.report_runs(
            c, [Path(f) for f in a.folders], Path(a.out), a.paper, a.force
        ),
    )
    reports.add_argument("folders", metavar="RUN", nargs="+", help="run or comparison folders")
    reports.add_argument("--out", metavar="FILE", default="report.html")
    reports.add_argument(
        "--paper", action="store_true", help="the paper's own figures and tables, from its recipes"
    )
    _add_force(reports, "a file that is no report of ours")
    evaluates = add(
        "evaluate",
        "Accuracy of a run on fixed test tasks, with a 95% interval.",
        "towpath evaluate runs/quick-tow-seed0 --tasks 100",
        lambda a, c: commands.evaluate_run(c, Path(a.folder), a.tasks, _shared(a)),
    )
    evaluates.add_argument("folder", metavar="RUN")
    evaluates.add_argument("--tasks", type=int, default=600, metavar="N")
    _common(evaluates)
    benches = add(
        "bench",
        "What a run of a recipe will cost on this machine, from one short measurement.",
        "towpath bench --recipe quick --weighter.name tow",
        lambda a, c: commands.bench_recipe(c, _recipe(a), _shared(a)),
    )
    benches.add_argument(
        "--recipe", metavar="RECIPE", default="demo", help="a shipped name, or a YAML file"
    )
    _recipe_settings(benches)
    audits = add(
        "audit",
        "The training tasks that a run's weights trusted least, as a table and a picture.",
        "towpath audit runs/quick-tow-seed0",
        lambda a, c: commands.audit_run(c, Path(a.folder), a.last, a.rows, _shared(a)),
    )
    audits.add_argument("folder", metavar="RUN")
    audits.add_argument("--last", type=int, default=100, metavar="N", help="steps to look back")
    audits.add_argument("--rows", type=int, default=15, metavar="N", help="tasks to list")
    _common(audits)
    predicts = add(
        "predict",
        "Classify the images of a folder after adapting to a folder of examples.",
        "towpath predict runs/quick-tow-seed0 --support examples --query new-images",
        lambda a, c: commands.predict_folder(
            c,
            Path(a.folder),
            Path(a.support),
            Path(a.query),
            Output(Path(a.out), a.force),
            _shared(a),
        ),
    )
    predicts.add_argument("folder", metavar="RUN")
    predicts.add_argument("--support", required=True, metavar="DIR", help="one folder a class")
    predicts.add_argument("--query", required=True, metavar="DIR", help="images to classify")
    predicts.add_argument("--out", default="predictions.csv", metavar="FILE")
    _add_force(predicts, "a file that exists")
    _common(predicts)


def _add_recipes(kinds: Any) -> None:
    recipes = kinds.add_parser("recipes", help="list, show and copy the shipped recipes")
    actions = recipes.add_subparsers(dest="recipes_command", required=True, metavar="COMMAND")

    def add(name: str, text: str, run: Run) -> argparse.ArgumentParser:
        example = f"towpath recipes {name}" + ("" if name == "list" else " demo")
        parser: argparse.ArgumentParser = actions.add_parser(
            name, help=text, description=text, epilog=f"example: {example}"
        )
        parser.set_defaults(run=run)
        return parser

    add("list", "What recipes there are.", lambda a, c: commands.list_recipes(c))  # noqa: ARG005
    show = add("show", "A recipe's text.", lambda a, c: commands.show_recipe(c, a.recipe))
    copy = add(
        "copy",
        "A recipe as a file of your own.",
        lambda a, c: commands.copy_recipe(
            c, a.recipe, Output(Path(a.out or f"{Path(a.recipe).stem}.yaml"), a.force)
        ),
    )
    for parser in (show, copy):
        parser.add_argument("recipe", metavar="NAME")
    copy.add_argument("--out", metavar="FILE")
    _add_force(copy, "a file that exists")


COMMANDS: tuple[Callable[[Any], None], ...] = (
    _add_runs,
    _add_recipes,
    weighters_command.add,
    _add_data,
)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """Arguments, and `--dotted.name value` pairs where the command takes them."""
    words = list(argv)
    if words[:1] == ["bench"] and words[1:] and not words[1].startswith("-"):
        # `towpath bench RECIPE`; an optional word would swallow the values of overrides
        words.insert(1, "--recipe")
    arguments, rest = _parser().parse_known_args(words)
    arguments.argv = list(argv)
    arguments.overrides = overrides(rest) if getattr(arguments, "takes_overrides", False) else []
    if rest and not getattr(arguments, "takes_overrides", False):
        raise UsageError(
            f"towpath {arguments.command}: {rest[0]!r} is not an argument of it."
            f"{nearest(rest[0], arguments.known_options)} Run `towpath {arguments.command} --help` "
            "to see what it takes."
        )
    return arguments


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="towpath", description="Task weighting by trajectory optimisation.")
    parser.add_argument("--version", action="version", version=f"towpath {version('towpath')}")
    parser.add_argument("--verbose", action="store_true", help="log what happens inside")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for add in COMMANDS:
        add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    _open_closed_streams()
    follower = launched_rank() > 0  # what every rank would say, the first says
    width = None if sys.stdout.isatty() else 120
    # no markup: what users call their files and classes is shown as it is, in tables too
    console = Console(width=width, quiet=follower, markup=False)
    errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False, quiet=follower)
    own_errors = Console(stderr=True, soft_wrap=True, highlight=False, markup=False)
    try:
        with heeding_sigterm():
            arguments = _parse(sys.argv[1:] if argv is None else argv)
            logging.basicConfig(level=logging.INFO if arguments.verbose else logging.WARNING)
            if arguments.command not in SHARED:
                commands.one_process(arguments.command)
            keep_freed_memory()
            arguments.run(arguments, console)
            sys.stdout.flush()  # whoever reads may be gone: now is the time to notice
    except SystemExit as end:  # --help
        return int(end.code or 0)
    except ValueError as error:  # DataError, RecipeError, UsageError and options out of range
        errors.print(one_line(error))
        return 2
    except BrokenPipeError:
        # Whoever read our output (head, less) has seen enough; keep the exit from complaining.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (DownloadError, TrainingStoppedError) as error:
        errors.print(one_line(error))
        return 1
    except OSError as error:
        if error.filename is None:
            errors.print(one_line(error))
            return 1
        errors.print(one_line(problem(error, error.filename)))
        return 2
    except LostRankError as error:
        own_errors.print(one_line(error))
        return 1
    except Terminated as error:
        own_errors.print(one_line(error) or "Stopped by SIGTERM.")
        return exit_code()
    except KeyboardInterrupt as error:
        errors.print(one_line(error) or "Interrupted.")
        return 130
    except Exception as error:  # noqa: BLE001 - the last stop: a defect of ours, shown in full
        own_errors.print("".join(traceback.format_exception(error)))
        return 1
    return 0


def _open_closed_streams() -> None:
    """A process may be started without output (`>&-`): what it says is then said to nobody."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - to the end
