"""The line search: halve the step size until the true cost confirms the model's prediction.

A trial differs from the nominal in every task, by more in some than in others, and the difference
of the costs has a standard error over the tasks. A search that knows of chance takes a decrease
that falls short of the promise by no more than that error, and breaks a trial off that is beyond
it. No trial above the nominal is taken, whatever the error.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

import torch
from torch import Tensor

from towpath.control.descent import Direction
from towpath.control.difference import Difference, difference, standard_error
from towpath.control.prior import ActionPrior
from towpath.control.trajectory import Allows, GoesOn, Kept, Problem, Trajectory, Work

FREE_HALVINGS = 30
"""the largest number of steps that may be rejected without an evaluation"""
BEYOND = 2.0
"""a trial is broken off when it is above the nominal by this many times what chance explains"""


@dataclass(frozen=True)
class Outlook:
    """What the solution of one problem says about the next one, which is like it."""

    eps: float = 1.0
    """the step size at which the first search ended"""
    further: bool = True
    """whether a second iteration may show a decrease, so that trials are worth modelling"""


@dataclass(frozen=True, eq=False)
class Step(Generic[Kept]):
    """The accepted trial, if there is one, and the work that the search took."""

    accepted: Trajectory[Kept] | None
    eps: float
    trials: int
    work: Work
    noise: float = 0.0
    """standard error of the last finished trial's difference, over its step size"""
    surprising: bool = False
    """whether the accepted trial is further from its prediction than chance explains, and no cost
    rejected a trial before it: its length was what was wrong then, not what is left to gain"""
    modelled: bool = False
    """whether the accepted trial has derivatives: if they were asked for and, where chance is known
    of, the cost of no earlier trial was too high"""


@dataclass(frozen=True)
class Search:
    """A search along a direction with the step sizes 1, 1/2, 1/4, ...

    The first search of a problem starts near the step size at which that of the problem before
    ended. A search that knows of chance prepares a second iteration only if the problem before
    makes it likely that there will be one: derivatives of a trial cost more than half a trial.
    """

    max_trials: int = 10
    sufficient_decrease: float = 0.1
    """c1 of the acceptance test"""
    chance: float = 0.0
    """standard errors over the tasks that count as chance; 0 for a strict search, which knows no
    error"""
    outlook: Outlook = Outlook()
    """what is known from the problem before this one"""
    jumps: bool = False
    """whether a rejected trial says which step sizes need not be tried (`_longest`): in iterations
    after the first, which have less to gain"""

    @property
    def first(self) -> float:
        """The first step size: twice that of the problem before, so that it can grow again."""
        return min(1.0, 2.0 * self.outlook.eps)

    @property
    def prepares(self) -> bool:
        """Whether the trials of the first iteration are rolled out with derivatives."""
        return self.chance == 0.0 or self.outlook.further

    def after(self, eps: float) -> "Search":
        """Return the search of the next iteration, which starts at step size `eps`."""
        return replace(self, outlook=replace(self.outlook, eps=eps), jumps=True)

    def hides(self, direction: Direction, eps: float, noise: float) -> bool:
        """Return whether chance would hide the decrease that is predicted for a step size.

        Args:
            direction: the direction to search along.
            eps: the step size.
            noise: standard error of a difference over its step size; 0 if it is not known.
        """
        visible = self.chance * noise * eps
        return visible > 0.0 and direction.predicted_decrease(eps) < visible

    def along(
        self,
        direction: Direction,
        problem: Problem[Kept],
        current: Trajectory[Kept],
        prior: ActionPrior,
        *,
        slack: float,
        allows: Allows,
        derivatives: bool,
    ) -> Step[Kept]:
        """Return the first trial whose true cost is low enough, or a step without one.

        A trial that is rejected before anything was evaluated (a negative weight in the first
        mini-batch) costs nothing and does not count.

        Args:
            direction: the direction to search along.
            problem: rolls trials out through the true dynamics.
            current: the trajectory that the direction starts from.
            prior: the prior of the actions.
            slack: rounding error of the difference of two costs, which may hide a decrease.
            allows: whether an action is feasible.
            derivatives: whether an accepted trial will be modelled. A search that knows of chance
                models a trial only if the cost rejected none before it.
        """
        eps, work, trials, noise = self.first, Work(), 0, 0.0
        wrong, skipped = False, 0
        for _ in range(self.max_trials + FREE_HALVINGS):
            modelled = derivatives and not (wrong and self.chance > 0.0)
            candidate = problem.rollout(
                direction.policy(eps),
                derivatives=modelled,
                allows=allows,
                goes_on=self._watching(current, prior),
            )
            work, change = work + candidate.work, math.nan
            if candidate.feasible or candidate.work.any:
                trials += 1
            if candidate.finite and candidate.feasible and candidate.complete:
                found = difference(candidate, current, prior)
                noise, change = found.error / eps, found.change
                # the two sums as well, so that no rounding of them shows a plan above its nominal
                lower = found.change <= 0.0 and candidate.cost(prior) <= current.cost(prior)
                if lower and found.change <= self._enough(eps * direction.theta, slack, found):
                    missed = abs(found.change + direction.predicted_decrease(eps))
                    surprising = missed > self.chance * found.error and not wrong
                    return Step(candidate, eps, trials, work, noise, surprising, modelled)
            if trials + skipped >= self.max_trials:
                break
            wrong = wrong or candidate.feasible  # not the bounds but the cost rejected it
            del candidate  # free its memory before the next trial is rolled out
            longest = self._longest(eps, change, direction.theta)
            eps *= 0.5
            while eps > longest and trials + skipped < self.max_trials - 1:
                eps, skipped = 0.5 * eps, skipped + 1
        return Step(None, 0.0, trials, work, noise)

    def _longest(self, eps: float, change: float, theta: float) -> float:
        """Return the longest step size worth trying after a rejected one.

        A search that `jumps` takes the parabola of slope theta through the rejected trial, on which
        longer steps would be rejected as well.

        Args:
            eps: the rejected step size.
            change: by how much the cost of its trial was above the nominal's; NaN if unknown.
            theta: the slope of the cost at step size 0.
        """
        bend = change - eps * theta
        if not self.jumps or not bend > 0.0:
            return eps
        return (1.0 - self.sufficient_decrease) * -theta * eps * (eps / bend)

    def _enough(self, promised: float, slack: float, found: Difference) -> float:
        """Return the largest change of the cost with which a trial is accepted."""
        return self.sufficient_decrease * promised + max(slack, self.chance * found.error)

    def _watching(self, current: Trajectory[Kept], prior: ActionPrior) -> GoesOn | None:
        """Return whether a trial may go on, from the costs so far; None for a strict search.

        The prior may make up for at most what it costs now.
        """
        if self.chance == 0.0:
            return None
        known, spare = current.single_costs(), prior.cost(current.actions)

        def goes_on(costs: Sequence[Tensor]) -> bool:
            """Return False if the costs so far are above the nominal's beyond chance."""
            sofar = torch.cat(list(costs))
            each = sofar - known[: len(sofar)]
            error = standard_error(each)  # 0 if it is not known
            return error == 0.0 or float(each.sum()) <= spare + BEYOND * self.chance * error

        return goes_on
