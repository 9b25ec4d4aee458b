"""How far to go: halve the step until the true cost confirms the model."""

from dataclasses import dataclass
from typing import Generic

from towpath.control.descent import Direction
from towpath.control.prior import ActionPrior
from towpath.control.trajectory import Allows, Kept, Problem, Trajectory, Work

FREE_HALVINGS = 30
"""bound on the steps that are refused without an evaluation"""


@dataclass(frozen=True, eq=False)
class Step(Generic[Kept]):
    """The trial that was accepted, if one was, and what the search took."""

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
        """The first step size whose true cost is low enough.

        A step that is refused before anything was evaluated (a negative weight in the first
        mini-batch) costs nothing and does not count as a trial.

        Args:
            direction: which way to go.
            problem: rolls trials out.
            current: the trajectory that the direction starts from.
            prior: the prior of the actions.
            slack: rounding of the cost, which may hide a decrease.
            allows: whether an action is feasible.
            derivatives: whether an accepted trial will be modelled.
        """
        eps, work, trials = 1.0, Work(), 0
        J_hat = current.cost(prior)
        for _ in range(self.max_trials + FREE_HALVINGS):
            candidate = problem.rollout(
                direction.policy(eps), derivatives=derivatives, allows=allows
            )
            work = work + candidate.work
            if candidate.feasible or candidate.work.any:
                trials += 1
            if candidate.finite and candidate.feasible:
                change = candidate.cost(prior) - J_hat
                enough = self.sufficient_decrease * eps * direction.theta + slack
                if change <= 0.0 and change <= enough:
                    return Step(candidate, eps, trials, work)
            if trials >= self.max_trials:
                break
            del candidate  # before the next one grows
            eps *= 0.5
        return Step(None, 0.0, trials, work)
