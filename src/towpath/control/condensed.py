"""The problem condensed over all actions: a Hessian of at most (TM) x (TM) numbers.

    H[s, r] = (Phi_{r,s} F_u,s)' W_{r+1} F_u,r   (s <= r),   Phi_{r,s} = F_x,r ... F_x,s+1
    W_t = C_xx + F_x' W_{t+1} F_x

`1/2 d'(H + beta I) d + g'd` is the same linear-quadratic problem that the exact sweep solves, with
the states eliminated. Coordinates do not mix before the last sum, so the work goes in parts of P,
and the sums are kept in float64.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.control.blocks import applied
from towpath.control.stage import EVERYTHING, Model, costate_gradient, part_gradient

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Condensed:
    """The problem over all actions: Hessian and gradient of the state cost, without the prior."""

    H: Tensor
    """`[T M, T M]`, float64"""
    g: Tensor
    """`[T, M]`, float64"""


@dataclass(frozen=True, eq=False)
class CondensedFeedback:
    """The Hessian over all actions, and how a state's deviation changes their gradient."""

    H: Tensor
    """`[T M, T M]` of the state cost, the prior excluded, float64"""
    back: dict[Pair, Tensor]
    """(t, s), stage 2 <= t <= s: `y = F_x,t' ... F_x,s' W_{s+1} b_s  [k, P]`. A deviation dz before
    stage t changes the gradient in the action of stage s by `J_s (y * dz).sum(0)`."""


def condense(model: Model) -> Condensed:
    """Eliminate the states and return the problem over all actions."""
    H = _no_hessian(model)
    if model.is_linear:
        return Condensed(H.flatten(2).flatten(0, 1), costate_gradient(model))
    shares = torch.zeros_like(H[0, 0])
    for _, part in model.parts():
        _add_hessian(part, H, {})
        if model.is_separable:
            shares += part_gradient(part)
    g = model.total(shares) if model.is_separable else costate_gradient(model)
    return Condensed(_total(model, H), g)


def condense_with_feedback(model: Model) -> CondensedFeedback:
    """Eliminate the states and return what feedback gains are computed from."""
    T = len(model.stages)
    H = _no_hessian(model)
    back = {(t, s): model.zero_state() for s in range(T) for t in range(1, s + 1)}
    for at, part in model.parts():
        _add_hessian(part, H, {pair: y[:, at] for pair, y in back.items()})
    return CondensedFeedback(_total(model, H), back)


def _no_hessian(model: Model) -> Tensor:
    T, M, _, _ = model.shape
    return model.stages[0].C_xx.new_zeros(T, M, T, M, dtype=torch.float64)


def _total(model: Model, H: Tensor) -> Tensor:
    """Return the symmetric Hessian `[T M, T M]` of all coordinates from its upper blocks."""
    upper = model.total(H.flatten(2).flatten(0, 1)).triu()
    return upper + upper.triu(1).T


def _add_hessian(model: Model, H: Tensor, back: dict[Pair, Tensor]) -> None:
    """Add a part's share of the blocks on and above the diagonal to H; fill its part of `back`."""
    stages = [stage.part(EVERYTHING).double() for stage in model.stages]
    W = model.final_blocks().double()
    for r in range(len(stages) - 1, -1, -1):
        b, J = stages[r].b, stages[r].J
        y = applied(W, b)  # W F_u,r = y J' stays an outer product on its way back
        for s in range(r, -1, -1):
            H[s, :, r] += (stages[s].J * (stages[s].b * y).sum(0)) @ J.T
            if s:
                y = stages[s].F_x_transposed(y)
                if back:
                    back[s, r].copy_(y)
        if r:
            W = stages[r].value_before(W)
