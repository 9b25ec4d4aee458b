"""The state that an optimiser's step moves, and the shape of a step's linearisation.

    x      [P]      meta-parameters
    slots  k-1 x [P]  the optimiser's moments; with x they are the state z [k, P]
    A      [k, k, P]  dz+/dz per coordinate, the gradient held fixed
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
    """Parameters and moments between two steps; never changed in place."""

    x: Tensor
    slots: tuple[Tensor, ...]
    steps: tuple[int, ...]
    """Steps that each parameter has taken: bias corrections are per parameter."""

    @property
    def z(self) -> Tensor:
        """The whole state `[k, P]`."""
        return torch.stack([self.x, *self.slots])

    def equals(self, other: "State") -> bool:
        """Whether both are the same to the bit."""
        return (
            self.steps == other.steps
            and torch.equal(self.x, other.x)
            and all(torch.equal(a, b) for a, b in zip(self.slots, other.slots, strict=True))
        )

    def is_finite(self) -> bool:
        """Whether every number of the state is finite."""
        return all(bool(torch.isfinite(part).all()) for part in (self.x, *self.slots))


@dataclass(frozen=True, eq=False)
class Linearisation:
    """`A [k, k, P]` and `b [k, P]` of one step, see the module's first lines."""

    A: Tensor
    b: Tensor

    def frozen(self) -> "Linearisation":
        """The moments held fixed (the paper): the (x, x) entry and the x row only."""
        # copies: views would keep the whole blocks alive
        return Linearisation(self.A[:1, :1].clone(), self.b[:1].clone())


class Rule(Protocol):
    """Hyper-parameters of one parameter."""

    @property
    def lr(self) -> float: ...

    @property
    def inertia(self) -> float: ...


class Dynamics(Protocol):
    """An optimiser as a pure step with its linearisation beside it."""

    @property
    def layout(self) -> Layout: ...

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Hyper-parameters, one object for each parameter."""
        ...

    def initial(self, x: Tensor) -> State:
        """The state before the first step."""
        ...

    def step(self, state: State, gradient: Tensor) -> State:
        """One step on the gradient `[P]`."""
        ...

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Jacobians of `step` at this state and gradient."""
        ...


def restricted(dynamics: Dynamics, part: tuple[int, int]) -> Dynamics:
    """The same steps for a part of the coordinates: each moves by itself."""
    step: Any = dynamics
    layout = replace(dynamics.layout, part=part)
    made: Dynamics = replace(step, layout=layout)
    return made


@dataclass(frozen=True, eq=False)
class OptimiserState:
    """An optimiser's dynamics and moments, without the parameters: the pure twin of a torch.optim
    object. `tp.Adam(lr=1e-3).init(params)` makes one, `plan.optimizer_state` is the next."""

    dynamics: Dynamics
    slots: tuple[Tensor, ...]
    steps: tuple[int, ...]

    @classmethod
    def cold(cls, dynamics: Dynamics, params: Mapping[str, Tensor]) -> "OptimiserState":
        """Before the first step from these parameters."""
        state = dynamics.initial(dynamics.layout.flatten(list(params.values())).detach())
        return cls(dynamics, state.slots, state.steps)

    @property
    def inertia(self) -> float:
        """Share of a step that goes on in the next one: the least of all parameters."""
        return min(rule.inertia for rule in self.dynamics.rules)

    def at(self, x: Tensor) -> State:
        """The whole state with the parameters `x`."""
        return State(x, self.slots, self.steps)

    def after(self, state: State) -> "OptimiserState":
        """The same optimiser with the moments of another state."""
        return replace(self, slots=state.slots, steps=state.steps)
