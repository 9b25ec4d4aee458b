"""The exact value function as `V = W - L L'`, for the sweep: an oracle of the condensed problem.

The library never forms it: L grows by M columns a stage. Here it shows that the gains which the
condensed problem gives are those of the Riccati recursion.
"""

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from towpath.control import Model, backward_sweep
from towpath.control.blocks import applied, applied_transposed
from towpath.control.factor import Factor
from towpath.control.stage import StageModel, Total, whole


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
    total: Total = whole

    @classmethod
    def at_end(cls, model: Model) -> "LowRank":
        """V after the last stage."""
        W = model.final_blocks()
        return cls(W, W.new_zeros(W.shape[0], 0, W.shape[2]), model.total)

    def cross(self, stage: StageModel) -> _Dense:
        F_u = stage.b[:, None] * stage.J  # [k, M, P]
        LF = self.total(torch.einsum("irp,imp->rm", self.L, F_u).double()).to(self.L)
        Z = applied(self.W, F_u) - torch.einsum("irp,rm->imp", self.L, LF)
        return _Dense(stage, Z, applied_transposed(stage.A, Z))

    def before(self, stage: StageModel, cross: _Dense, factor: Factor) -> "LowRank":
        new = torch.stack([factor.half_solve(Y) for Y in cross.Y])  # Y S^-T
        old = applied_transposed(stage.A, self.L)
        return LowRank(stage.value_before(self.W), torch.cat([old, new], dim=1), self.total)


low_rank_sweep = partial(backward_sweep, end=LowRank.at_end)
