"""The targets as a rule sees them: trusted tasks, and the effect of a task on their loss.

    l_j, v     the targets' losses, and the gradient of their sum, at x
    f(x, u)    the parameters after the optimiser's own step on the weighted gradient J'u
    b [P]      derivative of that step in the gradient, coordinate by coordinate (the x row)
    s_i        influence of task i: how much one more unit of its weight lowers the targets' loss,
               -d/du_i sum_j l_j(f(x, u)) = -g_i . (b * v)

Everything is computed on first use, and counted as work. Ranks share the targets as they share the
tasks, and all of them get the same results.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from towpath.dynamics import SGDDynamics, State, plain_sgd
from towpath.objective import Evaluation
from towpath.weighters.rules.site import Site


class BadTargetsError(ArithmeticError):
    """Raised for targets whose loss or gradient is not finite; the plan stops and names them."""

    def __init__(self, indices: Sequence[int]) -> None:
        super().__init__(f"the targets {list(indices)} are not finite")
        self.indices = tuple(indices)


@dataclass(frozen=True, eq=False)
class TargetsSaid:
    """The targets evaluated at one point: losses `[n]` and the gradient `[P]` of their sum."""

    losses: Tensor
    gradient: Tensor
    accuracies: Tensor | None = None
    """`[n]`, where the tasks have classes"""

    @property
    def loss(self) -> Tensor:
        """The sum of the targets' losses at this point."""
        return self.losses.sum()


class Targets:
    """The n targets of one mini-batch (muted ones are left out), as a rule sees them.

    Args:
        site: evaluates the targets.
        state: parameters and moments before the step.
        said: the evaluation of the mini-batch's tasks at these parameters.
        kept: indices of the tasks that the rule sees, out of all.
        tasks: all targets of the mini-batch.
        muted: indices of targets to leave out.
    """

    def __init__(
        self,
        site: Site,
        state: State,
        said: Evaluation,
        kept: Sequence[int],
        tasks: Sequence[Any],
        muted: set[int],
    ) -> None:
        self._site, self._state, self._said = site, state, said
        self._kept, self._all, self._muted = list(kept), tasks, muted
        self._own = [i for i in range(len(tasks)) if i not in muted]
        self._ahead: dict[tuple[bool, tuple[float, ...]], TargetsSaid] = {}

    def __len__(self) -> int:
        return len(self._own)

    @property
    def tasks(self) -> list[Any]:
        """The target tasks, without the muted ones."""
        return [self._all[i] for i in self._own]

    @property
    def losses(self) -> Tensor:
        """The losses `[n]` of the targets at x."""
        return self._here.losses

    @property
    def loss(self) -> Tensor:
        """The sum of the targets' losses at x."""
        return self._here.loss

    @property
    def gradient(self) -> Tensor:
        """The gradient v `[P]` of the sum of the targets' losses at x."""
        return self._here.gradient

    def ahead(self, u: Tensor, *, sgd: bool = False) -> TargetsSaid:
        """Evaluate the targets after a step with weights `u [M]` of the mini-batch's tasks.

        Args:
            u: any finite weights, negative ones included.
            sgd: take the virtual step `x - lr J'u` of plain SGD in place of the optimiser's own.
        """
        u = self._checked(u)
        key = (sgd, tuple(u.tolist()))
        if key not in self._ahead:
            self._ahead[key] = self._ask(self._after(u, sgd=sgd))
        return self._ahead[key]

    @property
    def by_sgd(self) -> bool:
        """Whether the optimiser is SGD, with momentum or without, and does not clip gradients."""
        return isinstance(self._site.dynamics, SGDDynamics)

    @property
    def rates(self) -> Tensor:
        """The optimiser's learning rates `[P]`, by which a step of plain SGD multiplies."""
        x = self._state.x
        plain = plain_sgd(self._site.dynamics)
        return -plain.linearise(State(x, (), self._state.steps), x).b[0]

    def influence(self, u: Tensor | None = None, *, sgd: bool = False) -> Tensor:
        """Return `s [M]`: how much one more unit of a task's weight lowers the targets' summed
        loss.

        With `u`, it is exactly `-d/du_i sum_j l_j(f(x, u))`. Without, the targets are evaluated at
        x and the step is the uniform one: the same to first order, without a look ahead. With `sgd`
        the step is the virtual one of plain SGD, `x - lr J'u`.
        """
        if u is None:
            v = self.gradient
            u = self._said.losses.new_full((len(self._kept),), 1.0 / len(self._kept))
        else:
            u = self._checked(u)
            v = self.ahead(u, sgd=sgd).gradient
        if sgd:
            direction = -self.rates * v
        else:
            lin = self._site.dynamics.linearise(self._state, self._step_gradient(u))
            direction = lin.removed(lin.b[0] * v)
        return -self._said.held.along(direction)[self._kept]

    def features(self) -> list[Tensor]:
        """Return the features `[Q, D]` of each target, as `batch.features()` does for tasks."""
        return self._features

    @cached_property
    def _features(self) -> list[Tensor]:
        return self._site.features(self._state.x, self.tasks)

    @cached_property
    def _here(self) -> TargetsSaid:
        return self._ask(self._state.x)

    def _ask(self, x: Tensor) -> TargetsSaid:
        if not self._own:
            return TargetsSaid(x.new_zeros(0), torch.zeros_like(x))
        said = self._site.evaluate(x, self._all, self._muted, all_used=False)
        wrong = said.bad_indices()
        if wrong:
            raise BadTargetsError(wrong)
        # the gradients of muted targets are zero
        gradient = said.held.weighted(torch.ones_like(said.losses))
        shown = None if said.accuracies is None else said.accuracies[self._own]
        return TargetsSaid(said.losses[self._own], gradient, shown)

    def _after(self, u: Tensor, *, sgd: bool) -> Tensor:
        dynamics = self._site.dynamics
        gradient = self._step_gradient(u)
        if sgd:
            return plain_sgd(dynamics).step(State(self._state.x, (), self._state.steps), gradient).x
        return dynamics.step(self._state, gradient).x

    def _step_gradient(self, u: Tensor) -> Tensor:
        """Return the weighted gradient `J'u [P]`."""
        weights = torch.zeros_like(self._said.losses)
        weights[self._kept] = u
        return self._said.held.weighted(weights)

    def _checked(self, u: Tensor) -> Tensor:
        like = self._said.losses
        u = torch.as_tensor(u, dtype=like.dtype, device=like.device)
        if u.shape != (len(self._kept),) or not bool(torch.isfinite(u).all()):
            raise ValueError(
                f"The targets were asked ahead with the weights {u.tolist()}; expected "
                f"{len(self._kept)} finite numbers, one for each task of the mini-batch."
            )
        return u
