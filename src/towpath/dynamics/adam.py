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
from typing import ClassVar

import torch
from torch import Tensor

from towpath.dynamics.kind import Entry, Group, TorchKind, number
from towpath.dynamics.state import Linearisation, OptimiserState, State
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
class _Moments:
    """The quantities of one step that the step and its derivative both need."""

    G: Tensor
    m: Tensor
    v: Tensor
    s: Tensor
    bc1: Coefficient
    bc2: Coefficient


@dataclass(frozen=True)
class AdamDynamics:
    """Adam's step, for parameters that may differ in hyper-parameters and in steps taken."""

    layout: Layout
    rules: tuple[Adam, ...]
    """the hyper-parameters of each parameter, in the order of the layout"""

    def initial(self, x: Tensor) -> State:
        """Return the state at the parameters `x [P]` before the first step: zero moments."""
        return State(x, (torch.zeros_like(x), torch.zeros_like(x)), (0,) * len(self.rules))

    def step(self, state: State, gradient: Tensor) -> State:
        """Return the state after one step on the gradient `[P]`, as in `torch.optim`."""
        now = self._moments(state, gradient)
        lr, eps = self._each("lr", state.x), self._each("eps", state.x)
        rho = self._rho(state.x)
        shrunk = state.x if isinstance(rho, float) and rho == 1.0 else rho * state.x
        x = shrunk - (lr / now.bc1) * (now.m / (now.s + eps))
        return State(x, (now.m, now.v), tuple(step + 1 for step in state.steps))

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians of this step: 3 x 3 blocks `A [3, 3, P]` and columns `b [3, P]`."""
        now = self._moments(state, gradient)
        lr, eps = self._each("lr", state.x), self._each("eps", state.x)
        b1, b2 = self._betas(state.x)
        c1, c2 = self._complements(state.x)
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
        A[0, 0], A[0, 1], A[0, 2] = self._rho(state.x), a * b1, b * b2
        A[1, 1], A[2, 2] = b1, b2
        A[:, 0] += self._coupled(state.x) * through
        return Linearisation(A, through)

    def _moments(self, state: State, gradient: Tensor) -> _Moments:
        b1, b2 = self._betas(state.x)
        c1, c2 = self._complements(state.x)
        wd = self._coupled(state.x)
        G = gradient if isinstance(wd, float) and wd == 0 else gradient + wd * state.x
        m_old, v_old = state.slots
        v = b2 * v_old + c2 * (G * G)
        bc1 = self.layout.expand(
            [1 - r.betas[0] ** (n + 1) for r, n in zip(self.rules, state.steps, strict=True)],
            state.x,
        )
        bc2 = self.layout.expand(
            [1 - r.betas[1] ** (n + 1) for r, n in zip(self.rules, state.steps, strict=True)],
            state.x,
        )
        return _Moments(G, b1 * m_old + c1 * G, v, (v / bc2).sqrt(), bc1, bc2)

    def _each(self, name: str, like: Tensor) -> Coefficient:
        return self.layout.expand([float(getattr(rule, name)) for rule in self.rules], like)

    def _betas(self, like: Tensor) -> tuple[Coefficient, Coefficient]:
        return (
            self.layout.expand([rule.betas[0] for rule in self.rules], like),
            self.layout.expand([rule.betas[1] for rule in self.rules], like),
        )

    def _complements(self, like: Tensor) -> tuple[Coefficient, Coefficient]:
        """1 - b1 and 1 - b2, subtracted before they are rounded to the parameters' dtype."""
        return (
            self.layout.expand([1.0 - rule.betas[0] for rule in self.rules], like),
            self.layout.expand([1.0 - rule.betas[1] for rule in self.rules], like),
        )

    def _coupled(self, like: Tensor) -> Coefficient:
        return self.layout.expand(
            [0.0 if rule.decoupled else float(rule.weight_decay) for rule in self.rules], like
        )

    def _rho(self, like: Tensor) -> Coefficient:
        return self.layout.expand(
            [1.0 - rule.lr * rule.weight_decay if rule.decoupled else 1.0 for rule in self.rules],
            like,
        )


class TorchAdam(TorchKind):
    """How `torch.optim.Adam` is read, and how its state is written back."""

    name = "Adam"
    slots = ("exp_avg", "exp_avg_sq")
    decoupled: ClassVar[bool] = False
    """how the class decays weights, unless a group says otherwise"""

    def rule(self, group: Group) -> Adam:
        """Return the hyper-parameters of one of the optimiser's parameter groups."""
        self.check_options(group)
        return Adam(
            lr=number(group["lr"]),
            betas=(number(group["betas"][0]), number(group["betas"][1])),
            eps=number(group["eps"]),
            weight_decay=number(group["weight_decay"]),
            decoupled=bool(group.get("decoupled_weight_decay", self.decoupled)),
        )

    def dynamics(self, layout: Layout, rules: Sequence[Adam]) -> AdamDynamics:
        """The step for parameters with these rules, one for each."""
        return AdamDynamics(layout, tuple(rules))

    def steps_taken(self, entry: Entry) -> int:
        """The counter that the bias corrections need."""
        return int(number(entry.get("step", 0)))

    def write_steps(self, entry: Entry, steps: int) -> None:
        """Set the counter, as the kind of tensor that it was."""
        old = entry.get("step")
        if isinstance(old, Tensor):
            entry["step"] = torch.full_like(old, float(steps))
            return
        # torch's own choice: its counters stay on the CPU, in the default dtype
        dtype = torch.get_default_dtype()
        entry["step"] = torch.tensor(float(steps), dtype=dtype, device="cpu")


class TorchAdamW(TorchAdam):
    """How `torch.optim.AdamW` is read: as Adam, with decoupled weight decay."""

    name = "AdamW"
    decoupled = True
