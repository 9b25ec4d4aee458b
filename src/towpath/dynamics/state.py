"""The state that an optimiser's step moves, and the shape of a step's linearisation.

    x      [P]      meta-parameters
    slots  k-1 x [P]  the optimiser's moments; with x they are the state z [k, P]
    A      [k, k, P]  dz+/dz per coordinate, with the gradient fixed
    b      [k, P]     dz+/dg per coordinate

The gradient is itself a function of the state and of the task weights u, `g = J'u` with
`dg/dx = gam` (diagonal model), so a step's Jacobians are `F_x = A + b gam e_x'` and `F_u = b J'`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from towpath.flat import Layout


@dataclass(frozen=True, eq=False)
class State:
    """The parameters and moments of an optimiser between two steps; never changed in place."""

    x: Tensor
    slots: tuple[Tensor, ...]
    steps: tuple[int, ...]
    """how many steps each parameter has taken, which its bias correction depends on"""

    @property
    def z(self) -> Tensor:
        """The parameters and all moments in one tensor `[k, P]`, a copy."""
        return torch.stack([self.x, *self.slots])

    def equals(self, other: "State") -> bool:
        """Return whether the two states are equal to the bit."""
        return (
            self.steps == other.steps
            and torch.equal(self.x, other.x)
            and all(torch.equal(a, b) for a, b in zip(self.slots, other.slots, strict=True))
        )

    def is_finite(self) -> bool:
        """Return whether every parameter and moment is finite."""
        return all(bool(torch.isfinite(part).all()) for part in (self.x, *self.slots))


@dataclass(frozen=True, eq=False)
class Linearisation:
    """The Jacobians of one step in the state, `A [k, k, P]`, and in the gradient, `b [k, P]`.

    The module's docstring defines them.
    """

    A: Tensor
    b: Tensor

    def frozen(self) -> "Linearisation":
        """Return the linearisation with fixed moments, as in the paper: (x, x) of A and x of b."""
        # Copies, because views would keep the whole blocks in memory.
        return Linearisation(self.A[:1, :1].clone(), self.b[:1].clone())


class Rule(Protocol):
    """The hyper-parameters of one parameter that every optimiser has."""

    @property
    def lr(self) -> float:
        """The learning rate of the parameter's group."""
        ...

    @property
    def inertia(self) -> float:
        """The share of a step that is repeated in the next one by momentum."""
        ...


class Dynamics(Protocol):
    """An optimiser as a dynamical system: a pure step, and the linearisation of that step."""

    @property
    def layout(self) -> Layout:
        """The names and shapes of the parameters that make up `x [P]`."""
        ...

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The hyper-parameters of each parameter, in the order of the layout."""
        ...

    def initial(self, x: Tensor) -> State:
        """Return the state at the parameters `x [P]` before the first step."""
        ...

    def step(self, state: State, gradient: Tensor) -> State:
        """Return the state after one step on the gradient `[P]`."""
        ...

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians of `step` at this state and gradient `[P]`."""
        ...


def restricted(dynamics: Dynamics, part: tuple[int, int]) -> Dynamics:
    """Return the same optimiser for the coordinates from `part[0]` to `part[1] - 1` only.

    This is exact, because no coordinate's step depends on another coordinate.
    """
    step: Any = dynamics
    layout = replace(dynamics.layout, part=part)
    made: Dynamics = replace(step, layout=layout)
    return made


@dataclass(frozen=True, eq=False)
class OptimiserState:
    """An optimiser's hyper-parameters and moments, without the parameters that it moves.

    It is the immutable counterpart of a `torch.optim` object. `tp.Adam(lr=1e-3).init(params)` makes
    the first one, and `plan.optimizer_state` is the one after a planned window.
    """

    dynamics: Dynamics
    slots: tuple[Tensor, ...]
    steps: tuple[int, ...]

    @classmethod
    def cold(cls, dynamics: Dynamics, params: Mapping[str, Tensor]) -> "OptimiserState":
        """Return the state before the first step from these parameters."""
        state = dynamics.initial(dynamics.layout.flatten(list(params.values())).detach())
        return cls(dynamics, state.slots, state.steps)

    @property
    def inertia(self) -> float:
        """The share of a step that momentum repeats in the next one; the parameters' least."""
        return min(rule.inertia for rule in self.dynamics.rules)

    def at(self, x: Tensor) -> State:
        """Return the full state: these moments with the parameters `x [P]`."""
        return State(x, self.slots, self.steps)

    def after(self, state: State) -> "OptimiserState":
        """Return the same optimiser with the moments and steps of `state`."""
        return replace(self, slots=state.slots, steps=state.steps)
