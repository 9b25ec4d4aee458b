"""RAdam, as `torch.optim.RAdam` steps: Adam that leaves out v while its estimate is too rough.

    rho_inf = 2 / (1 - b2) - 1               rho_n = rho_inf - 2 n b2^n / (1 - b2^n)   at step n
    x+ = rho x - lr m+ / bc1                                         while rho_n <= 5
    x+ = rho x - L m+ / (s + eps),  s = sqrt(v+)                     afterwards
    L  = lr sqrt(bc2) r / bc1
    r^2 = (rho_n - 4) (rho_n - 2) rho_inf / ((rho_inf - 4) (rho_inf - 2) rho_n)

Moments and weight decay are Adam's (`adam`); with v, the derivative has Adam's form, too.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.dynamics.adam import Adam, AdamDynamics, Coefficient, TorchAdam
from towpath.dynamics.kind import Group
from towpath.dynamics.optimiser_state import OptimiserState
from towpath.dynamics.state import Linearisation, State
from towpath.flat import Layout

ROUGH = 5.0
"""the variance of the adaptive rate is taken as known where rho_n is above this"""


@dataclass(frozen=True)
class RAdam(Adam):
    """The hyper-parameters of RAdam for one parameter group; `decoupled=True` decays as AdamW does.

    Example:
        >>> import torch, towpath as tp
        >>> state = tp.RAdam(lr=1e-3).init({"w": torch.ones(2)})
    """

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return the state of this optimiser before its first step on `params`."""
        layout = Layout.of(params)
        return OptimiserState.cold(RAdamDynamics(layout, (self,) * len(layout.names)), params)

    def rectification(self, steps: int) -> float | None:
        """Return r of the step after `steps` steps; None where v is left out."""
        b2, n = self.betas[1], steps + 1
        rho_inf = 2 / (1 - b2) - 1
        rho = rho_inf - 2 * n * b2**n / (1 - b2**n)
        if rho <= ROUGH:
            return None
        return math.sqrt((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho))


@dataclass(frozen=True, eq=False)
class _Scales:
    """How far a step goes along m+ at each coordinate."""

    adaptive: Coefficient
    """L where the step divides by `s + eps`, 0 elsewhere"""
    plain: Coefficient
    """`lr / bc1` where it does not, 0 elsewhere"""


@dataclass(frozen=True)
class RAdamDynamics(AdamDynamics):
    """RAdam's step, for parameters that may differ in hyper-parameters and in steps taken."""

    def step(self, state: State, gradient: Tensor) -> State:
        """Return the state after one step on the gradient `[P]`, as in `torch.optim`."""
        now, scales = self.moments(state, gradient), self._scales(state)
        along = scales.adaptive / (now.v.sqrt() + self.each("eps", state.x)) + scales.plain
        x = self.shrunk(state.x) - along * now.m
        return State(x, (now.m, now.v), tuple(step + 1 for step in state.steps))

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians of this step: 3 x 3 blocks `A [3, 3, P]` and columns `b [3, P]`."""
        now, scales = self.moments(state, gradient), self._scales(state)
        m_old, v_old = state.slots
        b1, b2 = self.betas(state.x)
        c1, c2 = self.complements(state.x)
        eps, s = self.each("eps", state.x), now.v.sqrt()
        adaptive = -scales.adaptive / (s + eps)
        a = adaptive - scales.plain
        b = torch.where(s > 0, scales.adaptive * now.m / (2 * s * (s + eps).square()), 0.0)
        # as in Adam, with the terms in G^2 cancelled by hand
        rest = c1 * b2 * v_old - b1 * c2 * m_old * now.G
        by_G = adaptive * (c1 * eps + rest / s) / (s + eps) - scales.plain * c1
        c = torch.where(s > 0, by_G, a * c1)
        through = torch.stack([c, torch.ones_like(c) * c1, 2 * c2 * now.G])
        A = gradient.new_zeros(3, 3, len(gradient))
        A[0, 0], A[0, 1], A[0, 2] = self.rho(state.x), a * b1, b * b2
        A[1, 1], A[2, 2] = b1, b2
        A[:, 0] += self.coupled(state.x) * through
        return Linearisation(A, through)

    def _scales(self, state: State) -> _Scales:
        adaptive, plain = [], []
        for rule, taken in zip(self.rules, state.steps, strict=True):
            assert isinstance(rule, RAdam)
            r, n = rule.rectification(taken), taken + 1
            rate = rule.lr / (1 - rule.betas[0] ** n)
            adaptive.append(0.0 if r is None else rate * r * math.sqrt(1 - rule.betas[1] ** n))
            plain.append(rate if r is None else 0.0)
        return _Scales(self.layout.expand(adaptive, state.x), self.layout.expand(plain, state.x))


class TorchRAdam(TorchAdam):
    """How `torch.optim.RAdam` is read: its state is that of Adam."""

    name = "RAdam"

    def rule(self, group: Group) -> RAdam:
        """Return the hyper-parameters of one of the optimiser's parameter groups."""
        self.check_options(group)
        return RAdam(**self.options(group))

    def dynamics(self, layout: Layout, rules: Sequence[Adam]) -> RAdamDynamics:
        """The step for parameters with these rules, one for each."""
        return RAdamDynamics(layout, tuple(rules))
