"""The data of one mini-batch of M tasks that a rule sees.

    losses     [M]      query loss of each task at the current parameters x
    gradients  [M, P]   one row per task
    infos               the tasks' info dictionaries (group, classes, ...), empty for plain tasks
    accuracies [M]      accuracy on each task's query set, NaN where it has no classes
    evidence   [M]      how sure the labels of each task mean something: about N(0, 1) if they do
                        not (`towpath.label_evidence`), NaN where a task has no labels
    step                mini-batches that the rule has seen before this one, over the whole training
    tasks               the tasks themselves, and `features()` of their query inputs
    targets             trusted tasks, for rules that want them (`towpath.weighters.rules.targets`)

Tasks that are muted (their numbers are not finite) are left out everywhere. What is not a plain
number a task is computed when a rule first asks for it: ranks that share the tasks then send no
gradients to a rule that decides by losses.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from towpath.weighters.rules.targets import Targets


@dataclass(frozen=True, eq=False)
class Looks:
    """Evaluations of a mini-batch's tasks beyond losses and gradients, each at extra cost."""

    features: Callable[[], list[Tensor]] | None = None
    """the query inputs `[Q, D]` of each task, as the learner embeds them"""
    losses_at: Callable[[Tensor], Tensor] | None = None
    """the losses `[M]` at the parameters moved by a vector `[P]`"""
    support_gradients: Callable[[], Tensor] | None = None
    """the gradients `[M, P]` of the losses on the support sets; None without an inner loop"""


NOTHING_MORE = Looks()


class MiniBatch:
    """One mini-batch as a rule sees it; `towpath.weighters.rules.minibatch` names the parts.

    Args:
        losses: `[M]`.
        gradients: `[M, P]`, or a function that computes them on first use.
        infos: one dictionary per task; None for tasks without information.
        step: mini-batches seen before this one.
        tasks: the tasks themselves.
        along: computes the inner products of the gradients with a direction.
        looks: further evaluations of the tasks.
        targets: the trusted tasks, for a rule that wants them.
        accuracies: on the tasks' query sets, `[M]`; None where there are no classes.
        evidence: that the tasks' labels mean something, `[M]`, or a function that computes it on
            first use; None where it is not known.
    """

    def __init__(
        self,
        losses: Tensor,
        gradients: Tensor | Callable[[], Tensor],
        infos: Sequence[Mapping[str, Any]] | None = None,
        step: int = 0,
        *,
        tasks: Sequence[Any] = (),
        along: Callable[[Tensor], Tensor] | None = None,
        looks: Looks = NOTHING_MORE,
        targets: Targets | None = None,
        accuracies: Tensor | None = None,
        evidence: Tensor | Callable[[], Tensor] | None = None,
    ) -> None:  # ten parameters because each is a part that a rule may read
        self.losses = losses
        self.accuracies = torch.full_like(losses, torch.nan) if accuracies is None else accuracies
        self._evidence = evidence
        self.infos: Sequence[Mapping[str, Any]] = [{} for _ in losses] if infos is None else infos
        self.step = step
        self.tasks = tasks
        self._gradients, self._along = gradients, along
        self._looks, self._targets = looks, targets

    def __len__(self) -> int:
        return len(self.losses)

    def at_step(self, step: int) -> "MiniBatch":
        """Return the same mini-batch for a rule that has seen another number of them."""
        other = copy.copy(self)
        other.step = step
        return other

    @cached_property
    def gradients(self) -> Tensor:
        """The gradients `[M, P]`, gathered from all ranks where several share the tasks."""
        given = self._gradients
        return given if isinstance(given, Tensor) else given()

    @cached_property
    def evidence(self) -> Tensor:
        """The evidence `[M]` that the tasks' labels mean something; NaN where it is not known."""
        given = self._evidence
        if given is None:
            return torch.full_like(self.losses, torch.nan)
        return given if isinstance(given, Tensor) else given()

    def along(self, direction: Tensor) -> Tensor:
        """Return the inner products `g_i . direction  [M]`.

        Ranks that share the tasks send one number per task for it; for `gradients` they send P.
        """
        return self.gradients @ direction if self._along is None else self._along(direction)

    def losses_at(self, moved: Tensor) -> Tensor:
        """Return the losses `[M]` at `x + moved`, at one forward pass per task."""
        if self._looks.losses_at is None:
            raise ValueError(
                "This mini-batch was made without losses elsewhere; expected the one that a plan "
                "passes to a rule. Pass looks=Looks(losses_at=...) to tp.MiniBatch."
            )
        return self._looks.losses_at(moved)

    @property
    def adapts(self) -> bool:
        """Whether the learner adapts to a task by steps of an inner loop."""
        return self._looks.support_gradients is not None

    def support_gradients(self) -> Tensor | None:
        """Return the gradients `[M, P]` of the tasks' losses on their own support sets.

        They are taken after the same adaptation and cost one evaluation per task. None if the
        learner has no inner loop.
        """
        ask = self._looks.support_gradients
        return None if ask is None else ask()

    @property
    def targets(self) -> Targets:
        """The trusted tasks of this mini-batch; a ValueError for a rule without `wants_targets`."""
        if self._targets is None:
            raise ValueError(
                "The rule looked at batch.targets and found none; expected a class that says that "
                "it wants them. Write `wants_targets = True` into the class."
            )
        return self._targets

    def features(self) -> list[Tensor]:
        """Return the features `[Q, D]` of each task's query inputs.

        They are the learner's embedding, or the flattened inputs for a learner without one.
        """
        return self._known_features

    @cached_property
    def _known_features(self) -> list[Tensor]:
        if self._looks.features is None:
            raise ValueError(
                "This mini-batch was made without features; expected the one that a plan passes to "
                "a rule. Pass looks=Looks(features=...) to tp.MiniBatch."
            )
        return self._looks.features()
