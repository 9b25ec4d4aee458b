"""Evaluation of a learner: its score on fixed tasks, one forward pass each."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np
from torch import Tensor

from towpath.objective import Objective
from towpath.runs.scores import Score

SIDE_BY_SIDE = 8
"""tasks evaluated as a group, so that the workers share them; scores do not depend on it"""


def evaluate(
    objective: Objective,
    params: Mapping[str, Tensor],
    tasks: Iterable[Any],
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Score:
    """Evaluate parameters on tasks, with one forward pass each.

    Args:
        objective: computes loss and accuracy of a task.
        params: the parameters to evaluate.
        tasks: the tasks to evaluate them on; at least one.
        seed: seed of whatever is random in a task's evaluation.
        progress: called after each group with the number of tasks done.
    """
    losses: list[float] = []
    accuracies: list[float] = []
    source = iter(tasks)
    while batch := list(islice(source, SIDE_BY_SIDE * objective.ranks.size)):
        said = objective.evaluate(params, batch, gradients=False, seed=seed, first=len(losses))
        losses += said.losses.tolist()
        if said.accuracies is not None:
            accuracies += said.accuracies.tolist()
        if progress is not None:
            progress(len(losses))
    if not losses:
        raise ValueError("evaluate found no task; expected at least one.")
    return Score(np.array(accuracies) if accuracies else None, np.array(losses))
