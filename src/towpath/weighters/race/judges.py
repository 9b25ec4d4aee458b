"""The judges of a race: trusted tasks that no arm trains or plans on.

An arm's score on a judge is what a test would report: the accuracy where tasks have classes, minus
the loss otherwise. (A loss also rewards outputs that are merely less extreme.) The samples of a
judge are dealt anew into support and query several times, and otherwise at every look, because all
of them are trusted: a few tasks then say more. All arms of a look see the same deals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from towpath import metrics
from towpath.data.episode import Episode
from towpath.objective import Objective
from towpath.weighters.seeds import stage_seed

ACCURACY, LOSS = metrics.ACCURACY.name, metrics.LOSS.name
"""what a score is: the accuracy on a judge, or minus its loss"""


@dataclass(frozen=True)
class Scored:
    """The scores of an arm on the judges, larger is better."""

    values: list[float]
    """one for each judge"""
    metric: str
    """`ACCURACY`, or `LOSS` for minus the loss"""


def dealt(judges: Sequence[Any], look: int, deals: int) -> list[Any]:
    """Return every judge in each of its deals of this look, judge by judge."""
    return [_deal(task, look * deals + k) for task in judges for k in range(deals)]


def _deal(task: Any, number: int) -> Any:
    """Return the task in a deal; the first is the task itself, as is that of a user's own type."""
    if number == 0 or not isinstance(task, Episode):
        return task
    return task.dealt(torch.Generator().manual_seed(stage_seed(number, len(task.query_y))))


def scores(
    objective: Objective, params: Mapping[str, Tensor], tasks: Sequence[Any], deals: int
) -> Scored:
    """Return the score on each judge: the mean over its deals.

    Args:
        objective: evaluates a task.
        params: the parameters to be judged.
        tasks: the judges in all their deals, as from `dealt`.
        deals: how many deals each judge has among the tasks.
    """
    said = objective.evaluate(params, list(tasks), gradients=False, seed=0, first=0)
    values = -said.losses if said.accuracies is None else said.accuracies
    table = values.detach().double().cpu().numpy().reshape(-1, deals)
    means = np.where(np.isfinite(table), table, -np.inf).mean(1)
    return Scored([float(v) for v in means], LOSS if said.accuracies is None else ACCURACY)
