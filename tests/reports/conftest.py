"""Comparisons that tests share: a real one, small enough for every session, and made-up ones."""

import os
import shutil

import pytest
from rich.console import Console

from tests.data.makers import encoded, picture, write_tree
from tests.reports import synthetic
from tests.training.runs import run, tiny
from towpath.cli.progress import ConsoleReporter
from towpath.grid.compare import begin_comparison, run_comparison
from towpath.recipes.recipe import Recipe
from towpath.runs.read_studies import read_studies


@pytest.fixture(scope="session")
def comparison(tmp_path_factory):
    """`towpath compare` on the built-in data: two weighters, two seeds, wrong labels, a probe."""
    path = tmp_path_factory.mktemp("runs") / "tiny"
    recipe = Recipe.of(
        {
            "name": "tiny",
            "about": "A comparison for the tests.",
            "data": {"name": "glyphs"},
            "episodes": {
                "ways": 3,
                "shots": 1,
                "query": 2,
                "within_group": True,
                "label_noise": 0.4,
            },
            "optimizer": {"name": "adam", "meta_lr": 0.001},
            "trusted": {"count": 4, "per_batch": 2},
            "training": {"steps": 6, "horizon": 2, "meta_batch_size": 4},
            "validation": {"tasks": 4, "every": 2},
            "test": {"tasks": 8},
            "probes": [{"name": "fixed", "horizon": 2, "meta_batch_size": 3, "every": 2}],
            "threads": 1,
            "compare": ["uniform", "tow-targets"],
        }
    )
    begin_comparison(path, recipe, ["uniform", "tow-targets"], [0, 1])
    with open(os.devnull, "w") as nowhere:
        reporter = ConsoleReporter(Console(file=nowhere))
        try:
            run_comparison(path, reporter, command="towpath compare tiny")
        finally:
            reporter.close()
    return path


@pytest.fixture(scope="session")
def own_run(tmp_path_factory):
    """A short run on a flat folder of pictures: ten classes, of which `checked` has two more.

    Returns the run's folder; the pictures are in `pets` beside it.
    """
    place = tmp_path_factory.mktemp("own")
    names = {"train": "abcdef", "validation": "gh", "test": "ij"}
    files = {
        f"pets/{split}/{'cat [v2]' if c == 'a' else f'class-{c}'}/{i}.png": encoded(
            picture(100 * ord(c) + i)
        )
        for split, letters in names.items()
        for c in letters
        for i in range(5)
    }
    files |= {f"checked/{c}/{i}.png": encoded(picture(i + ord(c))) for c in "yz" for i in range(5)}
    write_tree(place, files)
    sections = {
        "name": "own",
        "data": {"name": str(place / "pets"), "image_size": 12, "channels": 3},
        "episodes": {"ways": 2, "shots": 1, "query": 2, "within_group": False},
        "trusted": {"count": 4, "per_batch": 2, "data": str(place / "checked")},
    }
    training = {"steps": 12, "horizon": 2, "meta_batch_size": 4, "checkpoint_every": 6}
    return run(place / "run", tiny("tow-targets", **sections, training=training))


@pytest.fixture(scope="session")
def validated_study(tmp_path_factory):
    """Two weighters and two seeds of a made-up comparison, validated six times each."""
    path = tmp_path_factory.mktemp("validated") / "c"
    synthetic.write_comparison(path, 30, weighters=("uniform", "tow"), seeds=(0, 1), validate=5)
    (found,) = read_studies([path])
    return found


@pytest.fixture
def unbegun_study(tmp_path):
    """A made-up comparison none of whose runs has begun."""
    path = synthetic.write_comparison(tmp_path / "c", 6, weighters=("uniform",), seeds=(0,))
    shutil.rmtree(path / "uniform-seed0")
    (found,) = read_studies([path])
    return found
