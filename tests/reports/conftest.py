"""A real comparison, small enough to be run by every test session."""

import os

import pytest
from rich.console import Console

from towpath.cli.progress import ConsoleReporter
from towpath.grid.compare import begin_comparison, run_comparison
from towpath.recipes.recipe import Recipe


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
