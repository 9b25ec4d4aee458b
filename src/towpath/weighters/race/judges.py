"""The judges of a race: trusted tasks that no arm trains or plans on.

An arm's score on a judge is what a test would report, by the same metric; if none is named, the
accuracy where tasks have classes and minus the loss otherwise. (A loss also rewards outputs that
are merely less extreme, and R2, the usual figure of a regression, is decided by the few tasks whose
targets hardly differ.) The samples of a judge are dealt anew into support and query several times,
and otherwise at every look, because all of them are trusted: a few tasks then say more. All arms of
a look see the same deals.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from towpath import metrics
from towpath.data.episode import Episode
from towpath.metrics import Metric
from towpath.objective import Objective
from towpath.weighters.seeds import stage_seed

ACCURACY, LOSS = metrics.ACCURACY.name, metrics.LOSS.name
"""what a score is where no metric is named: the accuracy on a judge, or minus its loss"""


@dataclass(frozen=True)
class Scored:
    """The scores of an arm on the judges, larger is better."""

    values: list[float]
    """one for each judge that the metric is defined on"""
    metric: str
    """its name; the score is minus the metric where smaller is better"""


def different_deals(judges: Sequence[Any], deals: int) -> int:
    """Return how many of the deals of a look differ: one where no judge can be dealt anew."""
    return deals if any(isinstance(task, Episode) for task in judges) else 1


def dealt(judges: Sequence[Any], look: int, deals: int) -> list[Any]:
    """Return every judge in each of its deals of this look, judge by judge."""
    return [_deal(task, look * deals + k) for task in judges for k in range(deals)]


def _deal(task: Any, number: int) -> Any:
    """Return the task in a deal; the first is the task itself, as is that of a user's own type."""
    if number == 0 or not isinstance(task, Episode):
        return task
    return task.dealt(torch.Generator().manual_seed(stage_seed(number, len(task.query_y))))


def scores(
    objective: Objective,
    params: Mapping[str, Tensor],
    tasks: Sequence[Any],
    deals: int,
    metric: Metric | None = None,
) -> Scored:
    """Return the score on each judge: the mean over its deals.

    A judge whose targets leave the metric undefined in every deal says nothing and is left out, for
    all arms alike. Outputs that are not finite are another matter: the worst score.

    Args:
        objective: evaluates a task.
        params: the parameters to be judged.
        tasks: the judges in all their deals, as from `dealt`.
        deals: how many deals each judge has among the tasks.
        metric: what to judge by; None for accuracy, or minus the loss of tasks without classes.

    Raises:
        ValueError: if the tasks do not have the metric.
    """
    asked = metrics.ACCURACY if metric is None else metric
    said = objective.measure(params, list(tasks), list(dict.fromkeys([asked, metrics.LOSS])))
    found = metrics.LOSS if metric is None and asked not in said else asked
    if found not in said:
        raise ValueError(
            f"Race found judges that do not have the metric {found.name!r}; expected one of "
            f"{', '.join(one.name for one in said)}, or auto."
        )
    table = np.array([found.goodness(value) for value in said[found]]).reshape(-1, deals)
    finite = np.isfinite(np.array(said[metrics.LOSS])).reshape(-1, deals)
    table = np.where(finite, table, -np.inf)
    defined = ~np.isnan(table)
    kept = defined.any(1)
    sums = np.where(defined, table, 0.0).sum(1)
    return Scored([float(v) for v in sums[kept] / defined.sum(1)[kept]], found.name)
