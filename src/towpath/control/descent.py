"""Which way to go: a direction from the model, as a policy for every step size.

`feedback` follows the sweep's gains (closed loop); `constrained` solves the condensed problem over
the feasible weights (open loop), so every step size is feasible. The bounds choose between
the two (`towpath.control.bounds`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from towpath.control.condensed import condense
from towpath.control.factor import factorise, largest_eigenvalue
from towpath.control.prior import ActionPrior
from towpath.control.quadratic import Programme, Solution
from towpath.control.stage import Model
from towpath.control.status import Status
from towpath.control.sweep import SWEEPS, ValueKind
from towpath.control.trajectory import Policy


@dataclass(frozen=True, eq=False)
class Direction:
    """A family of policies over step sizes, with the model's prediction for each."""

    policy: Callable[[float], Policy]
    theta: float
    """Expected change of the cost to first order at step size 1, <= 0."""
    curvature: float
    """`d'Hd`: the model predicts a change of eps theta + eps^2/2 d'Hd."""
    stationarity: float
    """How far the nominal is from stationary; 0 at a solution. In the units of the gradient of J
    in the weights, whatever the bounds: the largest entry of `u - Proj(u - g)`, or of q_u."""
    curvature_ratio: float
    """Largest eigenvalue of F_u' V F_u over beta."""
    finished: bool = True
    """False if the quadratic programme reached its iteration limit: a descent, but not the best"""

    def ended(self, status: Status) -> Status:
        """Return the status of a plan that took this direction and would end with `status`."""
        if self.finished or status.failed or status is Status.CONVERGED:
            return status
        return Status.QUADRATIC_LIMIT

    def predicted_decrease(self, eps: float) -> float:
        """Return the decrease of the cost that the quadratic model predicts for step size `eps`."""
        return -(eps * self.theta + 0.5 * eps * eps * self.curvature)


def feedback(
    model: Model, actions: Tensor, prior: ActionPrior, value: ValueKind
) -> Direction | Status:
    """Return the closed-loop direction `u_t = u^_t + K_t (z_t - z^_t) + eps k_t`, or a status.

    The status says why there is no direction.

    Args:
        model: the linear-quadratic model of the nominal trajectory, with its states z^_t.
        actions: `u^ [T, M]`, the nominal actions.
        prior: the prior of the actions.
        value: the value function from which the gains are computed.
    """
    precisions = prior.precisions(len(actions))
    sweep = SWEEPS[value](model, prior.gradient(actions), precisions)
    if sweep is None or not np.isfinite(sweep.theta):
        return Status.NOT_POSITIVE_DEFINITE if model.is_finite() else Status.NON_FINITE_DERIVATIVE
    base, gains, start = actions.double(), sweep.gains, model.states[:1]
    # K (z - z^) as K (z - z_1) - K (z^ - z_1): the nominal states need not be kept for the trials.
    # With gradients in 16 bits z^ is stepped again from these, so a trial of step size 0 is the
    # nominal to their precision.
    # Their distance from z_1, where every trial starts, is small enough for the difference to be
    # precise.
    nominal = [
        gain.sensed(model.states[t] - start[0]) if t else None for t, gain in enumerate(gains)
    ]

    def policy(eps: float) -> Policy:
        """Return the closed-loop policy for step size `eps`."""

        def action(t: int, z: Tensor) -> Tensor:
            """Return the action of stage t at the state z."""
            gain, expected = gains[t], nominal[t]
            u = base[t] + eps * gain.k
            if expected is None:  # before stage 2 nothing has moved
                return u
            return u + gain.response(gain.sensed(z - start[0]) - expected)

        return action

    return Direction(
        policy,
        theta=sweep.theta,
        curvature=-sweep.theta,
        stationarity=sweep.largest_gradient,
        curvature_ratio=sweep.largest_eigenvalue / float(precisions.min()),
    )


class FeasibleSet(Protocol):
    """The feasible weights of the condensed problem, a convex set for each mini-batch."""

    def project(self, weights: Tensor, held: Tensor | None = None) -> Tensor:
        """Return the feasible weights `[T, M]` nearest to `weights`, in float64."""
        ...

    def minimise(self, programme: Programme) -> Solution:
        """Return the feasible weights that minimise a quadratic programme."""
        ...


def constrained(
    model: Model, actions: Tensor, prior: ActionPrior, feasible: FeasibleSet
) -> Direction | Status:
    """Return the open-loop direction `u(eps) = (1 - eps) u^ + eps w`, or a status.

    w are the best feasible weights of the model. The status says why there is no direction.

    Args:
        model: the linear-quadratic model of the nominal trajectory.
        actions: `u^ [T, M]`, the nominal actions, which must be feasible.
        prior: the prior of the actions.
        feasible: the set of weights to choose from.
    """
    T, M, _, _ = model.shape
    device = actions.device
    condensed = condense(model)
    g = (condensed.g + prior.gradient(actions)).reshape(-1).cpu()
    H_state = condensed.H.cpu()
    if not (torch.isfinite(g).all() and torch.isfinite(H_state).all()):
        return Status.NON_FINITE_DERIVATIVE
    precisions = prior.precisions(T).repeat_interleave(M)
    factor = factorise(H_state + torch.diag(precisions))
    if factor is None:
        return Status.NOT_POSITIVE_DEFINITE
    H = H_state + torch.diag(precisions + factor.rho)
    u = actions.double().cpu().reshape(-1)
    held = None if model.held is None else model.held.cpu()
    nearest = feasible.project((u - g).reshape(T, M), held)
    mask = None if held is None else held.numpy()
    solution = feasible.minimise(Programme(H.numpy(), g.numpy(), u.numpy().reshape(T, M), mask))
    w = solution.w
    # a weight that moves by rounding only has not moved
    w = np.where(np.abs(w - u.numpy()) <= 4 * np.finfo(np.float64).eps, u.numpy(), w)
    target = torch.from_numpy(np.ascontiguousarray(w))
    d = target - u
    start, end = u.reshape(T, M).to(device), target.reshape(T, M).to(device)

    def policy(eps: float) -> Policy:
        """Return the open-loop policy for step size `eps`."""
        # as start + eps d, a weight that does not move stays the same to the bit; with eps a power
        # of two and end >= 0 no rounding makes it negative
        return lambda t, z: start[t] + eps * (end[t] - start[t])  # noqa: ARG005

    return Direction(
        policy,
        theta=float(g @ d),
        curvature=float(d @ H @ d),
        stationarity=float((u.reshape(T, M) - nearest).abs().max()),
        curvature_ratio=largest_eigenvalue(H_state) / float(precisions.min()),
        finished=solution.finished,
    )
