"""Linear-quadratic control with dense matrices: Riccati, KKT system, condensed Hessian.

The state z [k, P] is a vector of n = kP numbers here, entry (i, p) at i P + p. Nothing is shared
with `towpath.control` but the stages' numbers.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.control import Model, StageModel, TerminalCost, Trajectory, Work


@dataclass
class DenseStage:
    F_x: Tensor  # [n, n]
    F_u: Tensor  # [n, M]
    c_x: Tensor  # [n]
    C_xx: Tensor  # [n, n]


@dataclass
class DenseGain:
    K: Tensor  # [M, n]
    k: Tensor  # [M]
    V: Tensor  # [n, n], before the stage
    v: Tensor  # [n]


def random_model(seed, T, M, P, k, terminal):
    """Stages with random blocks; the curvature of a coordinate may be zero."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def curvature():
        return normal(P).clamp_min(0)

    stages = [
        StageModel(
            A=torch.eye(k, dtype=torch.float64)[:, :, None] + 0.3 * normal(k, k, P),
            b=0.5 * normal(k, P),
            J=normal(M, P),
            c_x=normal(P),
            C_xx=curvature(),
        )
        for _ in range(T)
    ]
    return Model(stages, TerminalCost(normal(P), curvature()) if terminal else None)


def dense_stages(model):
    _, M, k, P = model.shape
    stages = []
    for stage in model.stages:
        F_x = torch.zeros(k, P, k, P, dtype=torch.float64)
        F_u = torch.zeros(k, P, M, dtype=torch.float64)
        for p in range(P):
            F_x[:, p, :, p] = stage.A[:, :, p]
            F_u[:, p] = torch.outer(stage.b[:, p], stage.J[:, p])
        c_x, C_xx = dense_cost(stage.c_x, stage.C_xx, k)
        stages.append(DenseStage(F_x.reshape(k * P, k * P), F_u.reshape(k * P, M), c_x, C_xx))
    return stages


def dense_cost(c_x, C_xx, k):
    rest = c_x.new_zeros((k - 1) * len(c_x))
    return torch.cat([c_x, rest]), torch.diag(torch.cat([C_xx, rest]))


def dense_end(model):
    """v and V after the last stage."""
    _, _, k, P = model.shape
    if model.terminal is None:
        return torch.zeros(k * P, dtype=torch.float64), torch.zeros(k * P, k * P).double()
    return dense_cost(model.terminal.c_x, model.terminal.C_xx, k)


def blocks_only(V, k, P):
    """V with every entry between different coordinates dropped."""
    same = torch.eye(P, dtype=torch.bool)[None, :, None, :].expand(k, P, k, P)
    return V * same.reshape(k * P, k * P)


def riccati(model, c_u, beta, *, truncate=False):
    """Gains of all stages and theta, by the textbook's recursion with explicit inverses."""
    T, M, k, P = model.shape
    betas = torch.as_tensor(beta, dtype=torch.float64).expand(T)
    v, V = dense_end(model)
    gains, theta = [], 0.0
    for t in reversed(range(len(model.stages))):
        s = dense_stages(model)[t]
        inverse = torch.linalg.inv(betas[t] * torch.eye(M).double() + s.F_u.T @ V @ s.F_u)
        Q_xu = s.F_x.T @ V @ s.F_u
        q_u = c_u[t] + s.F_u.T @ v
        K, gain = -inverse @ Q_xu.T, -inverse @ q_u
        theta += float(q_u @ gain)
        v = s.c_x + s.F_x.T @ v + Q_xu @ gain
        V = s.C_xx + s.F_x.T @ V @ s.F_x + Q_xu @ K
        if truncate:
            V = blocks_only(V, k, P)
        gains.append(DenseGain(K, gain, V, v))
    return gains[::-1], theta


def condensed(model):
    """Hessian of the state cost in all actions, from the dense map of actions to states."""
    T, M, k, P = model.shape
    n = k * P
    stages = dense_stages(model)
    states = torch.zeros(n, T * M, dtype=torch.float64)  # dz_t / du
    H = torch.zeros(T * M, T * M, dtype=torch.float64)
    costs = [s.C_xx for s in stages[1:]] + [dense_end(model)[1]]
    for t, (s, C) in enumerate(zip(stages, costs, strict=True)):
        states = s.F_x @ states
        states[:, t * M : (t + 1) * M] += s.F_u
        H += states.T @ C @ states
    return H


def kkt(model, c_u, beta):
    """Deviations `[T, M]` and change of the cost at the optimum, from one KKT system.

    Unknowns: the state after each stage, the actions, and a multiplier for each stage's dynamics.
    """
    T, M, k, P = model.shape
    n = k * P
    stages = dense_stages(model)
    ends = [(s.c_x, s.C_xx) for s in stages[1:]] + [dense_end(model)]
    nz, nu = T * n, T * M
    H = torch.zeros(nz + nu, nz + nu, dtype=torch.float64)
    c = torch.zeros(nz + nu, dtype=torch.float64)
    E = torch.zeros(nz, nz + nu, dtype=torch.float64)  # z_{t+1} - F_x z_t - F_u u_t = 0
    for t, s in enumerate(stages):
        z, u = slice(t * n, (t + 1) * n), slice(nz + t * M, nz + (t + 1) * M)
        c[z], H[z, z] = ends[t]
        c[u], H[u, u] = c_u[t], beta * torch.eye(M, dtype=torch.float64)
        E[z, z] = torch.eye(n, dtype=torch.float64)
        E[z, u] = -s.F_u
        if t:
            E[z, (t - 1) * n : t * n] = -s.F_x
    full = torch.cat([torch.cat([H, E.T], 1), torch.cat([E, E.new_zeros(nz, nz)], 1)])
    y = torch.linalg.solve(full, torch.cat([-c, c.new_zeros(nz)]))[: nz + nu]
    return y[nz:].reshape(T, M), float(c @ y + 0.5 * y @ H @ y)


class LinearQuadratic:
    """A `Problem` for iLQR whose dynamics are linear and whose costs are quadratic.

    z_{t+1} = F_x z_t + F_u u_t,  cost c_x'x + 1/2 x' C_xx x  at every state, entry 0 of z being x.
    """

    epsilon = torch.finfo(torch.float64).eps

    def __init__(self, model, z):
        self.true, self.z = model, z

    def rollout(self, policy, *, derivatives, allows, goes_on=None):
        z, states, actions, costs = self.z, [], [], []
        for t, stage in enumerate(self.true.stages):
            u = policy(t, z)
            states.append(z)
            actions.append(u)
            costs.append(self._cost(stage, z))
            push = u @ stage.J
            z = torch.stack(
                [(row * z).sum(0) + b * push for row, b in zip(stage.A, stage.b, strict=True)]
            )
        if self.true.terminal is not None:
            costs.append(self._cost(self.true.terminal, z))
        rows = torch.stack(actions)
        feasible = all(allows(row) for row in rows)
        return Trajectory(rows, costs, True, feasible, Work(), kept=[*states, z])

    def model(self, trajectory, *, last=False):
        *states, (x, *_) = trajectory.kept
        stages = [
            StageModel(s.A, s.b, s.J, s.c_x + s.C_xx * z[0], s.C_xx)
            for s, z in zip(self.true.stages, states, strict=True)
        ]
        end = self.true.terminal
        cost = end and TerminalCost(end.c_x + end.C_xx * x, end.C_xx)
        return Model(stages, cost, states=states)

    @staticmethod
    def _cost(terms, z):
        return float(terms.c_x @ z[0] + 0.5 * (terms.C_xx * z[0]) @ z[0])
