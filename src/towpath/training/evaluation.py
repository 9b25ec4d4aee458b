"""Evaluation of a learner: its score on fixed tasks, one forward pass each."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

import numpy as np
from torch import Tensor, nn

from towpath.data.episode import Episode
from towpath.losses import Loss
from towpath.metrics import LOSS, METRICS, Metric, metric_named, suited
from towpath.objective import Objective
from towpath.objective.measuring import Measured
from towpath.recipes.recipe import Recipe
from towpath.recipes.typed import RecipeError
from towpath.runs.confusion import Confusion, Counts
from towpath.runs.scores import Score

NamedCounts = tuple[Sequence[str], Counts]
"""the names of a task's classes by label, and its predictions"""
SIDE_BY_SIDE = 8
"""tasks evaluated as a group, so that the workers share them; scores do not depend on it"""
ALL_METRICS = tuple(METRICS.values())


def evaluate(
    objective: Objective,
    params: Mapping[str, Tensor],
    tasks: Iterable[Any],
    *,
    main: Metric | None = None,
    metrics: Sequence[Metric] = ALL_METRICS,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Score:
    """Evaluate parameters on tasks, with one forward pass each.

    Args:
        objective: computes loss and accuracy of a task.
        params: the parameters to evaluate.
        tasks: the tasks to evaluate them on; at least one.
        main: the main metric of the score; by default the first of `metrics` that suits the tasks:
            accuracy for classes, R2 for regression.
        metrics: the metrics to compute, as far as they suit all tasks; the loss is always computed.
        seed: seed of whatever is random in a task's evaluation.
        progress: called after each group with the number of tasks done.
    """
    asked = list(dict.fromkeys([*metrics, *(() if main is None else (main,)), LOSS]))
    found: dict[Metric, list[float]] = {metric: [] for metric in asked}
    named: list[NamedCounts] | None = []
    source, done = iter(tasks), 0
    while batch := list(islice(source, SIDE_BY_SIDE * objective.ranks.size)):
        said = objective.measure_classes(params, batch, list(found), seed=seed, first=done)
        found = {metric: found[metric] + values for metric, values in said.metrics.items()}
        own = _named(batch, said)
        named = None if named is None or own is None else named + own
        done += len(batch)
        if progress is not None:
            progress(done)
    if not done:
        raise ValueError("evaluate found no task; expected at least one.")
    if main is not None and main not in found:
        raise ValueError(
            f"The main metric {main.name} does not suit the tasks; expected one of "
            f"{', '.join(metric.name for metric in found)}."
        )
    confusion = None if named is None else Confusion.of(named)
    return Score({metric: np.array(values) for metric, values in found.items()}, main, confusion)


def _named(batch: Sequence[Any], said: Measured) -> list[NamedCounts] | None:
    """Return the predictions of tasks with the names of their classes; None where these lack."""
    names = [task.info.get("classes", ()) for task in batch if isinstance(task, Episode)]
    if said.counts is None or len(names) != len(batch):
        return None
    if any(len(own) != len(counts) for own, counts in zip(names, said.counts, strict=True)):
        return None  # a task of a table names itself, not its classes
    return list(zip(names, said.counts, strict=True))


def chosen_metric(recipe: Recipe, loss: Loss) -> Metric | None:
    """Return the main metric that `test.metric` names; None for auto, the usual one of the tasks.

    Args:
        recipe: the recipe of the run.
        loss: the loss of its learner.

    Raises:
        RecipeError: if the recipe's tasks do not have the metric.
    """
    return suited_metric(recipe.test.metric, "test.metric", recipe, loss)


def suited_metric(name: str, option: str, recipe: Recipe, loss: Loss) -> Metric | None:
    """Return the metric that an option of a recipe names; None for auto.

    Args:
        name: the option's value.
        option: the option's dotted name, for messages.
        recipe: the recipe of the run.
        loss: the loss of its learner.

    Raises:
        RecipeError: if the recipe's tasks do not have the metric.
    """
    if name == "auto":
        return None
    classes = recipe.episodes.ways if loss.classifies else None
    metric = metric_named(name)
    if not metric.suits(classes):
        kind = "of regression" if classes is None else f"of {classes} classes"
        known = ", ".join(one.name for one in suited(METRICS.values(), classes))
        raise RecipeError(
            f"{option} is {metric.name!r}, which tasks {kind} do not have; expected auto or one "
            f"of {known}."
        )
    return metric


@contextmanager
def evaluation_mode(module: nn.Module) -> Iterator[None]:
    """Put the module into evaluation mode (without dropout) while the block runs."""
    training = module.training
    module.eval()
    try:
        yield
    finally:
        module.train(training)
