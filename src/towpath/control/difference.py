"""The difference between two costs of the same tasks, taken task by task.

    d_i = a_i - b_i          what changed for task i, float64
    change = sum d_i + prior
    error  = sd(d) sqrt(n)   standard error of the sum over tasks

The same tasks with the same random draws stand on both sides, so what they have in common cancels:
a task that did not change contributes neither to the difference nor to its error. A loss is rounded
when the network computes it, each task by itself. Such errors do not add up but scatter, so that a
sum of n losses is off by `sqrt(n)` roundings of one loss and not by n.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from towpath.control.prior import ActionPrior
from towpath.control.trajectory import Problem, Trajectory

ROUNDINGS = 32.0
"""rounding units by which the float32 losses of a network at two near states scatter: of ten
Omniglot tasks, against float64, 43 (root mean square; median 9; docs/decisions.md, 25)"""


@dataclass(frozen=True)
class Difference:
    """By how much the cost of one trajectory is above that of another."""

    change: float
    """of the whole cost, including the prior"""
    error: float
    """standard error of the change over the tasks; 0 where fewer than two tasks changed"""


def difference(trial: Trajectory[Any], nominal: Trajectory[Any], prior: ActionPrior) -> Difference:
    """Return the difference between the costs of two finished trajectories of one problem."""
    each = trial.single_costs() - nominal.single_costs()
    change = math.fsum(each.tolist()) + (prior.cost(trial.actions) - prior.cost(nominal.actions))
    return Difference(change, standard_error(each))


def standard_error(each: Tensor) -> float:
    """Return the standard error of the sum of differences `[n]` over the tasks that changed."""
    changed = each[each != 0]
    if len(changed) < 2:
        return 0.0
    return float(changed.std()) * math.sqrt(len(changed))


def rounding(problem: Problem[Any], trajectory: Trajectory[Any], prior: ActionPrior) -> float:
    """Return by how much rounding may change the difference from the cost of a trajectory.

    The losses are rounded in the dtype of the parameters, independently of each other; their sum in
    float64.
    """
    losses = problem.epsilon * float(trajectory.single_costs().norm())
    sums = float(torch.finfo(torch.float64).eps) * trajectory.magnitude(prior)
    return ROUNDINGS * (losses + sums)
