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

A and b are larger than what they follow from. A `Stage` therefore only promises them: it makes the
`StageModel` of some coordinates on demand, and whoever reads it in parts never holds all of A.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import torch
from torch import Tensor

from towpath.control.blocks import applied_transposed, congruent
from towpath.control.stored import ExactGradients, Gradients

EVERYTHING = slice(None)
"""all coordinates of a stage"""
CHUNK = 32768
"""how many coordinates are worked on at a time where they do not mix; about 40 MB with T = 5"""

Product = Callable[[Tensor], Tensor]
Total = Callable[[Tensor], Tensor]
"""A few numbers of a part of the coordinates, float64 -> those of all coordinates."""


def whole(numbers: Tensor) -> Tensor:
    """Return the numbers unchanged: the total of a model that has every coordinate."""
    return numbers


def chunks(P: int) -> Iterator[slice]:
    """Yield slices of at most `CHUNK` coordinates that make up P."""
    for start in range(0, P, CHUNK):
        yield slice(start, min(start + CHUNK, P))


@dataclass(frozen=True, eq=False)
class ExactProduct:
    """The true product `(dg/dx)' y`, which replaces the diagonal model `gam * y` in the costate."""

    product: Product
    gam: Tensor
    """`[P]`, the diagonal curvature in A, which the exact product replaces."""


class Stage(Protocol):
    """One stage of a model, whose Jacobians are made where they are asked for."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """The sizes M, k and P."""
        ...

    @property
    def C_xx(self) -> Tensor:  # noqa: N802
        """The diagonal curvature `[P]` of the stage's cost."""
        ...

    @property
    def gradients(self) -> Gradients:
        """The gradients J of the tasks alone, which need no Jacobians."""
        ...

    @property
    def exact(self) -> ExactProduct | None:
        """The true Hessian product, which needs every coordinate at once; None for the model's."""
        ...

    def part(self, at: slice) -> "StageModel":
        """Return the model at some coordinates; only that of `EVERYTHING` has the exact product."""
        ...

    def with_gradient(self, c_x: Tensor) -> "Stage":
        """Return the stage with another gradient of its cost, and without an exact product."""
        ...


@dataclass(frozen=True, eq=False)
class StageModel:
    """The model of one stage about the nominal, in the letters explained in the module."""

    A: Tensor
    b: Tensor
    J: Tensor
    c_x: Tensor
    C_xx: Tensor
    exact: ExactProduct | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """The sizes M, k and P."""
        return self.J.shape[0], self.b.shape[0], self.b.shape[1]

    @property
    def gradients(self) -> ExactGradients:
        """The gradients J of the tasks alone."""
        return ExactGradients(self.J)

    def part(self, at: slice) -> "StageModel":
        """Return the model at some coordinates; only that of `EVERYTHING` has the exact product."""
        if at == EVERYTHING:
            return self
        A, b, J = self.A[..., at], self.b[..., at], self.J[..., at]
        return StageModel(A, b, J, self.c_x[at], self.C_xx[at])

    def with_gradient(self, c_x: Tensor) -> "StageModel":
        """Return the stage with another gradient of its cost, and without an exact product."""
        return StageModel(self.A, self.b, self.J, c_x, self.C_xx)

    def double(self) -> "StageModel":
        """Return the model in float64, without an exact product."""
        c_x, C_xx = self.c_x.double(), self.C_xx.double()
        return StageModel(self.A.double(), self.b.double(), self.J.double(), c_x, C_xx)

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

    def part(self, at: slice) -> "TerminalCost":
        """Return the cost at some coordinates."""
        return TerminalCost(self.c_x[at], self.C_xx[at])


@dataclass(frozen=True, eq=False)
class CostShare:
    """The gradients of a share of the cost: `[P]` at each stage, and after the last."""

    stages: Sequence[Tensor]
    terminal: Tensor

    def part(self, at: slice) -> "CostShare":
        """Return the gradients at some coordinates."""
        return CostShare([c_x[at] for c_x in self.stages], self.terminal[at])


@dataclass(frozen=True, eq=False)
class Model:
    """T stages and, if the state after the last one has a cost, that cost."""

    stages: Sequence[Stage]
    terminal: TerminalCost | None = None
    total: Total = whole
    held: Tensor | None = None
    """`[T, M]` bool: marks actions without any effect, whose weight on the simplex is 0; never all
    of a stage"""
    states: Sequence[Tensor] = ()
    """`z^_t [k, P]`, the nominal states before each stage, from which a feedback measures"""

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The sizes T, M, k and P, where P counts the coordinates of this model."""
        return len(self.stages), *self.stages[0].shape

    @property
    def is_linear(self) -> bool:
        """Whether the cost has no curvature at any state that an action can change."""
        reached = [stage.C_xx for stage in self.stages[1:]]
        if self.terminal is not None:
            reached.append(self.terminal.C_xx)
        curved = sum(bool(C_xx.any()) for C_xx in reached)
        return not bool(self.total(self.stages[0].C_xx.new_tensor([curved], dtype=torch.float64)))

    @property
    def is_separable(self) -> bool:
        """Whether costates can be found for some coordinates without the others."""
        return all(stage.exact is None for stage in self.stages)

    def parts(self) -> Iterator[tuple[slice, "Model"]]:
        """Yield models of `CHUNK` coordinates each; their sums are shares, not totals."""
        for at in chunks(self.shape[-1]):
            end = None if self.terminal is None else self.terminal.part(at)
            yield at, Model([stage.part(at) for stage in self.stages], end)

    def with_share(self, share: CostShare) -> "Model":
        """Return the model with a share of the cost's gradients, and without exact products."""
        pairs = zip(self.stages, share.stages, strict=True)
        end = TerminalCost(share.terminal, torch.zeros_like(share.terminal))
        return replace(self, stages=[s.with_gradient(c_x) for s, c_x in pairs], terminal=end)

    def is_finite(self) -> bool:
        """Return whether every number that a sweep reads is finite."""
        gradient, bad = costate_gradient(self), 0
        for _, part in self.parts():
            stages = [stage.part(EVERYTHING) for stage in part.stages]
            read = [x for s in stages for x in (s.A, s.b, s.J, s.c_x, s.C_xx)]
            if part.terminal is not None:
                read += [part.terminal.c_x, part.terminal.C_xx]
            bad += sum(int((~torch.isfinite(x)).sum()) for x in read)
        bad += int((~torch.isfinite(gradient)).sum())
        return not bool(self.total(gradient.new_tensor([float(bad)])))

    def zero_state(self) -> Tensor:
        """Return a state `[k, P]` of zeros."""
        return self.stages[0].C_xx.new_zeros(self.shape[2:])

    def final_gradient(self) -> Tensor:
        """Return the gradient `v_{T+1} [k, P]` of the terminal cost; zero if there is none."""
        v = self.zero_state()
        if self.terminal is not None:
            v[0] = self.terminal.c_x
        return v

    def final_blocks(self) -> Tensor:
        """Return the curvature `V_{T+1} [k, k, P]` of the terminal cost: its xx entries only."""
        _, _, k, P = self.shape
        W = self.stages[0].C_xx.new_zeros(k, k, P)
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
            stage = model.stages[t].part(EVERYTHING)
            lam = stage.costate_step(lam)
            lam[0] += stage.c_x


def costate_gradient(model: Model) -> Tensor:
    """Return the gradient `dJ/du_t = F_u' lam_{t+1}` of the state cost, for all stages `[T, M]`.

    It is in float64 and does not include the prior.
    """
    return costate_gradients(model)[0]


def costate_gradients(model: Model, shares: Sequence[CostShare] = ()) -> list[Tensor]:
    """Return the gradient of the state cost as `costate_gradient` does, then those of its shares.

    The Jacobians are made once for all of them. A share's costates are those of the model, without
    exact products.
    """
    T, M, _, _ = model.shape
    sums = model.stages[0].C_xx.new_zeros(1 + len(shares), T, M, dtype=torch.float64)
    if not model.is_separable:
        sums[0] = part_gradient(model)
    for at, part in model.parts() if shares or model.is_separable else ():
        if model.is_separable:
            sums[0] += part_gradient(part)
        for total, share in zip(sums[1:], shares, strict=True):
            total += part_gradient(part.with_share(share.part(at)))
    return list(model.total(sums))


def part_gradient(model: Model) -> Tensor:
    """Return the gradient `[T, M]` as far as it is of the model's coordinates, in float64."""
    rows = [
        model.stages[t].part(EVERYTHING).F_u_transposed(lam).double()
        for t, lam in backward_costates(model)
    ]
    return torch.stack(rows[::-1])
