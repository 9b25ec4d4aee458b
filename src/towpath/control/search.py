"""The line search: halve the step size until the true cost confirms the model's prediction.

A trial differs from the nominal in every task, by more in some than in others, and the difference
of the costs has a standard error over the tasks. A search that knows of chance takes a decrease
that falls short of the promise by no more than that error, and breaks a trial off that is beyond
it. Where the promise is far below the error, chance alone decides whether a trial lowers the cost:
the search then ends with the first trial that does not.
No trial above the nominal is taken, whatever the error.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic

import torch
from torch import Tensor

from towpath.control.descent import Direction
from towpath.control.difference import Difference, difference, standard_error
from towpath.control.prior import ActionPrior
from towpath.control.status import Status
from towpath.control.trajectory import Allows, GoesOn, Kept, Problem, Trajectory, Work

FREE_HALVINGS = 30
"""the largest number of steps that may be rejected without an evaluation"""
BEYOND = 2.0
"""a trial is broken off when it is above the nominal by this many times what chance explains"""
DROWNED = 0.1
"""a promise below this share of what chance explains is drowned: no trial can show it, and neither
can a shorter step, which promises less"""


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
    """whether the accepted trial is further from its prediction than chance explains, although it
    promised enough to be seen, and no cost rejected a trial before it: its length was what was
    wrong then, not what is left to gain"""
    modelled: bool = False
    """whether the accepted trial has derivatives: if they were asked for and, where chance is known
    of, the cost of no earlier trial was too high"""
    drowned: bool = False
    """whether the search ended without a trial because chance alone decides about them"""

    @property
    def failure(self) -> Status:
        """Why there is no accepted trial."""
        return Status.NO_SIGNIFICANT_DECREASE if self.drowned else Status.LINE_SEARCH_FAILED


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
        return replace(self, outlook=replace(self.outlook, eps=eps))

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
        wrong, skipped, drowned = False, 0, False
        for _ in range(self.max_trials + FREE_HALVINGS):
            modelled = derivatives and not (wrong and self.chance > 0.0)
            candidate = problem.rollout(
                direction.policy(eps),
                derivatives=modelled,
                allows=allows,
                goes_on=self._watching(current, prior),
            )
            work = work + candidate.work
            if candidate.feasible or candidate.work.any:
                trials += 1
            found = _found(candidate, current, prior)
            if found is not None:
                noise, predicted = found.error / eps, direction.predicted_decrease(eps)
                drowned = self._drowns(found, predicted)
                if self._accepts(found, eps * direction.theta, slack):
                    missed = abs(found.change + predicted) > self.chance * found.error
                    surprising = missed and not (wrong or drowned)
                    return Step(candidate, eps, trials, work, noise, surprising, modelled)
            if drowned or trials + skipped >= self.max_trials:
                break
            wrong = wrong or candidate.feasible  # not the bounds but the cost rejected it
            del candidate  # free its memory before the next trial is rolled out
            longest = self._longest(eps, found, direction.theta)
            eps *= 0.5
            while eps > longest and trials + skipped < self.max_trials - 1:
                eps, skipped = 0.5 * eps, skipped + 1
        return Step(None, 0.0, trials, work, noise, drowned=drowned)

    def _longest(self, eps: float, found: Difference | None, theta: float) -> float:
        """Return the longest step size worth trying after a rejected one.

        On the parabola of slope theta through the rejected trial, longer steps would be rejected as
        well.

        Args:
            eps: the rejected step size.
            found: how its trial differs from the nominal; None if it was not finished.
            theta: the slope of the cost at step size 0.
        """
        bend = 0.0 if found is None else found.change - eps * theta
        if not bend > 0.0:
            return eps
        return (1.0 - self.sufficient_decrease) * -theta * eps * (eps / bend)

    def _accepts(self, found: Difference, promised: float, slack: float) -> bool:
        """Return whether a trial is taken: never one above the nominal.

        Args:
            found: how the trial differs from the nominal.
            promised: the change of the cost to first order, at most 0.
            slack: rounding error of the difference.
        """
        spare = max(slack, self.chance * found.error)
        return found.change <= min(0.0, self.sufficient_decrease * promised + spare)

    def _drowns(self, found: Difference, predicted: float) -> bool:
        """Return whether chance explains how a trial came out, and hides all that it promised.

        Args:
            found: how the trial differs from the nominal.
            predicted: the decrease that was predicted for it.
        """
        explained = self.chance * found.error
        return explained > 0.0 and found.change <= explained and predicted < DROWNED * explained

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


def _found(
    trial: Trajectory[Kept], nominal: Trajectory[Kept], prior: ActionPrior
) -> Difference | None:
    """Return how a trial differs from the nominal; None if it was not finished."""
    if not (trial.finite and trial.feasible and trial.complete):
        return None
    found = difference(trial, nominal, prior)
    # the two sums as well, so that no rounding of them shows a plan above its nominal
    return replace(found, change=max(found.change, trial.cost(prior) - nominal.cost(prior)))
