"""RMSprop, as `torch.optim.RMSprop` steps, with the derivative of its whole state.

    G  = g + wd x
    v+ = al v + (1 - al) G^2
    m+ = al m + (1 - al) G                   centred only; otherwise m = m+ = 0
    s  = sqrt(v+ - m+^2)                     e = G / (s + eps)
    b+ = mu b + e                            x+ = x - lr b+    (without momentum: x - lr e)

and, per coordinate,

    c = de/dG = (eps + al (v - m m+) / s) / (s + eps)^2
    de/dv = -al G / (2 s (s + eps)^2)        de/dm = al G m+ / (s (s + eps)^2)

The state is (x, v), with m behind v where any parameter is centred, and with b behind these where
any parameter has momentum. Where a scheduler takes the momentum of a parameter to 0, torch steps
on e and leaves b as it is.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.dynamics.kind import CountingKind, Group, has_momentum, number
from towpath.dynamics.optimiser_state import OptimiserState
from towpath.dynamics.state import Linearisation, OwnDynamics, State
from towpath.flat import Layout
from towpath.validation import at_least, between


@dataclass(frozen=True)
class RMSprop:
    """The hyper-parameters of RMSprop for one parameter group.

    Example:
        >>> import torch, towpath as tp
        >>> state = tp.RMSprop(lr=1e-3).init({"w": torch.ones(2)})
    """

    lr: float = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0
    centered: bool = False

    def __post_init__(self) -> None:
        at_least("RMSprop", "lr", self.lr, 0.0)
        between("RMSprop", "alpha", self.alpha, 0.0, math.nextafter(1.0, 0.0))
        at_least("RMSprop", "eps", self.eps, 0.0)
        at_least("RMSprop", "weight_decay", self.weight_decay, 0.0)
        at_least("RMSprop", "momentum", self.momentum, 0.0)

    @property
    def inertia(self) -> float:
        """The share of a step that is repeated in the next one by momentum."""
        return self.momentum

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return the state of this optimiser before its first step on `params`."""
        layout = Layout.of(params)
        return OptimiserState.cold(RMSpropDynamics(layout, (self,) * len(layout.names)), params)


@dataclass(frozen=True, eq=False)
class _Scaled:
    """The quantities of one step that the step and its derivative both need."""

    G: Tensor
    v: Tensor
    m: Tensor | float
    """mean of the gradients after the step; 0 where no parameter is centred"""
    s: Tensor


@dataclass(frozen=True)
class RMSpropDynamics(OwnDynamics[RMSprop]):
    """RMSprop's step, for parameters that may differ in hyper-parameters."""

    @property
    def is_centred(self) -> bool:
        """Whether any parameter keeps a mean of its gradients."""
        return "grad_avg" in self.held or any(rule.centered for rule in self.rules)

    @property
    def has_momentum(self) -> bool:
        """Whether any parameter keeps a momentum buffer."""
        return "momentum_buffer" in self.held or any(rule.momentum for rule in self.rules)

    @property
    def slot_names(self) -> tuple[str, ...]:
        """The moments' names in torch's state, in the order of `State.slots`."""
        mean = ("grad_avg",) if self.is_centred else ()
        return ("square_avg", *mean, *(("momentum_buffer",) if self.has_momentum else ()))

    def step(self, state: State, gradient: Tensor) -> State:
        """Return the state after one step on the gradient `[P]`, as in `torch.optim.RMSprop`."""
        now = self._scaled(state, gradient)
        direction = now.G / (now.s + self.each("eps", state.x))
        slots = [now.v]
        if isinstance(now.m, Tensor):
            slots.append(now.m)
        if self.has_momentum:
            buffer = state.slots[-1]
            direction = self.each("momentum", state.x) * buffer + direction
            moving = torch.as_tensor(self._moving(state.x), device=buffer.device) > 0
            slots.append(torch.where(moving, direction, buffer))
        x = state.x - self.each("lr", state.x) * direction
        return State(x, tuple(slots), tuple(step + 1 for step in state.steps))

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians `A [k, k, P]` and `b [k, P]` of this step."""
        now = self._scaled(state, gradient)
        x = state.x
        lr, eps, al = self.each("lr", x), self.each("eps", x), self.each("alpha", x)
        k, wd, rest = 1 + len(self.slot_names), self.each("weight_decay", x), self._rest(x)
        # At s = 0 the square root has no derivative: the step is taken not to depend on it there.
        seen, width = now.s > 0, (now.s + eps).square()
        m_old = state.slots[1] if self.is_centred else 0.0
        c = torch.where(
            seen, (eps + al * (state.slots[0] - m_old * now.m) / now.s) / width, 1 / (now.s + eps)
        )
        by_v = torch.where(seen, -al * now.G / (2 * now.s * width), 0.0)
        A, b = gradient.new_zeros(k, k, len(gradient)), gradient.new_zeros(k, len(gradient))
        by_m = torch.where(seen, al * now.G * now.m / (now.s * width), 0.0) * self._centred(x)
        # row 0 is that of x, row 1 of v; the direction's row is the last one with momentum
        row: dict[int, Tensor | float] = {0: -lr}
        if self.has_momentum:
            row[k - 1] = self._moving(x)
        for i, factor in row.items():
            b[i], A[i, 1] = factor * c, factor * by_v
            if self.is_centred:
                A[i, 2] = factor * by_m
            if self.has_momentum:
                A[i, k - 1] = factor * self.each("momentum", x)
        if self.has_momentum:
            A[k - 1, k - 1] += 1.0 - self._moving(x)
        A[0, 0] += 1.0
        b[1], A[1, 1] = 2 * rest * now.G, al
        if self.is_centred:
            b[2], A[2, 2] = rest * self._centred(x), al
        A[:, 0] += wd * b
        return Linearisation(A, b)

    def _scaled(self, state: State, gradient: Tensor) -> _Scaled:
        al, wd = self.each("alpha", state.x), self.each("weight_decay", state.x)
        G = gradient if isinstance(wd, float) and wd == 0 else gradient + wd * state.x
        rest = self._rest(state.x)
        v = al * state.slots[0] + rest * (G * G)
        if not self.is_centred:
            return _Scaled(G, v, 0.0, v.sqrt())
        m = al * state.slots[1] + rest * self._centred(state.x) * G
        return _Scaled(G, v, m, (v - m * m).sqrt())

    def _rest(self, like: Tensor) -> Tensor | float:
        """1 - al, subtracted before it is rounded to the parameters' dtype."""
        return self.layout.expand([1.0 - rule.alpha for rule in self.rules], like)

    def _centred(self, like: Tensor) -> Tensor | float:
        """1 at the coordinates of parameters that are centred, and 0 elsewhere."""
        return self.layout.expand([float(rule.centered) for rule in self.rules], like)

    def _moving(self, like: Tensor) -> Tensor | float:
        """1 at the coordinates of parameters whose buffer moves, and 0 where it stays."""
        return self.layout.expand([float(rule.momentum > 0) for rule in self.rules], like)


class TorchRMSprop(CountingKind):
    """How `torch.optim.RMSprop` is read, and how its state is written back."""

    name = "RMSprop"

    def rule(self, group: Group) -> RMSprop:
        """Return the hyper-parameters of one of the optimiser's parameter groups."""
        self.check_options(group)
        return RMSprop(
            lr=number(group["lr"]),
            alpha=number(group["alpha"]),
            eps=number(group["eps"]),
            weight_decay=number(group["weight_decay"]),
            momentum=number(group["momentum"]),
            centered=bool(group["centered"]),
        )

    def dynamics(self, layout: Layout, rules: Sequence[RMSprop]) -> RMSpropDynamics:
        """The step for parameters with these rules, one for each."""
        return RMSpropDynamics(layout, tuple(rules))

    def kept(self, group: Group) -> tuple[str, ...]:
        """Return the moments that torch stores for the parameters of a group."""
        mean = ("grad_avg",) if group["centered"] else ()
        return ("square_avg", *mean, *(("momentum_buffer",) if has_momentum(group) else ()))
