"""`towpath data features`: a data set as features, computed by the network of a trained run."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from towpath.cli.arguments import Invocation, add_force, add_sources
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.data.errors import DataError
from towpath.data.lookup import FEATURES_SUFFIX, is_features_name
from towpath.files import Output
from towpath.wording import say

if TYPE_CHECKING:
    from towpath.data.pool import ClassPool
    from towpath.training import TrainedLearner

SPLITS = ("train", "validation", "test")


def add(commands: Commands) -> None:
    """Add this command and its arguments to those of `towpath data`."""
    parser = add_command(
        commands,
        "features",
        "Features of a set by the network of a trained run, to train on in seconds.",
        "towpath data features runs/quick-tow-seed0 --out glyphs.features.npz",
        run,
    )
    parser.add_argument("folder", metavar="RUN")
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help=f"the file to write; its name ends with {FEATURES_SUFFIX}",
    )
    parser.add_argument(
        "--data", metavar="NAME", help="the data set (default: the one that the run trained on)"
    )
    add_force(parser, "a file that exists")
    add_sources(parser)


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Write the features of all splits of a set, and say what to do with them."""
    from towpath.training import load
    from towpath.training.features import features_of

    path = Path(arguments.out)
    if not is_features_name(path.name):
        raise UsageError(
            f"--out is {str(path)!r}; expected a name that ends with {FEATURES_SUFFIX}, by which "
            "features are told from tables."
        )
    output = Output(path, arguments.force)
    output.check()
    call = Invocation.of(arguments)
    trained = load(Path(arguments.folder), call.allowed)
    pools = _pools(trained, arguments.data or trained.recipe.data.name, call.data_root)
    total = sum(pool.image_count for pool in pools.values())
    with console.status("") as status:

        def tell(done: int) -> None:
            """Show how many samples are done."""
            status.update(f"{done:,} of {total:,}")

        content = features_of(trained, pools, tell)
    output.write(content)
    for pool in pools.values():
        say(console, pool.describe())
    policy = getattr(trained.learner.model, "norm_policy", "not stated")
    say(console, f"normalisation of the features: {policy}")
    say(console, f"{total:,} vectors are in {path}; train on them with")
    say(console, f"  towpath train your-own-features --data.name {path}")


def _pools(trained: "TrainedLearner", name: str, data_root: str | None) -> "dict[str, ClassPool]":
    """Load every split that the set has, as the run read its own; a table is an error."""
    from towpath.data import ClassPool
    from towpath.data.locations import data_root as root_of
    from towpath.data.registry import load
    from towpath.recipes.components import options_beside

    shape = trained.shape.inputs
    options = options_beside(trained.recipe.data, name, shape)
    pools: dict[str, ClassPool] = {}
    problem: DataError | None = None
    for split in SPLITS:
        try:
            pool = load(name, root_of(data_root), split, **options)
        except DataError as error:  # a set may lack a split; one that loads nothing is an error
            problem = problem or error
            continue
        if not isinstance(pool, ClassPool) or pool.input_shape != shape:
            raise UsageError(
                f"{name} has inputs of shape {list(pool.input_shape)}; expected {list(shape)}, "
                "images as the run was trained on."
            )
        pools[split] = pool
    if problem is not None and not pools:
        raise problem
    return pools
