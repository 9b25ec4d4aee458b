"""A mini-batch that was evaluated in training, and the view of it that a rule gets.

A rule's own training evaluates mini-batches for it (`rule`), and so does a plan whose nominal is
the rule (`towpath.weighters.tow.nominal`): both show the rule the same.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from towpath.dynamics import State
from towpath.objective import Evaluation
from towpath.weighters.rules.minibatch import Looks, MiniBatch
from towpath.weighters.rules.site import Site
from towpath.weighters.rules.targets import Targets


@dataclass(frozen=True, eq=False)
class Seen:
    """M tasks with their losses and gradients at the state before their step."""

    site: Site
    """makes further evaluations, and counts them"""
    here: State
    said: Evaluation
    tasks: Sequence[Any]
    goals: Sequence[Any] | None = None
    """the targets; None for a rule that wants none"""
    muted: Collection[int] = ()
    """indices of tasks that are left out"""
    muted_goals: Collection[int] = ()

    @cached_property
    def kept(self) -> list[int]:
        """The indices of the tasks that the rule sees."""
        return [i for i in range(len(self.tasks)) if i not in self.muted]

    def mini_batch(self, step: int) -> MiniBatch:
        """Return what the rule sees: the tasks that are kept, after `step` earlier mini-batches."""
        site, said, x, kept, skip = self.site, self.said, self.here.x, self.kept, self.muted
        tasks = [self.tasks[i] for i in kept]
        targets = None
        if self.goals is not None:
            targets = Targets(site, self.here, said, kept, self.goals, set(self.muted_goals))
        return MiniBatch(
            said.losses[kept],
            lambda: said.gradients[kept],
            [getattr(task, "info", {}) for task in tasks],
            step,
            tasks=tasks,
            along=lambda direction: said.held.along(direction)[kept],
            looks=Looks(
                features=lambda: site.features(x, tasks),
                losses_at=lambda moved: site.losses(x + moved, self.tasks, skip)[kept],
                support_gradients=(
                    (lambda: site.on_support(x, self.tasks, skip).gradients[kept])
                    if site.objective.adapts
                    else None
                ),
            ),
            targets=targets,
            accuracies=None if said.accuracies is None else said.accuracies[kept],
            evidence=lambda: said.evidence[kept],
        )
