"""Runs so small that a test can afford many, and what must be equal between two of them.

The tiny recipe: 40 steps in windows of 2 x 2 tasks, 2 ways, 28x28 characters of three scripts, a
network of one hidden layer.
"""

import json
from pathlib import Path
from typing import Any

from safetensors import safe_open

from towpath.runs.records import StepRecord
from towpath.training import Recipe, train

TINY: dict[str, Any] = {
    "name": "tiny",
    "data": {"name": "glyphs", "drawings": 5, "scripts": ["Coptic", "Asomtavruli", "Hebrew"]},
    "episodes": {"ways": 2, "shots": 1, "query": 2, "label_noise": 0.3},
    "backbone": {"name": "mlp", "hidden": [6]},
    "learner": {"name": "protonet"},
    "optimizer": {"name": "adam", "meta_lr": 0.01},
    "trusted": {"count": 3, "per_batch": 2},
    "training": {"steps": 40, "horizon": 2, "meta_batch_size": 2, "checkpoint_every": 6},
    "validation": {"tasks": 3, "every": 8},
    "test": {"tasks": 4},
    "threads": 1,
}


def tiny(weighter: str = "uniform", learner: str = "protonet", **sections: Any) -> Recipe:
    """The tiny recipe with another weighter, learner or section."""
    component: dict[str, Any] = {"name": learner}
    if learner not in ("protonet", "ridge"):
        component["adaptation_steps"] = 1
    return Recipe.of({**TINY, "learner": component, "weighter": {"name": weighter}, **sections})


def trained_on(result):
    """State and records of a training step whose window was not skipped."""
    state, records = result
    assert all(isinstance(record, StepRecord) for record in records)
    return state, records


class Silent:
    """A reporter that says nothing."""

    def began(self, setup, step): ...

    def expected(self, cost): ...
    def stepped(self, step, record): ...
    def raced(self, step, race): ...
    def noted(self, step, note): ...
    def validated(self, step, score, best): ...
    def tested(self, done, total): ...
    def ended(self, summary): ...


class Stopping(Silent):
    """A reporter that raises at the first window that reaches a step."""

    def __init__(self, step: int, error: type[BaseException]) -> None:
        self.step, self.error = step, error

    def stepped(self, step, record):
        if step >= self.step:
            raise self.error


class Killed(BaseException):
    """Nothing in the library waits for it: what is not on disk is lost."""


def run(path: Path, recipe: Recipe, **options: Any) -> Path:
    """Train without a word; returns the folder."""
    train(path, recipe, Silent(), **options)
    return path


def outcome(path: Path) -> dict[str, Any]:
    """Everything of a run that must be reproducible, to the bit."""
    summary = json.loads((path / "summary.json").read_text())
    summary.pop("timing")
    confusion = path / "confusion.json"
    return {
        "tensors": tensors(path / "checkpoints" / "last.safetensors"),
        "records": records(path),
        "summary": summary,
        "evaluations": (path / "evaluations.json").read_bytes(),
        # a table's tasks are no classes
        "confusion": confusion.read_bytes() if confusion.exists() else b"",
    }


def tensors(path: Path) -> dict[str, bytes]:
    """Raw bytes of every tensor of a checkpoint: parameters, moments, best parameters."""
    with safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name).tobytes() for name in file.keys()}  # noqa: SIM118


def records(path: Path) -> list[dict[str, Any]]:
    """The records without their clock."""
    lines = [json.loads(line) for line in (path / "records.jsonl").read_bytes().splitlines()]
    return [{key: line[key] for key in line if key != "timing"} for line in lines]
