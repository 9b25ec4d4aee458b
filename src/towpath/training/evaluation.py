"""How good a learner is: its score on fixed tasks, one forward pass each."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np
from torch import Tensor

from towpath.objective import Objective
from towpath.runs.scores import Score

SIDE_BY_SIDE = 8
"""tasks asked for together, so that the workers share them; the scores do not depend on it"""


def evaluate(
    objective: Objective,
    params: Mapping[str, Tensor],
    tasks: Iterable[Any],
    *,
    seed: int = 0,
    progress: Callable[[int], None] | None = None,
) -> Score:
    """Score of the parameters on the tasks, one forward pass each.

    Args:
        objective: says loss and accuracy of a task.
        params: what is scored.
        tasks: on which it is scored; at least one.
        seed: of whatever is random in a task's evaluation.
        progress: is told after each group how many tasks are done.
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
