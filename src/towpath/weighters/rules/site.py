"""Where a rule is asked: evaluations at any parameters, and how many there were."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor

from towpath.objective import Evaluation, Objective
from towpath.objective.live import Values
from towpath.weighters.start import Start

FORWARD = 1 / 3
"""a forward pass over an evaluation of a loss and its gradient"""


@dataclass(eq=False)
class Site:
    """One mini-batch's place in training: the objective, the optimiser and the seed of its masks.

    The same masks (dropout) are drawn for every task and at every x, so that losses are comparable.
    """

    objective: Objective
    start: Start
    seed: int
    work: float = 0.0
    """evaluations of single tasks so far"""

    def evaluate(
        self, x: Tensor, tasks: Sequence[Any], skip: Collection[int], *, all_used: bool = True
    ) -> Evaluation:
        """Losses and gradients at x; the model's buffers are left as they were."""
        return self.start.untouched(partial(self._ask, x, tasks, skip, all_used))

    def train(
        self, before: Values, x: Tensor, tasks: Sequence[Any], skip: Collection[int]
    ) -> tuple[Evaluation, Values]:
        """The same of the tasks that are trained on, and what they make of the model's buffers."""
        ask = partial(self._ask, x, tasks, skip, True)
        return self.start.training(before, ask, self.objective.ranks)

    def _ask(
        self, x: Tensor, tasks: Sequence[Any], skip: Collection[int], all_used: bool
    ) -> Evaluation:
        self.work += len(tasks)
        params = self.start.layout.unflatten(x)
        return self.objective.evaluate(params, tasks, skip=skip, all_used=all_used, seed=self.seed)

    def on_support(self, x: Tensor, tasks: Sequence[Any], skip: Collection[int]) -> Evaluation:
        """Episodes with their support sets as query sets, at x."""
        own = [replace(e, query_x=e.support_x, query_y=e.support_y) for e in tasks]
        return self.evaluate(x, own, skip, all_used=False)

    def losses(self, x: Tensor, tasks: Sequence[Any], skip: Collection[int]) -> Tensor:
        """Losses `[M]` at x, for a forward pass a task."""
        self.work += FORWARD * len(tasks)
        params = self.start.layout.unflatten(x)
        ask = partial(
            self.objective.evaluate, params, tasks, gradients=False, skip=skip, seed=self.seed
        )
        return self.start.untouched(ask).losses

    def features(self, x: Tensor, tasks: Sequence[Any]) -> list[Tensor]:
        """Features `[Q, D]` of each task's query inputs at x, for a forward pass each where the
        learner embeds."""
        self.work += FORWARD * len(tasks) if self.objective.embeds else 0.0
        params = self.start.layout.unflatten(x)
        return self.start.untouched(partial(self.objective.features, params, tasks, seed=self.seed))
