"""The problem condensed over all actions: a Hessian of at most (TM) x (TM) numbers.

    H[s, r] = (Phi_{r,s} F_u,s)' W_{r+1} F_u,r   (s <= r),   Phi_{r,s} = F_x,r ... F_x,s+1
    W_t = C_xx + F_x' W_{t+1} F_x

`1/2 d'(H + beta I) d + g'd` is the same linear-quadratic problem that the exact sweep solves, with
the states eliminated. Coordinates do not mix before the last sum, so the work goes in chunks of P
that stay in the cache, and the sums are kept in float64.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from towpath.control.blocks import applied
from towpath.control.stage import Model, StageModel

CHUNK = 8192


@dataclass(frozen=True, eq=False)
class Condensed:
    """The condensed Hessian and, if requested, how a state's deviation changes the gradient."""

    H: Tensor
    """`[T M, T M]` of the state cost, the prior excluded, float64"""
    back: dict[tuple[int, int], Tensor] = field(default_factory=dict)
    """(t, s), stage 2 <= t <= s: `y = F_x,t' ... F_x,s' W_{s+1} b_s  [k, P]`. A deviation dz before
    stage t changes the gradient in the action of stage s by `J_s (y * dz).sum(0)`."""


def condensed_hessian(model: Model) -> Tensor:
    """Return the Hessian H `[T M, T M]` of the state cost in float64, without the prior."""
    return condense(model).H


def condense(model: Model, *, feedback: bool = False) -> Condensed:
    """Eliminate the states and return the problem over all actions.

    With `feedback=True` the result also has `back`, from which feedback gains are computed.
    """
    T, M, _, P = model.shape
    device = model.stages[0].J.device
    H = torch.zeros(T, M, T, M, dtype=torch.float64, device=device)
    pairs = [(t, s) for s in range(T) for t in range(1, s + 1)] if feedback else []
    back = {pair: torch.empty_like(model.stages[0].b) for pair in pairs}
    final = model.final_blocks()
    if not feedback and model.is_linear:
        return Condensed(H.reshape(T * M, T * M))
    for start in range(0, P, CHUNK):
        part = slice(start, start + CHUNK)
        stages = [_restrict(stage, part) for stage in model.stages]
        W = final[..., part].double()
        for r in range(T - 1, -1, -1):
            b, J = stages[r].b, stages[r].J
            y = applied(W, b)  # W F_u,r = y J' stays an outer product on its way back
            for s in range(r, -1, -1):
                H[s, :, r] += (stages[s].J * (stages[s].b * y).sum(0)) @ J.T
                if s:
                    y = stages[s].F_x_transposed(y)
                    if feedback:
                        back[s, r][:, part] = y
            if r:
                W = stages[r].value_before(W)
    full = model.total(H.reshape(T * M, T * M))
    upper = full.triu()
    return Condensed(upper + upper.triu(1).T, back)


def _restrict(stage: StageModel, part: slice) -> StageModel:
    return StageModel(
        stage.A[..., part].double(),
        stage.b[..., part].double(),
        stage.J[..., part].double(),
        stage.c_x[part],
        stage.C_xx[part].double(),
    )
