"""The evaluations that a rule may request at any parameters, and a count of their cost."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor

from towpath.dynamics import Dynamics
from towpath.objective import Evaluation, Objective
from towpath.objective.live import Values
from towpath.weighters.start import Start

FORWARD = 1 / 3
"""cost of a forward pass relative to an evaluation of a loss and its gradient"""


@dataclass(eq=False)
class Site:
    """The place of one mini-batch in training: objective, optimiser and the seed of its draws.

    Random draws (dropout masks) are the same at every x, so that losses are comparable.
    """

    objective: Objective
    start: Start
    seed: int
    stage: int = 0
    """number of the mini-batch in its window"""
    work: float = 0.0
    """evaluations of single tasks so far"""

    @property
    def dynamics(self) -> Dynamics:
        """The optimiser's step on this mini-batch."""
        return self.start.optimizer.stage(self.stage)

    def evaluate(
        self, x: Tensor, tasks: Sequence[Any], skip: Collection[int], *, all_used: bool = True
    ) -> Evaluation:
        """Return losses and gradients at x; the model's buffers are restored.

        Args:
            x: the parameters `[P]`.
            tasks: the tasks to evaluate.
            skip: indices of tasks that are left out.
            all_used: whether a parameter that no task uses is an error.
        """
        return self.start.untouched(partial(self._ask, x, tasks, skip, all_used))

    def train(
        self, before: Values, x: Tensor, tasks: Sequence[Any], skip: Collection[int]
    ) -> tuple[Evaluation, Values]:
        """Evaluate tasks that are trained on; return the result and the model's buffers after it.

        Args:
            before: the model's buffers before the evaluation.
            x: the parameters `[P]`.
            tasks: the tasks to evaluate.
            skip: indices of tasks that are left out.
        """
        ask = partial(self._ask, x, tasks, skip, True)
        return self.start.training(before, ask, self.objective.ranks)

    def _ask(
        self, x: Tensor, tasks: Sequence[Any], skip: Collection[int], all_used: bool
    ) -> Evaluation:
        self.work += len(tasks)
        params = self.start.layout.unflatten(x)
        return self.objective.evaluate(params, tasks, skip=skip, all_used=all_used, seed=self.seed)

    def on_support(self, x: Tensor, tasks: Sequence[Any], skip: Collection[int]) -> Evaluation:
        """Evaluate episodes at x with their support sets in place of their query sets."""
        own = [replace(e, query_x=e.support_x, query_y=e.support_y) for e in tasks]
        return self.evaluate(x, own, skip, all_used=False)

    def losses(self, x: Tensor, tasks: Sequence[Any], skip: Collection[int]) -> Tensor:
        """Return the losses `[M]` at x, at one forward pass per task."""
        self.work += FORWARD * len(tasks)
        params = self.start.layout.unflatten(x)
        ask = partial(
            self.objective.evaluate, params, tasks, gradients=False, skip=skip, seed=self.seed
        )
        return self.start.untouched(ask).losses

    def features(self, x: Tensor, tasks: Sequence[Any]) -> list[Tensor]:
        """Return the features `[Q, D]` of each task's query inputs at x.

        They cost one forward pass per task if the learner has an embedding.
        """
        self.work += FORWARD * len(tasks) if self.objective.embeds else 0.0
        params = self.start.layout.unflatten(x)
        return self.start.untouched(partial(self.objective.features, params, tasks, seed=self.seed))
