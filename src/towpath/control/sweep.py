"""Backward Riccati sweep with feedback: which way to go, as gains K and k.

    Q_xx = C_xx + F_x' V F_x    Q_xu = F_x' V F_u    Q_uu = beta I + F_u' V F_u
    q_u = c_u + F_u' v          K = -Q_uu^-1 Q_ux    k = -Q_uu^-1 q_u
    V_t = Q_xx + Q_xu K         v_t = c_x + F_x' v + Q_xu k       theta = sum_t q_u . k

The value V is a type: `Diagonal` keeps a k x k block per coordinate (the paper's approximation).
No P x P matrix exists, and K is only ever applied: `K dz = -Q_uu^-1 (Y' dz)` with `Y = Q_xu`. The
exact value function is never formed: its gains follow from the condensed problem.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from towpath.control.blocks import applied
from towpath.control.condensed import condense_with_feedback
from towpath.control.factor import Factor, factorise
from towpath.control.stage import CHUNK, EVERYTHING, Model, StageModel, Total


class CrossTerm(Protocol):
    """`F_u' V F_u` and `Q_xu`, as the products that the sweep and the feedback need.

    Products that end in actions are sums over the coordinates of the model.
    """

    def q_uu(self) -> Tensor:
        """Return `F_u' V F_u [M, M]`, the part of Q_uu without the prior."""
        ...

    def into_state(self, u: Tensor) -> Tensor:
        """Return `Q_xu u [k, P]` for an action u `[M]`."""
        ...

    def into_action(self, dz: Tensor) -> Tensor:
        """Return `Q_ux dz [M]` for a deviation dz `[k, P]` of the state."""
        ...


class Value(Protocol):
    """The quadratic part V of the cost-to-go, in a form that a sweep can propagate."""

    def cross(self, stage: StageModel) -> CrossTerm:
        """Return the cross term `Q_xu` of the stage after which V is the cost-to-go."""
        ...

    def before(self, stage: StageModel, cross: Any, factor: Factor) -> "Value":
        """Return V one stage earlier, after minimising over this stage's action."""
        ...


@dataclass(frozen=True, eq=False)
class _Outer:
    """`Q_xu` while V is block-diagonal: `Q_xu[i, p, m] = y[i, p] J[m, p]`."""

    J: Tensor
    y: Tensor
    """`F_x' V b [k, P]`"""
    FVF: Tensor
    """`F_u' V F_u [M, M]`"""

    def q_uu(self) -> Tensor:
        """Return `F_u' V F_u`, which was computed with the cross term."""
        return self.FVF

    def into_state(self, u: Tensor) -> Tensor:
        """Return `Q_xu u` as the product of y and the weighted gradient."""
        return self.y * (u.to(self.J) @ self.J)

    def into_action(self, dz: Tensor) -> Tensor:
        """Return `Q_ux dz`, summed over the coordinates of the model."""
        return self.J @ (self.y * dz).sum(0)


@dataclass(frozen=True, eq=False)
class Diagonal:
    """The value function with V as one block `W [k, k, P]` per coordinate."""

    W: Tensor

    @classmethod
    def at_end(cls, model: Model) -> "Diagonal":
        """Return V after the last stage, which is the terminal cost's curvature."""
        return cls(model.final_blocks())

    def cross(self, stage: StageModel) -> _Outer:
        """Return the cross term of a stage, which is an outer product here."""
        Vb = applied(self.W, stage.b)
        FVF = (stage.J * (stage.b * Vb).sum(0)) @ stage.J.T
        return _Outer(stage.J, stage.F_x_transposed(Vb), FVF)

    def before(self, stage: StageModel, cross: _Outer, factor: Factor) -> "Diagonal":
        """Return V one stage earlier, with its blocks only."""
        # off-diagonal of Q_xu K dropped: coordinate p keeps -y y' (J_p' Q_uu^-1 J_p)
        # in chunks, so that memory never has a second copy of J
        q = torch.empty_like(cross.y[0])
        for start in range(0, len(q), CHUNK):
            part = stage.J[:, start : start + CHUNK]
            q[start : start + CHUNK] = factor.half_solve(part).square_().sum(0)
        W = stage.value_before(self.W)
        for i, y_i in enumerate(cross.y):
            for j, y_j in enumerate(cross.y):
                W[i, j].addcmul_(y_i * y_j, q, value=-1.0)
        return Diagonal(W)


ValueAtEnd = Callable[[Model], Value]
"""model -> V after the last stage."""


class StageGain(Protocol):
    """The feedforward term k and the feedback K of one stage."""

    @property
    def k(self) -> Tensor:
        """The feedforward term of the action `[M]`, in float64."""
        ...

    def feedback(self, dz: Tensor) -> Tensor:
        """Return the feedback `K dz [M]` for a deviation dz `[k, P]` of the state."""
        ...


@dataclass(frozen=True, eq=False)
class _SweepGain:
    k: Tensor
    factor: Factor
    cross: CrossTerm
    total: Total

    def feedback(self, dz: Tensor) -> Tensor:
        """Return `K dz = -Q_uu^-1 Q_ux dz`."""
        return -self.factor.solve(self.total(self.cross.into_action(dz).double()))


@dataclass(frozen=True, eq=False)
class _CondensedGain:
    """`K_t dz = -[H_{t:,t:}^-1 b]_t`, from the gradients J and one vector per later stage."""

    k: Tensor
    tail: Factor
    """the Cholesky factor of `H_{t:,t:}`, the prior included"""
    J: Sequence[Tensor]
    back: Sequence[Tensor]
    """empty at stage 1, where nothing can deviate"""
    total: Total

    def feedback(self, dz: Tensor) -> Tensor:
        """Return `K dz` from the condensed Hessian of this stage and the later ones."""
        rows = [J @ (y * dz).sum(0) for J, y in zip(self.J, self.back, strict=True)]
        return -self.tail.solve(self.total(torch.cat(rows).double()))[: len(self.k)]


@dataclass(frozen=True, eq=False)
class Sweep:
    """Gains of all stages, expected change theta <= 0, and what they were computed from."""

    gains: Sequence[StageGain]
    theta: float
    largest_eigenvalue: float
    """The largest eigenvalue of `F_u' V F_u`, over all stages."""
    largest_gradient: float
    """Largest entry of a q_u: 0 exactly where the nominal is stationary."""
    value_at_second_stage: Value | None
    """The last V of the sweep: at stage 1 no deviation exists, so no V is computed."""


def backward_sweep(
    model: Model, prior_gradient: Tensor, beta: float | Tensor, end: ValueAtEnd = Diagonal.at_end
) -> Sweep | None:
    """Return the gains about the nominal, or None if the Q_uu of some stage stays indefinite.

    Args:
        model: the linear-quadratic model.
        prior_gradient: `c_u = beta (u - mu)  [T, M]`, float64.
        beta: precision of the prior, or one for each stage `[T]`.
        end: makes the value function after the last stage, in the form that V will have.
    """
    precisions = _precisions(beta, len(model.stages))
    V = end(model)
    v = model.final_gradient()
    gains: list[StageGain] = []
    theta, largest, steepest = 0.0, 0.0, 0.0
    for t in range(len(model.stages) - 1, -1, -1):
        stage = model.stages[t].part(EVERYTHING)
        cross = V.cross(stage)
        # both in one tensor: one exchange per stage where ranks share the coordinates
        sums = torch.cat([cross.q_uu(), stage.F_u_transposed(v)[:, None]], dim=1)
        sums = model.total(sums.double())
        FVF, F_u_v = sums[:, :-1], sums[:, -1]
        FVF = 0.5 * (FVF + FVF.T)
        eye = torch.eye(len(FVF), dtype=FVF.dtype, device=FVF.device)
        factor = factorise(FVF + float(precisions[t]) * eye)
        if factor is None:
            return None
        q_u = prior_gradient[t] + F_u_v
        k = -factor.solve(q_u)
        gains.append(_SweepGain(k, factor, cross, model.total))
        theta += float(q_u @ k)
        steepest = max(steepest, float(q_u.abs().max()))
        largest = max(largest, float(torch.linalg.eigvalsh(FVF)[-1]))
        if t:
            v = stage.costate_step(v) + cross.into_state(k)
            v[0] += stage.c_x
            V = V.before(stage, cross, factor)
    return Sweep(gains[::-1], theta, largest, steepest, V)


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
    v = model.final_gradient()
    gains: list[StageGain] = []
    theta, largest, steepest = 0.0, 0.0, 0.0
    tail: Factor | None = None
    Js: list[Tensor] = []
    for t in range(T - 1, -1, -1):
        here, later = slice(t * M, (t + 1) * M), slice((t + 1) * M, None)
        stage = model.stages[t].part(EVERYTHING)
        Js = [stage.J, *Js]
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
        q_u = prior_gradient[t] + model.total(stage.F_u_transposed(v).double())
        # -H^-1 [q_u; 0]: its first block is k, and the others give K' q_u
        d = -tail.solve(torch.cat([q_u, q_u.new_zeros((T - 1 - t) * M)])).reshape(-1, M)
        ys = [back[t, s] for s in range(t, T)] if t else []
        gains.append(_CondensedGain(d[0], tail, Js if t else (), ys, model.total))
        theta += float(q_u @ d[0])
        steepest = max(steepest, float(q_u.abs().max()))
        largest = max(largest, float(torch.linalg.eigvalsh(FVF)[-1]))
        if t:
            v = stage.costate_step(v)
            for y, J, row in zip(ys, Js, d, strict=True):
                v.addcmul_(y, (row.to(J) @ J).expand_as(y))
            v[0] += stage.c_x
    return Sweep(gains[::-1], theta, largest, steepest, None)


def _precisions(beta: float | Tensor, T: int) -> Tensor:
    return torch.as_tensor(beta, dtype=torch.float64, device="cpu").expand(T)


ValueKind = Literal["diagonal", "exact"]
SWEEPS: dict[ValueKind, Callable[[Model, Tensor, Tensor], Sweep | None]] = {
    "diagonal": backward_sweep,
    "exact": condensed_sweep,
}
"""(model, gradient of the prior, its precisions) -> gains, by the word for the value function."""
