"""The line search: halve the step size until the true cost confirms the model's prediction."""

from dataclasses import dataclass
from typing import Generic

from towpath.control.descent import Direction
from towpath.control.difference import difference
from towpath.control.prior import ActionPrior
from towpath.control.trajectory import Allows, Kept, Problem, Trajectory, Work

FREE_HALVINGS = 30
"""the largest number of steps that may be rejected without an evaluation"""


@dataclass(frozen=True, eq=False)
class Step(Generic[Kept]):
    """The accepted trial, if there is one, and the work that the search took."""

    accepted: Trajectory[Kept] | None
    eps: float
    trials: int
    work: Work


@dataclass(frozen=True)
class Search:
    """A search along a direction with the step sizes 1, 1/2, 1/4, ..."""

    max_trials: int = 10
    sufficient_decrease: float = 0.1
    """c1 of the acceptance test"""

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
            derivatives: whether an accepted trial will be modelled.
        """
        eps, work, trials = 1.0, Work(), 0
        for _ in range(self.max_trials + FREE_HALVINGS):
            candidate = problem.rollout(
                direction.policy(eps), derivatives=derivatives, allows=allows
            )
            work = work + candidate.work
            if candidate.feasible or candidate.work.any:
                trials += 1
            if candidate.finite and candidate.feasible:
                change = difference(candidate, current, prior).change
                enough = self.sufficient_decrease * eps * direction.theta + slack
                # the two sums as well, so that no rounding of them shows a plan above its nominal
                lower = change <= 0.0 and candidate.cost(prior) <= current.cost(prior)
                if lower and change <= enough:
                    return Step(candidate, eps, trials, work)
            if trials >= self.max_trials:
                break
            del candidate  # free its memory before the next trial is rolled out
            eps *= 0.5
        return Step(None, 0.0, trials, work)
