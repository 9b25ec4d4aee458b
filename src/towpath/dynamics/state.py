"""The state that an optimiser's step moves, and the shape of a step's linearisation.

    x      [P]      meta-parameters
    slots  k-1 x [P]  the optimiser's moments; with x they are the state z [k, P]
    A      [k, k, P]  dz+/dz per coordinate, with the gradient fixed
    b      [k, P]     dz+/dg per coordinate

The gradient is itself a function of the state and of the task weights u, `g = J'u` with
`dg/dx = gam` (diagonal model), so a step's Jacobians are `F_x = A + b gam e_x'` and `F_u = b J'`.

Clipping by norm is the one thing that mixes coordinates: there the step sees `R g` to first order,
with a symmetric R `[P, P]` of rank one beside the identity (`Removal`), so that
`F_x = A + b R gam e_x'` and `F_u = b R J'`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, Self, TypeVar

import torch
from torch import Tensor

from towpath.flat import Layout

Total = Callable[[Tensor], Tensor]
"""Sums over a part of the coordinates, float64 -> the same sums over all coordinates."""


def whole(numbers: Tensor) -> Tensor:
    """Return sums unchanged: the total of dynamics that have every coordinate."""
    return numbers


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

    def part(self, at: slice) -> "State":
        """Return the state at some coordinates, as views."""
        return State(self.x[at], tuple(slot[at] for slot in self.slots), self.steps)

    def equals(self, other: "State") -> bool:
        """Return whether the two states are equal to the bit."""
        return (
            self.steps == other.steps
            and torch.equal(self.x, other.x)
            and all(torch.equal(a, b) for a, b in zip(self.slots, other.slots, strict=True))
        )

    def is_finite(self) -> bool:
        """Return whether every parameter and moment is finite."""
        parts = [torch.isfinite(part).all() for part in (self.x, *self.slots)]
        return bool(torch.stack(parts).all())


@dataclass(frozen=True, eq=False)
class Removal:
    """`R = I - kappa q q'`: takes most of the direction q out of a vector; symmetric."""

    q: Tensor
    """`[P]`, of norm 1 over all coordinates"""
    kappa: float
    total: Total = whole

    def applied(self, y: Tensor) -> Tensor:
        """Return `R y` for a vector `[P]`, or for each row of a matrix `[M, P]`."""
        along = self.total((y @ self.q).double()).to(y)
        return y - self.kappa * along[..., None] * self.q

    @property
    def diagonal(self) -> Tensor:
        """The diagonal `[P]` of R."""
        return 1 - self.kappa * self.q.square()


@dataclass(frozen=True, eq=False)
class Linearisation:
    """The Jacobians of one step in the state, `A [k, k, P]`, and in the gradient, `b [k, P]`.

    The module's docstring defines them.
    """

    A: Tensor
    b: Tensor
    removal: Removal | None = None
    """R, where the step's gradient was clipped by its norm; None for the identity"""

    def frozen(self) -> "Linearisation":
        """Return the linearisation with fixed moments, as in the paper: (x, x) of A and x of b."""
        # Copies, because views would keep the whole blocks in memory.
        return Linearisation(self.A[:1, :1].clone(), self.b[:1].clone(), self.removal)

    def removed(self, y: Tensor) -> Tensor:
        """Return `R y` for a vector `[P]`, or for each row of a matrix `[M, P]`."""
        return y if self.removal is None else self.removal.applied(y)


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


class Clip(Protocol):
    """A bound on the gradient that a step is taken on."""

    @property
    def mixes(self) -> bool:
        """Whether the clipped gradient of one coordinate depends on the others."""
        ...

    def applied(self, gradient: Tensor, total: Total) -> Tensor:
        """Return the clipped gradient `[P]`; `total` completes sums over coordinates."""
        ...

    def linearise(
        self, dynamics: "Dynamics", state: State, gradient: Tensor, total: Total
    ) -> Linearisation:
        """Return the Jacobians of the dynamics' step on the clipped gradient.

        Args:
            dynamics: the optimiser's own step, without clipping.
            state: the state before the step.
            gradient: the gradient `[P]` before it is clipped.
            total: completes sums over coordinates.
        """
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

    @property
    def slot_names(self) -> tuple[str, ...]:
        """The moments' names in torch's state, in the order of `State.slots`."""
        ...

    @property
    def clip(self) -> Clip | None:
        """How gradients are clipped before the step; None for not at all."""
        ...

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians of `step` at this state and gradient `[P]`."""
        ...

    def with_rules(self, rules: Sequence[Any]) -> "Dynamics":
        """Return the same dynamics with other hyper-parameters, one rule for each parameter."""
        ...

    def restricted(self, part: tuple[int, int], total: Total) -> "Dynamics":
        """Return the same optimiser for the coordinates from `part[0]` to `part[1] - 1` only.

        Args:
            part: the first coordinate, and the one after the last.
            total: adds up sums over coordinates of all parts, if the step needs any.
        """
        ...


R = TypeVar("R", bound=Rule)


@dataclass(frozen=True)
class OwnDynamics(ABC, Generic[R]):
    """What the dynamics of every optimiser have in common: no coordinate's step sees another."""

    layout: Layout
    rules: tuple[R, ...]
    """the hyper-parameters of each parameter, in the order of the layout"""
    held: tuple[str, ...] = ()
    """names of moments that the state has even if these rules do not use them, because those of
    another step do: a scheduler may take momentum to 0 and back"""

    @property
    @abstractmethod
    def slot_names(self) -> tuple[str, ...]:
        """The moments' names in torch's state, in the order of `State.slots`."""

    @abstractmethod
    def step(self, state: State, gradient: Tensor) -> State:
        """Return the state after one step on the gradient `[P]`."""

    @abstractmethod
    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians of the step at a state and a gradient `[P]`."""

    def initial(self, x: Tensor) -> State:
        """Return the state at the parameters `x [P]` before the first step: zero moments."""
        slots = tuple(torch.zeros_like(x) for _ in self.slot_names)
        return State(x, slots, (0,) * len(self.rules))

    @property
    def clip(self) -> None:
        """No clipping: `towpath.dynamics.clipping` adds it."""
        return

    def with_rules(self, rules: Sequence[R]) -> Self:
        """Return the same dynamics with other hyper-parameters, one rule for each parameter.

        The state keeps all of its moments, also those that the new rules do not use.
        """
        return replace(self, rules=tuple(rules), held=self.slot_names)

    def holding(self, names: Collection[str]) -> Self:
        """Return the same dynamics with a state that has the moments of these names as well."""
        return replace(self, held=tuple(names))

    def restricted(self, part: tuple[int, int], total: Total) -> Self:  # noqa: ARG002
        """Return the same optimiser for a part of the coordinates; exact, as they do not mix.

        Args:
            part: the first coordinate, and the one after the last.
            total: unused, because the step needs no sum over coordinates.
        """
        return replace(self, layout=replace(self.layout, part=part))

    def each(self, name: str, like: Tensor) -> Tensor | float:
        """Spread the hyper-parameter of that name over the coordinates `[P]`."""
        return self.layout.expand([float(getattr(rule, name)) for rule in self.rules], like)
