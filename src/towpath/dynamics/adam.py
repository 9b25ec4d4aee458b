"""Adam and AdamW, as `torch.optim` steps, with the derivative of the whole state (x, m, v).

    G  = g + wd x  (coupled decay)           rho = 1 - lr wd  (decoupled decay; otherwise 1)
    m+ = b1 m + (1 - b1) G                   v+ = b2 v + (1 - b2) G^2
    x+ = rho x - lr (m+ / bc1) / (s + eps)   s = sqrt(v+ / bc2),  bc = 1 - beta^step

and, per coordinate,

    a = dx+/dm+ = -lr / (bc1 (s + eps))      b = dx+/dv+ = lr m+ / (2 bc1 bc2 s (s + eps)^2)
    c = dx+/dG  = a (1 - b1) + 2 b (1 - b2) G
                = a ((1 - b1) (eps + b2 v / (bc2 s)) - b1 (1 - b2) m G / (bc2 s)) / (s + eps)
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from towpath.dynamics.kind import CountingKind, Group, number
from towpath.dynamics.optimiser_state import OptimiserState
from towpath.dynamics.state import Linearisation, OwnDynamics, State
from towpath.flat import Layout
from towpath.validation import at_least, between

Coefficient = Tensor | float


@dataclass(frozen=True)
class Adam:
    """The hyper-parameters of Adam, or of AdamW with `decoupled=True`, for one parameter group.

    Example:
        >>> import torch, towpath as tp
        >>> state = tp.Adam(lr=1e-3).init({"w": torch.ones(2)})
    """

    lr: float = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0
    decoupled: bool = False

    def __post_init__(self) -> None:
        at_least("Adam", "lr", self.lr, 0.0)
        at_least("Adam", "eps", self.eps, 0.0)
        at_least("Adam", "weight_decay", self.weight_decay, 0.0)
        for beta in self.betas:
            between("Adam", "betas", beta, 0.0, math.nextafter(1.0, 0.0))

    @property
    def inertia(self) -> float:
        """The share of a step that is repeated in the next one by momentum."""
        return self.betas[0]

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return the state of this optimiser before its first step on `params`."""
        layout = Layout.of(params)
        return OptimiserState.cold(AdamDynamics(layout, (self,) * len(layout.names)), params)


@dataclass(frozen=True, eq=False)
class Moments:
    """The quantities of one step that the step and its derivative both need, in Adam's letters."""

    G: Tensor
    m: Tensor
    v: Tensor
    s: Tensor
    bc1: Coefficient
    bc2: Coefficient


@dataclass(frozen=True)
class AdamDynamics(OwnDynamics[Adam]):
    """Adam's step, for parameters that may differ in hyper-parameters and in steps taken."""

    @property
    def slot_names(self) -> tuple[str, ...]:
        """The moments' names in torch's state, in the order of `State.slots`."""
        return ("exp_avg", "exp_avg_sq")

    def step(self, state: State, gradient: Tensor) -> State:
        """Return the state after one step on the gradient `[P]`, as in `torch.optim`."""
        now = self.moments(state, gradient)
        lr, eps = self.each("lr", state.x), self.each("eps", state.x)
        x = self.shrunk(state.x) - (lr / now.bc1) * (now.m / (now.s + eps))
        return State(x, (now.m, now.v), tuple(step + 1 for step in state.steps))

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians of this step: 3 x 3 blocks `A [3, 3, P]` and columns `b [3, P]`."""
        now = self.moments(state, gradient)
        lr, eps = self.each("lr", state.x), self.each("eps", state.x)
        b1, b2 = self.betas(state.x)
        c1, c2 = self.complements(state.x)
        a = -lr / (now.bc1 * (now.s + eps))
        b = lr * now.m / (2 * now.bc1 * now.bc2 * now.s * (now.s + eps).square())
        # At s = 0 the square root has no derivative: the step is taken not to depend on v there.
        seen = now.s > 0
        b = torch.where(seen, b, 0.0)
        # c = a (1 - b1) + 2 b (1 - b2) G, with the terms in G^2 cancelled by hand: at the first
        # step c is tiny beside them, and in float32 it would drown in their rounding errors.
        m, v = state.slots
        rest = c1 * b2 * v - b1 * c2 * m * now.G
        c = a * (c1 * eps + rest / (now.bc2 * now.s)) / (now.s + eps)
        c = torch.where(seen, c, a * c1)
        through = torch.stack([c, torch.ones_like(c) * c1, 2 * c2 * now.G])
        # Filled entry by entry: stacking nine tensors would hold A twice, which is a large part of
        # the memory of planning.
        A = gradient.new_zeros(3, 3, len(gradient))
        A[0, 0], A[0, 1], A[0, 2] = self.rho(state.x), a * b1, b * b2
        A[1, 1], A[2, 2] = b1, b2
        A[:, 0] += self.coupled(state.x) * through
        return Linearisation(A, through)

    def moments(self, state: State, gradient: Tensor) -> Moments:
        """Return m+ and v+ of a step on the gradient `[P]`, and what belongs to them."""
        b1, b2 = self.betas(state.x)
        c1, c2 = self.complements(state.x)
        wd = self.coupled(state.x)
        G = gradient if isinstance(wd, float) and wd == 0 else gradient + wd * state.x
        m_old, v_old = state.slots[:2]
        v = b2 * v_old + c2 * (G * G)
        bc1 = self.layout.expand(
            [1 - r.betas[0] ** (n + 1) for r, n in zip(self.rules, state.steps, strict=True)],
            state.x,
        )
        bc2 = self.layout.expand(
            [1 - r.betas[1] ** (n + 1) for r, n in zip(self.rules, state.steps, strict=True)],
            state.x,
        )
        return Moments(G, b1 * m_old + c1 * G, v, (v / bc2).sqrt(), bc1, bc2)

    def betas(self, like: Tensor) -> tuple[Coefficient, Coefficient]:
        """Return b1 and b2 at each coordinate."""
        return (
            self.layout.expand([rule.betas[0] for rule in self.rules], like),
            self.layout.expand([rule.betas[1] for rule in self.rules], like),
        )

    def complements(self, like: Tensor) -> tuple[Coefficient, Coefficient]:
        """Return 1 - b1 and 1 - b2, subtracted before they are rounded to the parameters' dtype."""
        return (
            self.layout.expand([1.0 - rule.betas[0] for rule in self.rules], like),
            self.layout.expand([1.0 - rule.betas[1] for rule in self.rules], like),
        )

    def coupled(self, like: Tensor) -> Coefficient:
        """Return the weight decay that is added to the gradient."""
        return self.layout.expand(
            [0.0 if rule.decoupled else float(rule.weight_decay) for rule in self.rules], like
        )

    def rho(self, like: Tensor) -> Coefficient:
        """Return the factor by which decoupled weight decay shrinks the parameters."""
        return self.layout.expand(
            [1.0 - rule.lr * rule.weight_decay if rule.decoupled else 1.0 for rule in self.rules],
            like,
        )

    def shrunk(self, x: Tensor) -> Tensor:
        """Return the parameters `rho x` after decoupled weight decay."""
        rho = self.rho(x)
        return x if isinstance(rho, float) and rho == 1.0 else rho * x


class TorchAdam(CountingKind):
    """How the state of `torch.optim.Adam` is read and written back, apart from `amsgrad`."""

    name = "Adam"
    decoupled: ClassVar[bool] = False
    """how the class decays weights, unless a group says otherwise"""

    def rule(self, group: Group) -> Adam:
        """Return the hyper-parameters of one of the optimiser's parameter groups."""
        self.check_options(group)
        return Adam(**self.options(group))

    def options(self, group: Group) -> dict[str, Any]:
        """Return the options that Adam and its relatives share."""
        return {
            "lr": number(group["lr"]),
            "betas": (number(group["betas"][0]), number(group["betas"][1])),
            "eps": number(group["eps"]),
            "weight_decay": number(group["weight_decay"]),
            "decoupled": bool(group.get("decoupled_weight_decay", self.decoupled)),
        }

    def dynamics(self, layout: Layout, rules: Sequence[Adam]) -> AdamDynamics:
        """The step for parameters with these rules, one for each."""
        return AdamDynamics(layout, tuple(rules))

    def kept(self, group: Group) -> tuple[str, ...]:  # noqa: ARG002
        """Return the moments that torch stores for the parameters of a group."""
        return ("exp_avg", "exp_avg_sq")
