"""What a rule sees of one mini-batch of M tasks.

    losses     [M]      query loss of each task at the current parameters x
    gradients  [M, P]   one row a task
    infos               the tasks' info dictionaries (group, classes, ...), empty for plain tasks
    step                mini-batches that the rule has seen before this one, over the whole training
    tasks               the tasks themselves, and `features()` of their query inputs
    targets             trusted tasks, for rules that want them (`towpath.weighters.rules.targets`)

Tasks that are muted (their numbers are not finite) are left out everywhere. What is not a plain
number a task is computed when a rule first asks for it: ranks that share the tasks then send no
gradients to a rule that decides by losses.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from towpath.weighters.rules.targets import Targets


@dataclass(frozen=True, eq=False)
class Looks:
    """What a rule may ask of a mini-batch's tasks beyond losses and gradients, each for a price."""

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
        gradients: `[M, P]`, or a function that computes them when they are asked for.
        infos: one dictionary a task; None for tasks that say nothing of themselves.
        step: mini-batches seen before this one.
        tasks: the tasks themselves.
        along: computes the inner products of the gradients with a direction.
        looks: what else can be asked of the tasks.
        targets: the trusted tasks, for a rule that wants them.
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
    ) -> None:
        self.losses = losses
        self.infos: Sequence[Mapping[str, Any]] = [{} for _ in losses] if infos is None else infos
        self.step = step
        self.tasks = tasks
        self._gradients, self._along = gradients, along
        self._looks, self._targets = looks, targets

    def __len__(self) -> int:
        return len(self.losses)

    @cached_property
    def gradients(self) -> Tensor:
        """`[M, P]`; gathered from all ranks where several share the tasks."""
        given = self._gradients
        return given if isinstance(given, Tensor) else given()

    def along(self, direction: Tensor) -> Tensor:
        """`g_i . direction  [M]`: ranks that share the tasks send a number a task for it, where
        `gradients` would send P."""
        return self.gradients @ direction if self._along is None else self._along(direction)

    def losses_at(self, moved: Tensor) -> Tensor:
        """`[M]`: the losses at `x + moved`, for a forward pass a task."""
        if self._looks.losses_at is None:
            raise ValueError(
                "This mini-batch was made without losses elsewhere; expected the one that a plan "
                "passes to a rule. Pass looks=Looks(losses_at=...) to tp.MiniBatch."
            )
        return self._looks.losses_at(moved)

    def support_gradients(self) -> Tensor | None:
        """`[M, P]`: the gradients of the tasks' losses on their own support sets, after the same
        adaptation, for an evaluation a task; None where the learner has no inner loop."""
        ask = self._looks.support_gradients
        return None if ask is None else ask()

    @property
    def targets(self) -> Targets:
        """The trusted tasks of this mini-batch; ValueError for a rule that did not ask for them."""
        if self._targets is None:
            raise ValueError(
                "The rule looked at batch.targets and found none; expected a class that says that "
                "it wants them. Write `wants_targets = True` into the class."
            )
        return self._targets

    def features(self) -> list[Tensor]:
        """`[Q, D]` for each task: its query inputs in the learner's embedding, or flattened where
        the learner has none."""
        return self._known_features

    @cached_property
    def _known_features(self) -> list[Tensor]:
        if self._looks.features is None:
            raise ValueError(
                "This mini-batch was made without features; expected the one that a plan passes to "
                "a rule. Pass looks=Looks(features=...) to tp.MiniBatch."
            )
        return self._looks.features()
