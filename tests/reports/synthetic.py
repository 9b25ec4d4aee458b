"""Run folders as the training loop writes them, with made-up numbers."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import yaml

from towpath.metrics import ACCURACY, LOSS
from towpath.recipes.component import Component
from towpath.recipes.recipe import Recipe
from towpath.runs.comparison_spec import ComparisonSpec, run_name
from towpath.runs.folder import RunFolder
from towpath.runs.judged import WeightByLabel
from towpath.runs.scores import Score
from towpath.runs.summary import RunTiming, Summary

GROUPS = [f"Alphabet {i}" for i in range(20)]
IMAGES = (ACCURACY, LOSS)
"""the metrics of a test on images, of which there are more than two classes"""
WEIGHTERS = ("uniform", "exploration", "exploitation", "tow", "tow-targets")


def recipe(**changes) -> Recipe:
    plain = Recipe(
        name="made-up", data=Component("omniglot"), compare=list(WEIGHTERS), reproduces=""
    ).as_mapping()
    plain["trusted"] = {"count": 4, "per_batch": 2}
    return Recipe.of(plain | changes)


def task_lists(rng, count, M):
    """JSON texts of the tasks of a mini-batch."""
    texts = []
    for _ in range(count):
        tasks = []
        for i in range(M):
            group = str(rng.choice(GROUPS))
            tasks.append(
                {
                    "index": i,
                    "seed": 0,
                    "set": "omniglot",
                    "split": "train",
                    "group": group,
                    "classes": [f"{group}/character{k:02d}" for k in range(5)],
                    "shots": [1] * 5,
                    "capped": False,
                    "mislabelled": bool(rng.random() < 0.4),
                    "synthetic": False,
                }
            )
        texts.append(json.dumps(tasks, separators=(",", ":")))
    return texts


def write_records(
    path: Path, weighter: str, steps: int, *, seed=0, M=10, T=5, validate=50, metric="accuracy"
):
    """`records.jsonl` of a run; returns the validations as (step, score)."""
    rng = np.random.default_rng([seed, len(weighter)])
    lists = task_lists(rng, 40, M)
    checks = []
    with path.open("w") as file:
        for step in range(1, steps + 1):
            w = np.full(M, 1 / M) if weighter == "uniform" else rng.dirichlet(np.full(M, 5.0))
            clock = {"seconds": 0.11 * step, "training_seconds": 0.1 * step}
            record = {
                "step": step,
                "window": (step - 1) // T,
                "loss": 1.5,
                "losses": rng.gamma(2.0, size=M).round(6).tolist(),
                "weights": w.tolist(),
                "accuracies": rng.random(M).round(6).tolist(),
            }
            if (step - 1) % T == 0:
                plans = weighter.startswith("tow")
                record["plan"] = {
                    "status": "iteration limit" if plans else "rule",
                    "predicted_decrease": float(rng.gamma(2.0)) if plans else 0.0,
                    "actual_decrease": float(rng.gamma(2.0)) if plans else 0.0,
                    "beta": 10.0 if plans else None,
                    "agreement": float(rng.random()) if weighter == "tow-targets" else None,
                    "effective_tasks": rng.uniform(5, M, size=T).tolist(),
                    "steps": [1.0, 0.5] if plans else [],
                    "trials": [1, 2] if plans else [],
                }
            record["timing"] = clock
            text = json.dumps(record, separators=(",", ":"))
            file.write(text[:-1] + f',"tasks":{lists[step % 40]}}}\n')
            if validate and step % validate == 0:
                score = float(0.5 + 0.4 * (1 - np.exp(-step / steps)) + 0.01 * rng.normal())
                checks.append((step, score))
                said = {"mean": score, "metric": metric, "best": False}
                line = {"step": step, "validation": said, "timing": clock}
                file.write(json.dumps(line) + "\n")
    return checks


def write_run(
    path: Path,
    base: Recipe,
    weighter: str,
    steps: int,
    *,
    seed=0,
    tasks=100,
    weights=(),
    metrics=IMAGES,
    **options,
):
    """A finished run; `weights` are options of the weighter, `metrics` those of the test."""
    path.mkdir(parents=True)
    mapping = base.as_mapping() | {"weighter": {"name": weighter, **dict(weights)}, "seed": seed}
    made = {"command": "towpath compare made-up", "versions": {"towpath": "0.1.0"}}
    (path / "config.yaml").write_text(yaml.safe_dump(mapping | {"made_with": made}))
    name = metrics[0].name
    write_records(path / "records.jsonl", weighter, steps, seed=seed, metric=name, **options)
    finish(path, weighter, steps, seed, tasks, base, metrics)


def summary(
    base: Recipe, weighter: str, steps: int, seed: int, scores: Mapping[str, Score]
) -> Summary:
    """The final figures of a run that trained as long as its recipe says."""
    return Summary(
        recipe=base.name,
        weighter=weighter,
        seed=seed,
        test={name: score.summary() for name, score in scores.items()},
        steps=base.training.steps,
        tasks_trained=10 * steps,
        evaluations=3.0 * steps,
        weight_by_label=WeightByLabel(0.5, 1.0),
        timing=RunTiming(1.0, 1.0, 1.0 / steps),
    )


def finish(
    path: Path, weighter: str, steps: int, seed: int, tasks: int, base: Recipe, metrics=IMAGES
):
    """The files of a run that has ended; ROC AUC and R2 are undefined on every tenth task."""
    rng = np.random.default_rng([seed, len(weighter), 1])
    names = (base.data.name, *base.test.also)
    scores = {}
    for name in names:
        values = {one: np.ones(tasks) if one == LOSS else rng.random(tasks) for one in metrics}
        for one in values:
            if one.undefined_where:
                values[one][::10] = np.nan
        scores[name] = Score(values)
    RunFolder(path).conclude(summary(base, weighter, steps, seed, scores), scores)


def write_comparison(path: Path, steps: int, *, weighters=WEIGHTERS, seeds=(0, 1, 2), **options):
    """A finished comparison."""
    base = recipe()
    ComparisonSpec.new(path, base, weighters, seeds).write()
    for weighter in weighters:
        for seed in seeds:
            write_run(path / run_name(weighter, seed), base, weighter, steps, seed=seed, **options)
    return path
