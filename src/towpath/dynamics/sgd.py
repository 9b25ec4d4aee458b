"""Stochastic gradient descent with momentum, as `torch.optim.SGD` steps.

    G = g + wd x
    b+ = m b + (1 - d) G          (torch's first step: d = 0)
    x+ = x - lr b+                or, Nesterov,  x - lr (G + m b+)

Without momentum the state is x alone (k = 1), otherwise (x, b) (k = 2). Where a scheduler takes the
momentum of a parameter to 0, torch steps on G and leaves b as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from towpath.dynamics.kind import Entry, Group, TorchKind, has_momentum, number
from towpath.dynamics.optimiser_state import OptimiserState, Schedule
from towpath.dynamics.state import Dynamics, Linearisation, OwnDynamics, Rule, State
from towpath.flat import Layout
from towpath.validation import at_least, between


@dataclass(frozen=True)
class SGD:
    """The hyper-parameters of SGD, with or without momentum, for one parameter group.

    Example:
        >>> import torch, towpath as tp
        >>> state = tp.SGD(lr=0.1).init({"w": torch.ones(2)})
    """

    lr: float
    momentum: float = 0.0
    dampening: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        at_least("SGD", "lr", self.lr, 0.0)
        at_least("SGD", "momentum", self.momentum, 0.0)
        between("SGD", "dampening", self.dampening, 0.0, 1.0)
        at_least("SGD", "weight_decay", self.weight_decay, 0.0)
        if self.nesterov and (self.momentum <= 0 or self.dampening != 0):
            raise ValueError(
                f"SGD found nesterov=True with momentum={self.momentum} and "
                f"dampening={self.dampening}; expected momentum > 0 and dampening = 0."
            )

    @property
    def inertia(self) -> float:
        """The share of a step that is repeated in the next one by momentum."""
        return self.momentum

    def init(self, params: Mapping[str, Tensor]) -> OptimiserState:
        """Return the state of this optimiser before its first step on `params`."""
        layout = Layout.of(params)
        return OptimiserState.cold(SGDDynamics(layout, (self,) * len(layout.names)), params)


@dataclass(frozen=True)
class SGDDynamics(OwnDynamics[SGD]):
    """SGD's step, for parameters that may differ in hyper-parameters and in steps taken."""

    @property
    def has_momentum(self) -> bool:
        """Whether any parameter keeps a momentum buffer."""
        return "momentum_buffer" in self.held or any(rule.momentum for rule in self.rules)

    @property
    def slot_names(self) -> tuple[str, ...]:
        """The moments' names in torch's state, in the order of `State.slots`."""
        return ("momentum_buffer",) if self.has_momentum else ()

    def step(self, state: State, gradient: Tensor) -> State:
        """Return the state after one step on the gradient `[P]`, as `torch.optim.SGD` makes it."""
        lr, m, d, nesterov, wd = self._coefficients(state)
        G = gradient + wd * state.x if _any(wd) else gradient
        steps = tuple(step + 1 for step in state.steps)
        if not self.has_momentum:
            return State(state.x - lr * G, (), steps)
        buffer = self._carried(state) * state.slots[0] + (1 - d) * G
        direction = nesterov * (G + m * buffer) + (1 - nesterov) * buffer
        return State(state.x - lr * direction, (buffer,), steps)

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians `A [k, k, P]` and `b [k, P]` of this step.

        They are the same for every step but the first, at which torch applies no dampening.
        """
        lr, m, d, nesterov, wd = self._coefficients(state)
        one = torch.ones_like(gradient)
        if not self.has_momentum:
            b = (-lr * one)[None]
            return Linearisation((one + wd * b[0])[None, None], b)
        through = nesterov * m + (1 - nesterov)  # how much of b+ enters the direction
        carried = self._carried(state)
        b = torch.stack([-lr * (nesterov + through * (1 - d)) * one, (1 - d) * one])
        zero = torch.zeros_like(one)
        A = torch.stack(
            [
                torch.stack([one, -lr * through * carried * one]),
                torch.stack([zero, carried * one]),
            ]
        )
        A[:, 0] += wd * b
        return Linearisation(A, b)

    def _coefficients(
        self, state: State
    ) -> tuple[Tensor | float, Tensor | float, Tensor | float, Tensor | float, Tensor | float]:
        def expand(values: list[float]) -> Tensor | float:
            """Spread one number for each parameter over its coordinates."""
            return self.layout.expand(values, state.x)

        def damping(rule: SGD, step: int) -> float:
            """Return d: none at torch's first step, and all of G where the buffer stays."""
            if rule.momentum == 0:
                return 1.0
            return 0.0 if step == 0 else rule.dampening

        return (
            expand([rule.lr for rule in self.rules]),
            expand([rule.momentum for rule in self.rules]),
            expand([damping(*each) for each in zip(self.rules, state.steps, strict=True)]),
            # with m = 0, Nesterov's direction is G itself, whatever is in the buffer
            expand([float(rule.nesterov or rule.momentum == 0) for rule in self.rules]),
            expand([rule.weight_decay for rule in self.rules]),
        )

    def _carried(self, state: State) -> Tensor | float:
        """The share of the buffer that is left after the step: m, or all of it where m = 0."""
        return self.layout.expand([rule.momentum or 1.0 for rule in self.rules], state.x)


class TorchSGD(TorchKind):
    """How `torch.optim.SGD` is read, and how its momentum is written back."""

    name = "SGD"

    def rule(self, group: Group) -> SGD:
        """Return the hyper-parameters of one of the optimiser's parameter groups."""
        self.check_options(group)
        if group["dampening"] and group.get("base_momentum") == 0:
            # torch's next step depends on whether a step with momentum was ever taken
            raise ValueError(
                f"torch.optim.SGD with dampening={group['dampening']:g} and a scheduler with "
                "base_momentum=0 is not modelled; expected dampening=0, or base_momentum > 0."
            )
        return SGD(
            lr=number(group["lr"]),
            momentum=number(group["momentum"]),
            dampening=number(group["dampening"]),
            nesterov=bool(group["nesterov"]),
            weight_decay=number(group["weight_decay"]),
        )

    def dynamics(self, layout: Layout, rules: Sequence[SGD]) -> SGDDynamics:
        """The step for parameters with these rules, one for each."""
        return SGDDynamics(layout, tuple(rules))

    def steps_taken(self, entry: Entry) -> int:
        """Only whether a momentum buffer exists matters: torch's first step differs."""
        return int(entry.get("momentum_buffer") is not None)

    def kept(self, group: Group) -> tuple[str, ...]:
        """Return the buffer of a group with momentum; torch stores nothing without."""
        return ("momentum_buffer",) if has_momentum(group) else ()


def plain_sgd(dynamics: Dynamics) -> SGDDynamics:
    """Return plain SGD, without momentum or weight decay, with an optimiser's learning rates."""
    return SGDDynamics(dynamics.layout, tuple(SGD(rule.lr) for rule in dynamics.rules))


def by_plain_sgd(optimizer: OptimiserState) -> OptimiserState:
    """Return plain SGD in place of an optimiser, with its learning rates at every step."""
    dynamics, schedule = optimizer.dynamics, optimizer.schedule
    rates = None if schedule is None else _PlainRates(schedule, dynamics.rules)
    return OptimiserState(plain_sgd(dynamics), (), optimizer.steps, rates, optimizer.taken)


@dataclass(frozen=True, eq=False)
class _PlainRates:
    """The learning rates of another optimiser's schedule, as rules of plain SGD."""

    schedule: Schedule
    base: tuple[Rule, ...]
    """the hyper-parameters that the other optimiser was made with"""

    def rules(self, base: Sequence[SGD], step: int) -> Sequence[SGD]:  # noqa: ARG002
        """Return the hyper-parameters of a step, one rule for each parameter.

        Args:
            base: unused, because the other optimiser's own are needed.
            step: the number of steps taken before this one.
        """
        return [SGD(rule.lr) for rule in self.schedule.rules(self.base, step)]


def _any(coefficient: Tensor | float) -> bool:
    return isinstance(coefficient, Tensor) or coefficient != 0
