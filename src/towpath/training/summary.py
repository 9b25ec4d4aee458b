"""The final figures of a run, from its records and its test scores."""

from collections.abc import Iterable
from typing import Any

from towpath.data.registry import is_synthetic
from towpath.runs.folder import EVALUATIONS, SUMMARY, RunFolder, json_digest, versions
from towpath.runs.identity import KEY
from towpath.training.checkpoint import Checkpoint
from towpath.training.evaluation import Score
from towpath.training.setup import Setup


def conclude(
    folder: RunFolder, setup: Setup, current: Checkpoint, scores: dict[str, Score], seconds: float
) -> dict[str, Any]:
    """Write the results of the test tasks and the summary of them; returns the summary."""
    evaluations = {
        name: {
            "accuracies": None if s.accuracies is None else s.accuracies.tolist(),
            "losses": s.losses.tolist(),
        }
        for name, s in scores.items()
    }
    summary = summarise(folder, setup, current, scores, seconds)
    run = folder.digest
    if run:  # a run folder of towpath 0.1 stays one
        summary[KEY] = {
            "run": run,
            "evaluations": json_digest(evaluations),
            "asked_steps": setup.recipe.training.steps,
        }
    # a summary of fewer steps, if they were raised, must not stand beside the new evaluations
    (folder.path / SUMMARY).unlink(missing_ok=True)
    folder.write_json(EVALUATIONS, evaluations)
    folder.write_json(SUMMARY, summary)
    return summary


def summarise(
    folder: RunFolder,
    setup: Setup,
    current: Checkpoint,
    scores: dict[str, Score],
    test_seconds: float,
) -> dict[str, Any]:
    """What `summary.json` holds."""
    recipe = setup.recipe
    main = next(iter(scores.values()))
    best = current.best
    norm = getattr(setup.learner.model, "norm_policy", "not stated")
    return {
        "recipe": recipe.name,
        "reproduces": recipe.reproduces,
        "weighter": recipe.weighter.name,
        "seed": recipe.seed,
        "data": recipe.data.name,
        "synthetic": is_synthetic(recipe.data.name),
        **main.summary(),
        "test": {name: score.summary() for name, score in scores.items()},
        "validation": None if best is None else {"score": best.score, "step": best.step},
        "steps": current.state.step,
        "windows": current.state.window,
        "tasks_trained": current.state.tasks,
        "evaluations": current.state.evaluations,
        "weight_by_label": weight_by_label(folder.records()),
        "parameters": sum(p.numel() for p in current.state.params.values()),
        "normalisation": norm,
        "versions": versions(),
        "timing": {
            "seconds": current.seconds + test_seconds,
            "training_seconds": current.training_seconds,
            "seconds_per_step": current.training_seconds / max(1, current.state.step),
            "test_seconds": test_seconds,
        },
    }


def weight_by_label(records: Iterable[dict[str, Any]]) -> dict[str, float] | None:
    """Mean weight, relative to its mini-batch's mean, of mislabelled and of clean tasks; trusted
    tasks are neither.

    None where no task was mislabelled on purpose.
    """
    totals = {True: 0.0, False: 0.0}
    counts = {True: 0, False: 0}
    for record in records:
        if "probe" in record or "weights" not in record:
            continue
        mean = sum(record["weights"]) / len(record["weights"])
        for weight, task in zip(record["weights"], record["tasks"], strict=True):
            if task.get("trusted"):
                continue
            wrong = bool(task.get("mislabelled"))
            totals[wrong] += weight / mean if mean else 0.0
            counts[wrong] += 1
    if not counts[True] or not counts[False]:
        return None
    bad, good = totals[True] / counts[True], totals[False] / counts[False]
    return {"mislabelled": bad, "clean": good, "ratio": bad / good if good else 0.0}
