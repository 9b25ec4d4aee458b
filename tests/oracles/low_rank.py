"""The exact value function as `V = W - L L'`, for the sweep: an oracle of the condensed problem.

The library never forms it: L grows by M columns a stage. Here it shows that the gains which the
condensed problem gives are those of the Riccati recursion.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.control import Model
from towpath.control.blocks import applied, applied_transposed
from towpath.control.factor import Factor, factorise
from towpath.control.stage import EVERYTHING, StageModel, Total, whole
from towpath.control.sweep import Figures, Gain, Sweep


@dataclass(frozen=True, eq=False)
class LowRank:
    """V = W - L L' with blocks `W [k, k, P]` and factor `L [k, r, P]`; exact."""

    W: Tensor
    L: Tensor
    total: Total = whole

    @classmethod
    def at_end(cls, model: Model) -> "LowRank":
        """V after the last stage."""
        W = model.final_blocks()
        return cls(W, W.new_zeros(W.shape[0], 0, W.shape[2]), model.total)

    def through(self, stage: StageModel) -> Tensor:
        """`V F_u  [k, M, P]`."""
        F_u = stage.b[:, None] * stage.J
        LF = self.total(torch.einsum("irp,imp->rm", self.L, F_u).double()).to(self.L)
        return applied(self.W, F_u) - torch.einsum("irp,rm->imp", self.L, LF)

    def before(self, stage: StageModel, Y: Tensor, factor: Factor) -> "LowRank":
        """V one stage earlier, after minimising over the action; `Y = Q_xu [k, M, P]`."""
        new = torch.stack([factor.half_solve(rows) for rows in Y])  # Y S^-T
        old = applied_transposed(stage.A, self.L)
        return LowRank(stage.value_before(self.W), torch.cat([old, new], dim=1), self.total)


@dataclass(frozen=True, eq=False)
class DenseGain(Gain):
    """A gain with Q_xu `[k, M, P]` written out."""

    Y: Tensor
    V: LowRank
    """before the stage"""

    def sensed(self, dz: Tensor) -> Tensor:
        return torch.einsum("imp,ip->m", self.Y, dz).double()


def low_rank_sweep(model: Model, prior_gradient: Tensor, beta: float | Tensor) -> Sweep | None:
    T, M, _, _ = model.shape
    precisions = torch.as_tensor(beta, dtype=torch.float64).expand(T)
    V, v, figures, gains = LowRank.at_end(model), model.final_gradient(), Figures(), []
    for t in range(T - 1, -1, -1):
        stage = model.stages[t].part(EVERYTHING)
        Z = V.through(stage)
        Y = applied_transposed(stage.A, Z)
        FVF = model.total((stage.J @ (stage.b[:, None] * Z).sum(0).T).double())
        q_u = prior_gradient[t] + model.total(stage.F_u_transposed(v).double())
        factor = factorise(0.5 * (FVF + FVF.T) + float(precisions[t]) * torch.eye(M).double())
        if factor is None:
            return None
        k = -factor.solve(q_u)
        figures.note(FVF, q_u, k)
        v = stage.costate_step(v) + torch.einsum("imp,m->ip", Y, k.to(Y))
        v[0] += stage.c_x
        V = V.before(stage, Y, factor)
        gains.append(DenseGain(k, factor, (), model.total, Y, V))
    return figures.sweep(gains)
