"""A table of invented assays, and runs on it that a test can afford.

Compounds have four descriptors. An assay is active where a direction of its own, near one that all
assays share, is positive: what is learnt on some assays helps on others. Two thirds of the cells
are measured.
"""

import csv
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from towpath.training import Recipe

FEATURES = ["mass", "logp", "rings", "charge"]
COMMON = np.array([1.0, -1.0, 0.5, 0.0])
FAMILIES = {"ENZ": 6, "REC": 6, "TOX": 6}
COMPOUNDS = 120

TINY: dict[str, Any] = {
    "name": "assays",
    "episodes": {"ways": 2, "shots": 3, "query": 4},
    "backbone": {"name": "mlp", "hidden": [8]},
    "learner": {"name": "protonet"},
    "optimizer": {"name": "adam", "meta_lr": 0.01},
    "training": {"steps": 8, "horizon": 2, "meta_batch_size": 3, "checkpoint_every": 4},
    "validation": {"tasks": 3, "every": 4},
    "test": {"tasks": 4},
    "threads": 1,
}


def compounds(count: int, seed: int = 0) -> np.ndarray:
    """Descriptors `[count, 4]` with one decimal, of different sizes."""
    drawn = np.random.default_rng(seed).normal(size=(count, 4)) * [50, 1, 2, 0.5] + [300, 2, 3, 0]
    return np.round(drawn, 2)


def activity(values: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """How active compounds are in an assay: positive is active."""
    return np.asarray((values - [300, 2, 3, 0]) / [50, 1, 2, 0.5] @ direction)


def write_rows(path: Path, header: list[str], rows: list[list[Any]]) -> Path:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def write_assays(
    path: Path, *, numbers: bool = False, scrambled: Collection[str] = (), seed: int = 0
) -> Path:
    """Write a wide table of assays; the results of scrambled ones are dealt at random.

    Args:
        path: the CSV file.
        numbers: whether assays have real numbers, of mean 6, instead of 0 and 1.
        scrambled: names of assays whose results mean nothing.
        seed: of everything.
    """
    generator = np.random.default_rng([seed, 1])
    values = compounds(COMPOUNDS, seed)
    names = [f"{family}_{i}" for family, count in FAMILIES.items() for i in range(count)]
    columns = []
    for name in names:
        result = activity(values, COMMON + 0.4 * generator.normal(size=4))
        if name in scrambled:
            result = generator.permutation(result)
        shown = np.round(result + 6, 3) if numbers else (result > 0).astype(int)
        measured = generator.random(COMPOUNDS) < 2 / 3
        columns.append([str(v) if m else "" for v, m in zip(shown, measured, strict=True)])
    rows = [
        [f"C{i:03}", *values[i].tolist(), *(column[i] for column in columns)]
        for i in range(COMPOUNDS)
    ]
    return write_rows(path, ["compound", *FEATURES, *names], rows)


def assays(path: Path, weighter: str = "uniform", **sections: Any) -> Recipe:
    """The tiny recipe on a table, with another weighter or section."""
    data = {
        "name": str(path),
        "features": FEATURES,
        "id": "compound",
        "groups": {"prefix": "_"},
        "splits": {"by": "task"},
        **sections.pop("data", {}),
    }
    return Recipe.of({**TINY, "data": data, "weighter": {"name": weighter}, **sections})


MAML: dict[str, Any] = {"learner": {"name": "maml", "inner_lr": 0.05, "adaptation_steps": 2}}
