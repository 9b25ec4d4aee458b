"""Arguments that several commands share: each is declared here once, beside its reader.

Nothing here imports torch before a command runs, so that `towpath --help` need not wait for it.
"""

import argparse
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from towpath.cli.parser import UsageError

if TYPE_CHECKING:
    from towpath.grid.choice import EngineChoice
    from towpath.recipes.recipe import Recipe


@dataclass(frozen=True)
class Invocation:
    """How a command was called, apart from the recipe: nothing here affects a result."""

    data_root: str | None = None
    """the data folder, where it is not the default one"""
    allowed: tuple[str, ...] = ()
    """packages that classes may be imported from"""
    command: str = ""
    """the command line, to be recorded in the run folder"""

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> "Invocation":
        """Read these values from the arguments of a command, which may lack some of them."""
        return cls(
            getattr(arguments, "data_root", None),
            tuple(getattr(arguments, "allow_import", ())),
            shlex.join(["towpath", *arguments.argv]),
        )


def add_data_root(parser: argparse.ArgumentParser) -> None:
    """Add `--data-root DIR`, the folder of the data sets."""
    parser.add_argument(
        "--data-root", metavar="DIR", help="the data folder (default: TOWPATH_DATA)"
    )


def add_sources(parser: argparse.ArgumentParser) -> None:
    """Add `--data-root DIR` and `--allow-import PACKAGE`: where data and classes may come from."""
    add_data_root(parser)
    parser.add_argument(
        "--allow-import",
        metavar="PACKAGE",
        action="append",
        type=_package,
        default=[],
        help="package that a recipe may name classes of by import path",
    )


def _package(text: str) -> str:
    if not text.isidentifier():
        raise argparse.ArgumentTypeError(
            f"found {text!r}; expected the name of a package, as in --allow-import my_package"
        )
    return text


def add_force(parser: argparse.ArgumentParser, what: str) -> None:
    """Add `--force`; `what` names in its help text what is replaced."""
    parser.add_argument("--force", action="store_true", help=f"replace {what}")


def add_dry_run(parser: argparse.ArgumentParser) -> None:
    """Add `--dry-run`, which `towpath.cli.dry_run` answers."""
    text = "show the resolved recipe, the data found, the expected time and memory; write no run"
    parser.add_argument("--dry-run", action="store_true", help=text)


def add_loggers(parser: argparse.ArgumentParser) -> None:
    """Add `--logger NAME`, for experiment trackers that get scalars beside the run's own files."""
    parser.add_argument(
        "--logger",
        metavar="NAME",
        action="append",
        dest="loggers",
        default=[],
        help="log scalars to tensorboard, mlflow or wandb as well (each needs its extra)",
    )
    parser.add_argument(
        "--tensorboard",
        action="append_const",
        const="tensorboard",
        dest="loggers",
        help="the same as --logger tensorboard",
    )


# a recipe and a folder for it


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """Add `RECIPE`, `--out FOLDER`, and the arguments that change the recipe."""
    parser.add_argument("recipe", metavar="RECIPE", help="a shipped name, or a YAML file")
    parser.add_argument("--out", metavar="FOLDER", help="the run folder (default: runs/NAME)")
    add_recipe_settings(parser)


def add_recipe_settings(parser: argparse.ArgumentParser) -> None:
    """Add what changes a recipe: `--device`, `--budget`, and overrides by dotted name."""
    add_sources(parser)
    parser.add_argument("--device", help="cpu, cuda, ...")
    parser.add_argument(
        "--budget", default="full", help="full, or small: the same recipe in minutes"
    )
    parser.set_defaults(takes_overrides=("*",))


def chosen_recipe(arguments: argparse.Namespace) -> "Recipe":
    """Read and check the recipe named on the command line, with its overrides applied."""
    from towpath.recipes.reading import read_recipe

    overrides = [*arguments.overrides]
    for name in ("seed", "device"):
        if getattr(arguments, name, None) is not None:
            overrides.append((name, str(getattr(arguments, name))))
    return read_recipe(arguments.recipe, overrides, arguments.budget)


def add_seeds(parser: argparse.ArgumentParser) -> None:
    """Add `--seeds 0,1,2`, the seeds of the runs of a comparison."""
    parser.add_argument(
        "--seeds", metavar="0,1,2", default="0", help="seeds, one run of each weighter for each"
    )


def chosen_seeds(arguments: argparse.Namespace) -> list[int]:
    """Return the numbers of `--seeds`, which may be none; raise UsageError for other words."""
    text: str = arguments.seeds
    try:
        return [int(word) for word in text.split(",") if word.strip()]
    except ValueError as error:
        raise UsageError(f"--seeds is {text!r}; expected whole numbers, as in 0,1,2") from error


# who runs the runs of a comparison


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Add `--jobs N`, `--engine ray` and the options of Ray."""
    parser.add_argument("--jobs", type=int, metavar="N", help="runs at a time on this machine")
    parser.add_argument(
        "--engine", default="local", metavar="NAME", help="local, or ray (needs the extra)"
    )
    parser.add_argument("--address", metavar="HOST", help="of a Ray cluster (RAY_ADDRESS)")
    parser.add_argument("--cpus-per-run", type=float, metavar="X", help="with ray; default 1")
    parser.add_argument("--gpus-per-run", type=float, metavar="X", help="with ray; default 0")


def chosen_engine(arguments: argparse.Namespace) -> "EngineChoice":
    """Return the engine requested by the arguments of `add_engine`, after checking them."""
    from towpath.grid.choice import EngineChoice

    return EngineChoice(
        arguments.engine,
        arguments.jobs,
        arguments.address,
        arguments.cpus_per_run,
        arguments.gpus_per_run,
    )
