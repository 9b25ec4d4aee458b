"""The trainings that golden traces are taken of: seconds each, together every path of results.

A case is a recipe and a way to run it. Everything goes through the command line, which stays where
it is while the modules below it move.
"""

import contextlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import yaml

from tests.distributed.processes import ended, torchrun
from towpath.cli.main import main
from towpath.weighters.registry import WEIGHTERS

STEPS = 12
SCRIPTS = ["Greek", "Coptic", "Asomtavruli", "Hebrew"]
"""two to train on (one group would leave nothing to weight), one for validation, one to test"""
BASE: dict[str, Any] = {
    "name": "golden",
    "data": {"name": "glyphs", "drawings": 5, "scripts": SCRIPTS},
    "episodes": {"ways": 3, "shots": 1, "query": 2, "within_group": True, "label_noise": 0.4},
    "backbone": {"name": "conv4", "filters": 8},
    "learner": {"name": "protonet"},
    "optimizer": {"name": "adam", "meta_lr": 0.01},
    "weighter": {"name": "uniform"},
    "trusted": {"count": 6, "per_batch": 2},
    "training": {"steps": STEPS, "horizon": 3, "meta_batch_size": 4, "checkpoint_every": 3},
    "validation": {"tasks": 4, "every": 6},
    "test": {"tasks": 6},
    "threads": 1,
}
"""four windows of three mini-batches; in the middle a validation and a checkpoint"""


class CaseFailedError(Exception):
    """A training did not end as it should; the text holds what it said."""


class Way(Protocol):
    """How a recipe becomes a finished run folder."""

    def run(self, recipe: Mapping[str, Any], folder: Path) -> Path:
        """Train inside the (existing) folder; returns the run's own folder."""
        ...


@dataclass(frozen=True)
class Straight:
    """In this process, from the first step to the last."""

    def run(self, recipe: Mapping[str, Any], folder: Path) -> Path:
        out = folder / "run"
        _towpath("train", _written(recipe, folder), "--out", str(out))
        return out


@dataclass(frozen=True)
class Resumed:
    """A run of half the steps that is told to go on to the end."""

    half: int = STEPS // 2

    def run(self, recipe: Mapping[str, Any], folder: Path) -> Path:
        training = {**recipe["training"], "steps": self.half}
        out = Straight().run({**recipe, "training": training}, folder)
        config = out / "config.yaml"
        longer = yaml.safe_load(config.read_text(encoding="utf-8"))
        longer["training"]["steps"] = recipe["training"]["steps"]
        config.write_text(yaml.safe_dump(longer, sort_keys=False), encoding="utf-8")
        (out / "summary.json").unlink()  # its presence says that the run has ended
        _towpath("resume", str(out))
        return out


@dataclass(frozen=True)
class Ranks:
    """Several processes of torchrun that share the tasks."""

    count: int

    def run(self, recipe: Mapping[str, Any], folder: Path) -> Path:
        out, log = folder / "run", folder / "log"
        words = ["towpath", "train", _written(recipe, folder), "--out", str(out)]
        if ended(torchrun(self.count, *words), log, seconds=180, OMP_NUM_THREADS="1"):
            raise CaseFailedError(log.read_text(encoding="utf-8"))
        return out


@dataclass(frozen=True)
class Case:
    """A recipe, how it is run, and which other case must give the same bits."""

    name: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    """sections that differ from those of `BASE`"""
    way: Way = field(default_factory=Straight)
    equals: str = ""
    """name of the case that this one must agree with, or empty"""

    def run(self, folder: Path) -> Path:
        """Train inside the folder; returns the run's own folder."""
        return self.way.run({**BASE, **self.changes}, folder)


def _written(recipe: Mapping[str, Any], folder: Path) -> str:
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(recipe), encoding="utf-8")  # JSON is YAML
    return str(path)


def _towpath(*words: str) -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = main(words)
    if code:
        raise CaseFailedError(f"towpath {' '.join(words)} ended with {code}:\n{said.getvalue()}")


def _named(section: str, name: str, **options: Any) -> dict[str, Any]:
    return {section: {"name": name, **options}}


def all_cases() -> list[Case]:
    """Every case, those that others are compared with first."""
    return [*_weighters(), *_learners(), *_numbers(), *_ways()]


def _weighters() -> list[Case]:
    """Every weighter there is, with ProtoNet."""
    return [Case(f"weighter/{name}", _named("weighter", name)) for name in WEIGHTERS]


PLANNERS = ("uniform", "tow", "tow-targets")
LEARNERS = ("maml", "anil", "meta-sgd", "proto-maml")
"""those besides ProtoNet, which the cases of the weighters have"""


def _learners() -> list[Case]:
    cases = [
        Case(
            f"learner/{learner}/{weighter}",
            _named("learner", learner, adaptation_steps=2) | _named("weighter", weighter),
        )
        for learner in LEARNERS
        for weighter in PLANNERS
    ]
    for order, first in (("first", True), ("second", False)):
        learner = _named("learner", "maml", adaptation_steps=2, first_order=first)
        cases.append(Case(f"maml/{order}-order", learner | _named("weighter", "tow")))
    return cases


def _numbers() -> list[Case]:
    """Precision, optimisers and probe windows, with TOW."""
    tow = _named("weighter", "tow")
    probe = {"name": "fixed", "horizon": 3, "meta_batch_size": 3, "every": 6}
    return [
        Case("float64/tow", {**tow, "dtype": "float64"}),
        Case("optimizer/sgd", tow | _named("optimizer", "sgd", meta_lr=0.1)),
        Case("optimizer/momentum", tow | _named("optimizer", "sgd", meta_lr=0.1, momentum=0.9)),
        Case("optimizer/adamw", tow | _named("optimizer", "adamw", meta_lr=0.01)),
        Case("probe/tow", {**tow, "probes": [probe]}),
    ]


def _ways() -> list[Case]:
    """Threads, resuming and ranks; the first two must not change a bit."""
    cases = []
    for name in PLANNERS:
        weighter = _named("weighter", name)
        straight = f"weighter/{name}"
        cases += [
            Case(f"workers-2/{name}", {**weighter, "threads": 2}, equals=straight),
            Case(f"resumed/{name}", weighter, Resumed(), equals=straight),
            Case(f"ranks-2/{name}", weighter, Ranks(2)),
        ]
    # this one carries a state of its own from window to window
    name = "group-dro"
    return [
        *cases,
        Case(f"resumed/{name}", _named("weighter", name), Resumed(), equals=f"weighter/{name}"),
    ]
