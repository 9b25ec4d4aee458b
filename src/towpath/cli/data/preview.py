"""`towpath data preview`: show what was understood of a set, and tasks that are drawn from it."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from towpath.cli.arguments import add_data_root, add_force
from towpath.cli.parser import Commands, UsageError, add_command
from towpath.data.errors import DataError
from towpath.files import Output
from towpath.wording import say

if TYPE_CHECKING:
    from PIL import Image

    from towpath.data.pool import ClassPool
    from towpath.data.spec import EpisodeSpec
    from towpath.data.tables.pool import TablePool

_EPISODES_SHOWN = 3
OF_TASKS = "episodes."
"""how the options of tasks begin"""
OWN_RECIPE = "your-own-data"
"""recipe whose tasks are changed by options where none is named"""
OWN_SPLITS = ("train", "validation", "test")


def add(commands: Commands) -> None:
    """Add this command and its arguments to those of `towpath data`."""
    parser = add_command(
        commands,
        "preview",
        "Contact sheets of a set, or of a folder of your own; of a table, a page on its tasks.",
        "towpath data preview glyphs --out sheets",
        run,
    )
    add_data_root(parser)
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--out", metavar="DIR", help="where to (default: preview-NAME)")
    parser.add_argument(
        "--recipe", metavar="RECIPE", help="show the data and tasks that this recipe trains on"
    )
    add_force(parser, "pictures and pages that are not of our making")
    parser.set_defaults(takes_overrides=("data.*", "episodes.*"))


def run(arguments: argparse.Namespace, console: Console) -> None:
    """Show what was understood of a set: contact sheets of images, or a page on a table.

    Options of the set and of the tasks are given as in a recipe, `--data.family NVS` or
    `--episodes.ways 3`.
    """
    from towpath.data.preview import SHEET_SIGNATURE, png
    from towpath.data.registry import is_own_data, known
    from towpath.data.tables.pool import TablePool

    name, out = arguments.name, arguments.out
    label = Path(name).resolve().name.split(".")[0] if is_own_data(name) else known(name).name
    target = Path(out) if out is not None else Path(f"preview-{label}")
    spec, pools = _task_spec(arguments), _pools(arguments)
    tables = [pool for pool in pools if isinstance(pool, TablePool)]
    if tables:
        _write_page(tables, target / f"{label}.html", arguments.force)
    images = [pool for pool in pools if not isinstance(pool, TablePool) and pool.of_images]
    sheets = _sheets(images, label, spec) if images else {}
    outputs = {file: Output(target / file, arguments.force, SHEET_SIGNATURE) for file in sheets}
    for output in outputs.values():  # all or nothing
        output.check()
    for note in pools[0].notes:
        say(console, note)
    for pool in pools:
        say(console, pool.describe())
    if images and not any("-episode-" in file for file in sheets):
        say(console, "too few images or classes to show an episode")
    elif images:
        say(console, _tasks_line(spec))
    for file, sheet in sheets.items():
        outputs[file].write(png(sheet))
        say(console, f"  {outputs[file].path}")
    if tables:
        say(console, f"  {target / f'{label}.html'}")


def _pools(arguments: argparse.Namespace) -> "list[ClassPool | TablePool]":
    """Load every split that a set has; one that has none is an error."""
    from towpath.data.locations import data_root
    from towpath.data.registry import SETS, is_own_folder, is_own_table, load
    from towpath.data.tables.splitting import LISTED_SPLITS

    name: str = arguments.name
    others = [pair for pair in arguments.overrides if not pair[0].startswith(OF_TASKS)]
    options = _data_options(name, others, arguments.recipe)
    if is_own_folder(name):
        # to look at is always allowed: the notes say which classes are shared
        options = {"shared_classes": True, **options}
    splits = (
        LISTED_SPLITS if is_own_table(name) else SETS[name].splits if name in SETS else OWN_SPLITS
    )
    pools: list[ClassPool | TablePool] = []
    problem: DataError | None = None
    for split in splits:
        try:
            pools.append(load(name, data_root(arguments.data_root), split, **options))
        except DataError as error:
            problem = problem or error  # a set may lack a split; one that loads nothing is an error
    if problem is not None and not pools:
        raise problem
    return pools


def _data_options(
    name: str, overrides: Sequence[tuple[str, str]], recipe: str | None
) -> dict[str, Any]:
    """Return the options of `--data.NAME VALUE` and of a recipe, if there is one, checked."""
    if not overrides and recipe is None:
        return {}
    from towpath.recipes.component import Component
    from towpath.recipes.components import data_options
    from towpath.recipes.reading import options_on, overridden, read_recipe
    from towpath.recipes.typed import plain_value

    given: Mapping[str, Any] = {} if recipe is None else options_on(read_recipe(recipe), name)
    for dotted, word in overrides:
        section, _, key = dotted.partition(".")
        if section != "data" or not key:
            raise UsageError(
                f"Found --{dotted}; expected an option of the data or of the tasks by its dotted "
                "name, as in --data.family NVS or --episodes.ways 3"
            )
        given = overridden(given, key, plain_value(word))
    return dict(data_options(Component(name, given)))


def _write_page(pools: "list[TablePool]", path: Path, force: bool) -> None:
    """Write the page on a table."""
    from towpath.reports.page import REPORT_SIGNATURE
    from towpath.reports.table_preview import table_page

    output = Output(path, force, REPORT_SIGNATURE)
    output.check()
    output.write(table_page(pools).encode())


def _task_spec(arguments: argparse.Namespace) -> "EpisodeSpec | None":
    """Return the tasks to show: those of `--recipe` and `--episodes.NAME VALUE`; None for any."""
    from towpath.recipes.reading import read_recipe

    changes = [pair for pair in arguments.overrides if pair[0].startswith(OF_TASKS)]
    if arguments.recipe is None and not changes:
        return None
    return read_recipe(arguments.recipe or OWN_RECIPE, changes).episodes


def _tasks_line(spec: "EpisodeSpec | None") -> str:
    """Return one line on the tasks that are shown."""
    if spec is None:
        return (
            "the tasks shown are 5-way or less, with 1 support image a class; --recipe RECIPE "
            "shows those that a recipe trains on"
        )
    where = "of one group" if spec.within_group else "of all groups"
    return (
        f"the tasks shown have {spec.ways} classes {where}, shots {spec.shots} and {spec.query} "
        "query images a class"
    )


def _sheets(
    pools: "list[ClassPool]", label: str, spec: "EpisodeSpec | None"
) -> "dict[str, Image.Image]":
    """Return contact sheets by file name: one for each split, and some of episodes."""
    from towpath.data.preview import split_sheet

    sheets = {f"{label}-{pool.split}.png": split_sheet(pool) for pool in pools}
    episodes = _episode_sheets(pools[0], spec)
    return sheets | {f"{label}-episode-{i}.png": sheet for i, sheet in enumerate(episodes)}


def _episode_sheets(pool: "ClassPool", spec: "EpisodeSpec | None") -> "list[Image.Image]":
    """Return sheets of a few tasks; none where the pool has too few images or classes for any."""
    from towpath.data.preview import episode_sheet
    from towpath.data.sampler import EpisodeSampler
    from towpath.data.spec import EpisodeSpec

    if spec is None:
        ways = min(5, max(len(own) for own in pool.groups.values()))
        fewest = min(entry.count for entry in pool.classes)
        if fewest < 2 or ways < 2:
            return []
        spec = EpisodeSpec(ways, 1, min(15, fewest - 1))
    sampler = EpisodeSampler(pool, spec)
    return [
        episode_sheet(sampler.episode(index), ink_is_one=pool.ink_is_one)
        for index in range(_EPISODES_SHOWN)
    ]
