"""The linear-quadratic model of a trajectory, in the letters of the textbook.

    z_t   [k, P]     state: coordinate p has its own k numbers (parameter and moments)
    u_t   [M]        action
    A     [k, k, P]  F_x, a k x k block per coordinate
    b, J  [k, P], [M, P]   F_u[i, p, m] = b[i, p] J[m, p]: the action enters through the gradient
    c_x, C_xx  [P], [P]    gradient and diagonal curvature of the stage's cost in x (entry 0 of z)

The tasks behind the dynamics (J, and the curvature inside A) and those behind the cost (c_x, C_xx)
may differ. The prior beta/2 |u - mu|^2 belongs to the solver, not to the stages.

Coordinates mix only in sums over P that end in a few numbers (products with F_u'). So a model may
have a part of the coordinates only, if its `total` adds up the few numbers of all parts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.control.blocks import applied_transposed, congruent

Product = Callable[[Tensor], Tensor]
Total = Callable[[Tensor], Tensor]
"""A few numbers of a part of the coordinates, float64 -> those of all coordinates."""


def whole(numbers: Tensor) -> Tensor:
    """Return the numbers unchanged: the total of a model that has every coordinate."""
    return numbers


@dataclass(frozen=True, eq=False)
class ExactProduct:
    """The true product `(dg/dx)' y`, which replaces the diagonal model `gam * y` in the costate."""

    product: Product
    gam: Tensor
    """`[P]`, the diagonal curvature in A, which the exact product replaces."""


@dataclass(frozen=True, eq=False)
class StageModel:
    """The model of one stage about the nominal, in the letters explained in the module."""

    A: Tensor
    b: Tensor
    J: Tensor
    c_x: Tensor
    C_xx: Tensor
    exact: ExactProduct | None = None

    def F_u_transposed(self, y: Tensor) -> Tensor:  # noqa: N802
        """Return `F_u' y [M]` for y `[k, P]`, summed over the coordinates of this model."""
        return self.J @ (self.b * y).sum(0)

    def F_x_transposed(self, y: Tensor) -> Tensor:  # noqa: N802
        """Return `F_x' y [k, P]` with the diagonal model of the curvature."""
        return applied_transposed(self.A, y)

    def value_before(self, W: Tensor) -> Tensor:
        """Return `C_xx + F_x' W F_x`, block by block `[k, k, P]`."""
        result = congruent(self.A, W)
        result[0, 0] += self.C_xx
        return result

    def costate_step(self, y: Tensor) -> Tensor:
        """Return `F_x' y` for a costate y, with the true Hessian product where there is one."""
        result = self.F_x_transposed(y)
        if self.exact is not None:
            through = (self.b * y).sum(0)
            result[0] += self.exact.product(through) - self.exact.gam * through
        return result


@dataclass(frozen=True, eq=False)
class TerminalCost:
    """Gradient and diagonal curvature `[P]` of the cost at the state after the last stage."""

    c_x: Tensor
    C_xx: Tensor


@dataclass(frozen=True, eq=False)
class Model:
    """T stages and, if the state after the last one has a cost, that cost."""

    stages: Sequence[StageModel]
    terminal: TerminalCost | None = None
    total: Total = whole
    held: Tensor | None = None
    """`[T, M]` bool: marks actions without any effect, whose weight on the simplex is 0; never all
    of a stage"""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The sizes T, M, k and P, where P counts the coordinates of this model."""
        first = self.stages[0]
        return len(self.stages), first.J.shape[0], first.b.shape[0], first.b.shape[1]

    @property
    def is_linear(self) -> bool:
        """Whether the cost has no curvature at any state that an action can change."""
        reached = [stage.C_xx for stage in self.stages[1:]]
        if self.terminal is not None:
            reached.append(self.terminal.C_xx)
        curved = sum(bool(C_xx.any()) for C_xx in reached)
        return not bool(self.total(self.stages[0].J.new_tensor([curved], dtype=torch.float64)))

    def is_finite(self) -> bool:
        """Return whether every number that a sweep reads is finite."""
        parts = [x for s in self.stages for x in (s.A, s.b, s.J, s.c_x, s.C_xx)]
        if self.terminal is not None:
            parts += [self.terminal.c_x, self.terminal.C_xx]
        gradient = costate_gradient(self)
        bad = sum(int((~torch.isfinite(part)).sum()) for part in (*parts, gradient))
        return not bool(self.total(gradient.new_tensor([float(bad)])))

    def zero_state(self) -> Tensor:
        """Return a state `[k, P]` of zeros."""
        return torch.zeros_like(self.stages[0].b)

    def final_gradient(self) -> Tensor:
        """Return the gradient `v_{T+1} [k, P]` of the terminal cost; zero if there is none."""
        v = self.zero_state()
        if self.terminal is not None:
            v[0] = self.terminal.c_x
        return v

    def final_blocks(self) -> Tensor:
        """Return the curvature `V_{T+1} [k, k, P]` of the terminal cost: its xx entries only."""
        W = torch.zeros_like(self.stages[0].A)
        if self.terminal is not None:
            W[0, 0] = self.terminal.C_xx
        return W


def backward_costates(model: Model) -> Iterator[tuple[int, Tensor]]:
    """Yield `(t, lam_{t+1} [k, P])` from the last stage to the first.

    The costate `lam_{t+1}` is the gradient of the cost-to-go in the state after stage t:
    `lam_t = c_x + F_x' lam_{t+1}`. F_x of stage 1 is never needed.
    """
    lam = model.final_gradient()
    for t in range(len(model.stages) - 1, -1, -1):
        yield t, lam
        if t:
            stage = model.stages[t]
            lam = stage.costate_step(lam)
            lam[0] += stage.c_x


def costate_gradient(model: Model) -> Tensor:
    """Return the gradient `dJ/du_t = F_u' lam_{t+1}` of the state cost, for all stages `[T, M]`.

    It is in float64 and does not include the prior.
    """
    rows = [model.stages[t].F_u_transposed(lam).double() for t, lam in backward_costates(model)]
    return model.total(torch.stack(rows[::-1]))
