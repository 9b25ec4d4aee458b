"""Which way to go: a direction from the model, as a policy for every step size.

`feedback` follows the sweep's gains (closed loop); `constrained` solves the condensed problem over
the feasible weights (open loop), so every step size is feasible.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from towpath.control import quadratic
from towpath.control.condensed import condensed_hessian
from towpath.control.factor import factorise
from towpath.control.stage import Model, costate_gradient
from towpath.control.status import Status
from towpath.control.sweep import ValueKind, backward_sweep, condensed_sweep

BoundsKind = Literal["project", "simplex", "backtrack", "none"]
BOUNDS: tuple[BoundsKind, ...] = ("project", "simplex", "backtrack", "none")

Policy = Callable[[int, Tensor], Tensor]
"""(stage t, state z [k, P]) -> action [M], float64."""


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
    """False where the quadratic programme ran out of iterations: a descent, but not the best"""

    def ended(self, status: Status) -> Status:
        """The status of a plan that took this direction and would end with `status`."""
        if self.finished or status.failed or status is Status.CONVERGED:
            return status
        return Status.QUADRATIC_LIMIT

    def predicted_decrease(self, eps: float) -> float:
        """What the quadratic model promises for a step size."""
        return -(eps * self.theta + 0.5 * eps * eps * self.curvature)


@dataclass(frozen=True)
class Prior:
    """`beta/2 |u - mu|^2` for each mini-batch; `scales` multiply beta mini-batch by mini-batch."""

    beta: float
    mu: float
    scales: tuple[float, ...] | None = None

    def precisions(self, T: int) -> Tensor:
        """beta of each mini-batch `[T]`, float64."""
        ones = (1.0,) * T
        return self.beta * torch.tensor(self.scales or ones, dtype=torch.float64, device="cpu")

    def cost(self, actions: Tensor) -> float:
        """Sum over all mini-batches, float64."""
        squares = (actions.double() - self.mu).square().sum(1).cpu()
        return 0.5 * float(self.precisions(len(actions)) @ squares)

    def gradient(self, actions: Tensor) -> Tensor:
        """`c_u [T, M]`, float64."""
        precisions = self.precisions(len(actions)).to(actions.device)
        return precisions[:, None] * (actions.double() - self.mu)


def feedback(
    model: Model, actions: Tensor, nominal: Sequence[Tensor], prior: Prior, value: ValueKind
) -> Direction | Status:
    """Closed loop: `u_t = u^_t + K_t (z_t - z^_t) + eps k_t`."""
    precisions = prior.precisions(len(actions))
    c_u = prior.gradient(actions)
    sweep = (
        condensed_sweep(model, c_u, precisions)
        if value == "exact"
        else backward_sweep(model, c_u, precisions, "diagonal")
    )
    if sweep is None or not np.isfinite(sweep.theta):
        return Status.NOT_POSITIVE_DEFINITE if model.is_finite() else Status.NON_FINITE_DERIVATIVE
    base = actions.double()

    def policy(eps: float) -> Policy:
        def action(t: int, z: Tensor) -> Tensor:
            gain = sweep.gains[t]
            u = base[t] + eps * gain.k
            # before stage 2 nothing has moved, and stage 1's K was built without curvature
            return u if t == 0 else u + gain.feedback(z - nominal[t])

        return action

    return Direction(
        policy,
        theta=sweep.theta,
        curvature=-sweep.theta,
        stationarity=sweep.largest_gradient,
        curvature_ratio=sweep.largest_eigenvalue / float(precisions.min()),
    )


def constrained(
    model: Model, actions: Tensor, prior: Prior, bounds: BoundsKind
) -> Direction | Status:
    """Open loop: `u(eps) = (1 - eps) u^ + eps w`, w the best feasible weights of the model."""
    T, M, _, _ = model.shape
    device = actions.device
    g = (costate_gradient(model) + prior.gradient(actions)).reshape(-1).cpu()
    H_state = condensed_hessian(model).cpu()
    if not (torch.isfinite(g).all() and torch.isfinite(H_state).all()):
        return Status.NON_FINITE_DERIVATIVE
    precisions = prior.precisions(T).repeat_interleave(M)
    factor = factorise(H_state + torch.diag(precisions))
    if factor is None:
        return Status.NOT_POSITIVE_DEFINITE
    H = H_state + torch.diag(precisions + factor.rho)
    u = actions.double().cpu().reshape(-1)
    base = u.numpy()
    rows = (u - g).numpy().reshape(T, M)
    held: quadratic.Mask | None = None
    if bounds == "simplex":
        if model.held is not None:
            held = model.held.cpu().numpy()
        # float32 weights sum to 1 up to rounding only; float64 ones are left as they are
        sums = base.reshape(T, M).sum(1, keepdims=True)
        sums[np.abs(sums - 1.0) < 1e-12] = 1.0
        base = (base.reshape(T, M) / sums).reshape(-1)
        nearest = quadratic.project_simplex(rows, held)
    else:
        nearest = np.maximum(rows, 0.0)
    solution = quadratic.solve(
        H.numpy(),
        g.numpy(),
        base,
        M if bounds == "simplex" else None,
        None if held is None else held.reshape(-1),
    )
    w = solution.w
    # a weight that moves by rounding only has not moved
    w = np.where(np.abs(w - u.numpy()) <= 4 * np.finfo(np.float64).eps, u.numpy(), w)
    target = torch.from_numpy(np.ascontiguousarray(w))
    d = target - u
    start, end = u.reshape(T, M).to(device), target.reshape(T, M).to(device)

    def policy(eps: float) -> Policy:
        # as start + eps d, a weight that does not move stays the same to the bit; with eps a power
        # of two and end >= 0 no rounding makes it negative
        return lambda t, z: start[t] + eps * (end[t] - start[t])  # noqa: ARG005

    return Direction(
        policy,
        theta=float(g @ d),
        curvature=float(d @ H @ d),
        stationarity=float(np.abs(u.numpy().reshape(T, M) - nearest).max()),
        curvature_ratio=float(torch.linalg.eigvalsh(H_state)[-1]) / float(precisions.min()),
        finished=solution.finished,
    )
