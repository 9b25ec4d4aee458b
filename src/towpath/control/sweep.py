"""Backward Riccati sweep with feedback: which way to go, as gains K and k.

    Q_xx = C_xx + F_x' V F_x    Q_xu = F_x' V F_u    Q_uu = beta I + F_u' V F_u
    q_u = c_u + F_u' v          K = -Q_uu^-1 Q_ux    k = -Q_uu^-1 q_u
    V_t = Q_xx + Q_xu K         v_t = c_x + F_x' v + Q_xu k       theta = sum_t q_u . k

V is a k x k block W per coordinate here (the paper's approximation). The exact value function is
never formed: its gains follow from the condensed problem. No P x P matrix exists, and K is only
ever applied: `Q_xu[i, p, m] = y[i, p] J[m, p]` with `y = F_x' V b`, so that `Q_ux dz = J (y dz)`.

Coordinates meet in sums only. So a stage is gone through in parts, whose Jacobians are made and
forgotten, and V and v move from stage to stage in place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from towpath.control.blocks import applied
from towpath.control.condensed import condense_with_feedback
from towpath.control.factor import Factor, factorise
from towpath.control.stage import Model, Stage, StageModel, Total, chunks
from towpath.control.stored import Gradients


@dataclass(frozen=True, eq=False)
class Sense:
    """How a deviation dz of the state changes the gradient in the action of one stage."""

    J: Gradients
    y: Tensor
    """`[k, P]`: the change is `J (y * dz).sum(0)`"""

    def change(self, dz: Tensor) -> Tensor:
        """Return the change `[M]` for a deviation dz `[k, P]`, as far as it is of its coordinates.

        It is summed in float64.
        """
        result = dz.new_zeros(self.J.shape[0], dtype=torch.float64)
        for at in chunks(self.J.shape[1]):
            result += self.J.part(at) @ (self.y[:, at] * dz[:, at]).sum(0)
        return result


@dataclass(frozen=True, eq=False)
class Gain:
    """The feedforward term k and the feedback K of one stage: `K dz = -Q^-1 (changes by dz)`.

    With the diagonal value, Q is Q_uu and there is one change, `Q_ux dz`. With the exact one, Q is
    the Hessian `H_{t:,t:}` over the actions from this stage on, and each of their stages changes.
    """

    k: Tensor
    """`[M]`, float64"""
    factor: Factor
    """of Q, the prior included"""
    senses: Sequence[Sense]
    """one for each change; empty at stage 1, where nothing can deviate"""
    total: Total

    def sensed(self, dz: Tensor) -> Tensor:
        """Return the changes by a deviation dz `[k, P]`, as far as they are of its coordinates."""
        return torch.cat([sense.change(dz) for sense in self.senses])

    def response(self, sensed: Tensor) -> Tensor:
        """Return the feedback `[M]` to such changes, which are added up over all coordinates."""
        return -self.factor.solve(self.total(sensed))[: len(self.k)]


@dataclass(frozen=True, eq=False)
class Sweep:
    """Gains of all stages, expected change theta <= 0, and what they were computed from."""

    gains: Sequence[Gain]
    theta: float
    largest_eigenvalue: float
    """The largest eigenvalue of `F_u' V F_u`, over all stages."""
    largest_gradient: float
    """Largest entry of a q_u: 0 exactly where the nominal is stationary."""


class Gradient:
    """The gradient v `[k, P]` of the cost-to-go, taken from stage to stage in place."""

    def __init__(self, model: Model) -> None:
        self.v = model.final_gradient()
        self._through = None if model.is_separable else self.v.new_empty(model.shape[-1])
        """`b' v  [P]`, for true Hessian products"""

    def back(self, stage: StageModel, at: slice) -> None:
        """Take v before a stage at some coordinates, with the diagonal model of its curvature."""
        v = self.v[:, at]
        if self._through is not None:
            self._through[at] = (stage.b * v).sum(0)
        v.copy_(stage.F_x_transposed(v))
        v[0] += stage.c_x

    def passed(self, stage: Stage, *, first: bool) -> Tensor:
        """Take v before a stage, unless it is the first; return `F_u' v [M]` in float64.

        Its sum is over the coordinates of the model.
        """
        M, _, P = stage.shape
        result = self.v.new_zeros(M, dtype=torch.float64)
        for at in chunks(P):
            part = stage.part(at)
            result += part.F_u_transposed(self.v[:, at])
            if not first:
                self.back(part, at)
        if not first:
            self.correct(stage)
        return result

    def correct(self, stage: Stage) -> None:
        """Put the true Hessian product, where the stage has one, in place of the model's."""
        if stage.exact is not None:
            assert self._through is not None
            self.v[0] += stage.exact.product(self._through) - stage.exact.gam * self._through

    def follow(self, J: Tensor, y: Tensor, d: Tensor, at: slice) -> None:
        """Add what an action d `[M]` changes at some coordinates: `y (d . J)`."""
        self.v[:, at].addcmul_(y, d.to(J) @ J)


class CostToGo:
    """The cost-to-go with V as one block `W [k, k, P]` per coordinate, taken back in place."""

    def __init__(self, model: Model) -> None:
        self.gradient = Gradient(model)
        self.W = model.final_blocks()

    def back(self, stage: Stage, sums: Tensor, *, first: bool) -> list[Sense]:
        """Take the cost-to-go before a stage, as far as it does not depend on its action.

        Args:
            stage: the stage after which this is the cost-to-go.
            sums: `[M, M + 1]`, float64: `F_u' V F_u` and, beside it, `F_u' v` are added to it, as
                far as they are of the model's coordinates.
            first: whether it is the first stage, before which nothing deviates: the cost-to-go
                stays where it is then.

        Returns:
            how a deviation before the stage changes the gradient in its action.
        """
        M, k, P = stage.shape
        y = self.W.new_empty(k, 0 if first else P)
        for at in chunks(P):
            part, W = stage.part(at), self.W[..., at]
            Vb = applied(W, part.b)
            sums[:, :M] += (part.J * (part.b * Vb).sum(0)) @ part.J.T
            sums[:, M] += part.F_u_transposed(self.gradient.v[:, at])
            if not first:
                y[:, at] = part.F_x_transposed(Vb)
                W.copy_(part.value_before(W))
                self.gradient.back(part, at)
        if first:
            return []
        self.gradient.correct(stage)
        return [Sense(stage.gradients, y)]

    def minimise(self, sense: Sense, factor: Factor, k: Tensor) -> None:
        """Minimise over the action of the stage: add `Q_xu k` to v, and the blocks of `Q_xu K`."""
        for at in chunks(self.W.shape[-1]):
            J, y = sense.J.part(at), sense.y[:, at]
            self.gradient.follow(J, y, k, at)
            # off-diagonal of Q_xu K dropped: coordinate p keeps -y y' (J_p' Q_uu^-1 J_p)
            q = factor.half_solve(J).square_().sum(0)
            self.W[..., at].addcmul_(y[:, None] * y, q, value=-1.0)


@dataclass
class Figures:
    """What a sweep finds out about the whole window; the fields are those of `Sweep`."""

    theta: float = 0.0
    largest_eigenvalue: float = 0.0
    largest_gradient: float = 0.0

    def note(self, FVF: Tensor, q_u: Tensor, k: Tensor) -> None:
        """Add what one stage contributes."""
        self.theta += float(q_u @ k)
        eigenvalue = float(torch.linalg.eigvalsh(FVF)[-1])
        self.largest_eigenvalue = max(self.largest_eigenvalue, eigenvalue)
        self.largest_gradient = max(self.largest_gradient, float(q_u.abs().max()))

    def sweep(self, backwards: Sequence[Gain]) -> Sweep:
        """Return the finished sweep, whose gains were found from the last stage to the first."""
        found = self.theta, self.largest_eigenvalue, self.largest_gradient
        return Sweep(backwards[::-1], *found)


def backward_sweep(model: Model, prior_gradient: Tensor, beta: float | Tensor) -> Sweep | None:
    """Return the gains about the nominal, or None if the Q_uu of some stage stays indefinite.

    Args:
        model: the linear-quadratic model.
        prior_gradient: `c_u = beta (u - mu)  [T, M]`, float64.
        beta: precision of the prior, or one for each stage `[T]`.
    """
    T, M, _, _ = model.shape
    precisions = _precisions(beta, T)
    ahead, figures = CostToGo(model), Figures()
    gains: list[Gain] = []
    for t in range(T - 1, -1, -1):
        sums = ahead.W.new_zeros(M, M + 1, dtype=torch.float64)
        senses = ahead.back(model.stages[t], sums, first=t == 0)
        # both in one tensor: one exchange per stage where ranks share the coordinates
        sums = model.total(sums)
        FVF = 0.5 * (sums[:, :M] + sums[:, :M].T)
        eye = torch.eye(M, dtype=FVF.dtype, device=FVF.device)
        factor = factorise(FVF + float(precisions[t]) * eye)
        if factor is None:
            return None
        q_u = prior_gradient[t] + sums[:, M]
        k = -factor.solve(q_u)
        gains.append(Gain(k, factor, senses, model.total))
        figures.note(FVF, q_u, k)
        for sense in senses:
            ahead.minimise(sense, factor, k)
    return figures.sweep(gains)


def condensed_sweep(model: Model, prior_gradient: Tensor, beta: float | Tensor) -> Sweep | None:
    """Return the gains of the exact value function, computed from the condensed problem.

    `Q_uu` of stage t is the Schur complement of its block in `H_{t:,t:}`. The arguments are those
    of `backward_sweep`.
    """
    T, M, _, _ = model.shape
    precisions = _precisions(beta, T)
    condensed = condense_with_feedback(model)
    H, back = condensed.H, condensed.back
    diagonal = precisions.to(H.device).repeat_interleave(M)
    ahead, figures = Gradient(model), Figures()
    gains: list[Gain] = []
    tail: Factor | None = None
    for t in range(T - 1, -1, -1):
        here, later = slice(t * M, (t + 1) * M), slice((t + 1) * M, None)
        FVF = H[here, here]
        if tail is not None:
            FVF = FVF - H[here, later] @ torch.cholesky_solve(H[later, here], tail.S)
        FVF = 0.5 * (FVF + FVF.T)
        factor = factorise(FVF + torch.diag(diagonal[here]))
        if factor is None:
            return None
        diagonal[here] += factor.rho
        tail = factorise(H[t * M :, t * M :] + torch.diag(diagonal[t * M :]))
        if tail is None:
            return None
        q_u = prior_gradient[t] + model.total(ahead.passed(model.stages[t], first=t == 0))
        # -H^-1 [q_u; 0]: its first block is k, and the others give K' q_u
        d = -tail.solve(torch.cat([q_u, q_u.new_zeros((T - 1 - t) * M)])).reshape(-1, M)
        pairs = range(t, T) if t else ()
        senses = [Sense(model.stages[s].gradients, back[t, s]) for s in pairs]
        gains.append(Gain(d[0], tail, senses, model.total))
        figures.note(FVF, q_u, d[0])
        for at in chunks(ahead.v.shape[1]):
            for sense, row in zip(senses, d, strict=False):
                ahead.follow(sense.J.part(at), sense.y[:, at], row, at)
    return figures.sweep(gains)


def _precisions(beta: float | Tensor, T: int) -> Tensor:
    return torch.as_tensor(beta, dtype=torch.float64, device="cpu").expand(T)


ValueKind = Literal["diagonal", "exact"]
SWEEPS: dict[ValueKind, Callable[[Model, Tensor, Tensor], Sweep | None]] = {
    "diagonal": backward_sweep,
    "exact": condensed_sweep,
}
"""(model, gradient of the prior, its precisions) -> gains, by the word for the value function."""
