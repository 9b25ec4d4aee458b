"""Backward Riccati sweep with feedback: which way to go, as gains K and k.

    Q_xx = C_xx + F_x' V F_x    Q_xu = F_x' V F_u    Q_uu = beta I + F_u' V F_u
    q_u = c_u + F_u' v          K = -Q_uu^-1 Q_ux    k = -Q_uu^-1 q_u
    V_t = Q_xx + Q_xu K         v_t = c_x + F_x' v + Q_xu k       theta = sum_t q_u . k

The value V is a type: `Diagonal` keeps a k x k block per coordinate (the paper's approximation),
`LowRank` is exact, `V = W - L L'` with W block-diagonal. No P x P matrix exists, and K is only ever
applied: `K dz = -Q_uu^-1 (Y' dz)` with `Y = Q_xu`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from towpath.control.blocks import applied, applied_transposed, congruent
from towpath.control.factor import Factor, factorise
from towpath.control.stage import Model, StageModel

ValueKind = Literal["diagonal", "exact"]
VALUES: tuple[ValueKind, ...] = ("diagonal", "exact")


class CrossTerm(Protocol):
    """`F_u' V F_u` and `Q_xu`, as the products that the sweep and the feedback need."""

    def q_uu(self) -> Tensor:
        """`F_u' V F_u [M, M]`."""
        ...

    def into_state(self, u: Tensor) -> Tensor:
        """`Q_xu u [k, P]`."""
        ...

    def into_action(self, dz: Tensor) -> Tensor:
        """`Q_ux dz [M]`."""
        ...


class Value(Protocol):
    """The quadratic part V of the cost-to-go."""

    def cross(self, stage: StageModel) -> CrossTerm:
        """`Q_xu` of the stage that ends at V."""
        ...

    def before(self, stage: StageModel, cross: Any, factor: Factor) -> "Value":
        """V one stage earlier, after minimising over this stage's action."""
        ...


@dataclass(frozen=True, eq=False)
class _Outer:
    """`V F_u` and `Q_xu` while V is block-diagonal: `Q_xu[i, p, m] = y[i, p] J[m, p]`."""

    stage: StageModel
    Vb: Tensor
    """`V b [k, P]`"""
    y: Tensor
    """`F_x' V b [k, P]`"""

    def q_uu(self) -> Tensor:
        J = self.stage.J
        return (J * (self.stage.b * self.Vb).sum(0)) @ J.T

    def into_state(self, u: Tensor) -> Tensor:
        J = self.stage.J
        return self.y * (u.to(J) @ J)

    def into_action(self, dz: Tensor) -> Tensor:
        return self.stage.J @ (self.y * dz).sum(0)


@dataclass(frozen=True, eq=False)
class Diagonal:
    """V as blocks `W [k, k, P]`."""

    W: Tensor

    def cross(self, stage: StageModel) -> _Outer:
        Vb = applied(self.W, stage.b)
        return _Outer(stage, Vb, stage.F_x_transposed(Vb))

    def before(self, stage: StageModel, cross: _Outer, factor: Factor) -> "Diagonal":
        # off-diagonal of Q_xu K dropped: coordinate p keeps -y y' (J_p' Q_uu^-1 J_p)
        q = factor.half_solve(stage.J).square_().sum(0)
        yy = cross.y[:, None] * cross.y[None]
        return Diagonal(transported(self.W, stage).addcmul_(yy, q, value=-1.0))


@dataclass(frozen=True, eq=False)
class _Dense:
    """`Z = V F_u` and `Y = Q_xu = F_x' Z`, both `[k, M, P]`."""

    stage: StageModel
    Z: Tensor
    Y: Tensor

    def q_uu(self) -> Tensor:
        return self.stage.J @ (self.stage.b[:, None] * self.Z).sum(0).T

    def into_state(self, u: Tensor) -> Tensor:
        return torch.einsum("imp,m->ip", self.Y, u.to(self.Y))

    def into_action(self, dz: Tensor) -> Tensor:
        return torch.einsum("imp,ip->m", self.Y, dz)


@dataclass(frozen=True, eq=False)
class LowRank:
    """V = W - L L' with blocks `W [k, k, P]` and factor `L [k, r, P]`; exact."""

    W: Tensor
    L: Tensor

    def cross(self, stage: StageModel) -> _Dense:
        F_u = stage.b[:, None] * stage.J  # [k, M, P]
        LF = torch.einsum("irp,imp->rm", self.L, F_u)
        Z = applied(self.W, F_u) - torch.einsum("irp,rm->imp", self.L, LF)
        return _Dense(stage, Z, applied_transposed(stage.A, Z))

    def before(self, stage: StageModel, cross: _Dense, factor: Factor) -> "LowRank":
        new = torch.stack([factor.half_solve(Y) for Y in cross.Y])  # Y S^-T
        old = applied_transposed(stage.A, self.L)
        return LowRank(transported(self.W, stage), torch.cat([old, new], dim=1))


def transported(W: Tensor, stage: StageModel) -> Tensor:
    """`C_xx + F_x' W F_x`, block by block."""
    result = congruent(stage.A, W)
    result[0, 0] += stage.C_xx
    return result


@dataclass(frozen=True, eq=False)
class StageGain:
    """Feedback and feedforward of one stage."""

    k: Tensor
    factor: Factor
    cross: CrossTerm

    def feedback(self, dz: Tensor) -> Tensor:
        """`K dz [M]`."""
        return -self.factor.solve(self.cross.into_action(dz).double())


@dataclass(frozen=True, eq=False)
class Sweep:
    """Gains of all stages, expected change theta <= 0 and the largest model eigenvalue."""

    gains: Sequence[StageGain]
    theta: float
    largest_eigenvalue: float
    """Of `F_u' V F_u`, over all stages."""
    first_value: Value
    """V at stage 2 (at stage 1 no deviation exists)."""


def backward_sweep(
    model: Model, prior_gradient: Tensor, beta: float | Tensor, value: ValueKind
) -> Sweep | None:
    """Gains about the nominal, or None if some Q_uu stays indefinite.

    Args:
        model: the linear-quadratic model.
        prior_gradient: `c_u = beta (u - mu)  [T, M]`, float64.
        beta: precision of the prior, or one for each stage `[T]`.
        value: "diagonal" or "exact".
    """
    precisions = torch.as_tensor(beta, dtype=torch.float64).expand(len(model.stages))
    W = model.final_blocks()
    V: Value = (
        Diagonal(W) if value == "diagonal" else LowRank(W, W.new_zeros(W.shape[0], 0, W.shape[2]))
    )
    v = model.final_gradient()
    gains: list[StageGain] = []
    theta, largest = 0.0, 0.0
    for t in range(len(model.stages) - 1, -1, -1):
        stage = model.stages[t]
        cross = V.cross(stage)
        FVF = cross.q_uu().double()
        FVF = 0.5 * (FVF + FVF.T)
        eye = torch.eye(len(FVF), dtype=FVF.dtype, device=FVF.device)
        factor = factorise(FVF + float(precisions[t]) * eye)
        if factor is None:
            return None
        q_u = prior_gradient[t] + stage.F_u_transposed(v).double()
        k = -factor.solve(q_u)
        gains.append(StageGain(k, factor, cross))
        theta += float(q_u @ k)
        largest = max(largest, float(torch.linalg.eigvalsh(FVF)[-1]))
        if t:
            v = stage.costate_step(v) + cross.into_state(k)
            v[0] += stage.c_x
            V = V.before(stage, cross, factor)
    return Sweep(gains[::-1], theta, largest, V)
