"""Gradient clipping as a part of the step, with its derivative.

A loop that clips calls `torch.nn.utils.clip_grad_norm_` (or `clip_grad_value_`) between
`backward()` and `optimizer.step()`: the optimiser steps on c(g) in place of g, and weight decay,
which the optimiser adds itself, is not clipped.

    by norm    c(g) = s g,  s = min(1, max_norm / (n + 1e-6)),  n = |g| over all parameters
               dc/dg = s (I - kappa q q'),  q = g / n,  kappa = n / (n + 1e-6)     where s < 1
               dc/dg = I                                                           elsewhere
    by value   c(g) = min(max(g, -max_value), max_value)     dc/dg = [|g| <= max_value], a mask

The derivative by norm is the full one: a clipped gradient keeps its length, so what remains of a
change of the weights is how it turns the gradient.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import torch
from torch import Tensor

from towpath.dynamics.state import (
    Clip,
    Dynamics,
    Linearisation,
    Removal,
    Rule,
    State,
    Total,
    whole,
)
from towpath.flat import Layout
from towpath.validation import at_least

SOFTENING = 1e-6
"""what `torch.nn.utils.clip_grad_norm_` adds to the norm"""


@dataclass(frozen=True)
class ClipNorm:
    """Shortens a gradient whose norm over all parameters is above `max_norm`."""

    max_norm: float
    mixes: ClassVar[bool] = True
    """the norm is that of all coordinates"""

    def __post_init__(self) -> None:
        _above_zero("ClipNorm", "max_norm", self.max_norm)

    def applied(self, gradient: Tensor, total: Total = whole) -> Tensor:
        """Return the clipped gradient `[P]`, as `clip_grad_norm_` leaves it."""
        factor = self.max_norm / (_norm(gradient, total) + SOFTENING)
        return gradient * factor.clamp(max=1.0).to(gradient)

    def linearise(
        self, dynamics: Dynamics, state: State, gradient: Tensor, total: Total
    ) -> Linearisation:
        """Return the Jacobians of the dynamics' step on the clipped gradient.

        Args:
            dynamics: the optimiser's own step, without clipping.
            state: the state before the step.
            gradient: the gradient `[P]` before it is clipped.
            total: completes sums over coordinates.
        """
        n = float(_norm(gradient, total))
        s = self.max_norm / (n + SOFTENING)
        if s >= 1:
            return dynamics.linearise(state, gradient)
        inner = dynamics.linearise(state, s * gradient)
        removal = Removal(gradient / n, n / (n + SOFTENING), total)
        return Linearisation(inner.A, s * inner.b, removal)


@dataclass(frozen=True)
class ClipValue:
    """Moves every entry of a gradient into the range from `-max_value` to `max_value`."""

    max_value: float
    mixes: ClassVar[bool] = False
    """every entry is clipped by itself"""

    def __post_init__(self) -> None:
        _above_zero("ClipValue", "max_value", self.max_value)

    def applied(self, gradient: Tensor, total: Total = whole) -> Tensor:  # noqa: ARG002
        """Return the clipped gradient `[P]`, as `clip_grad_value_` leaves it."""
        return gradient.clamp(-self.max_value, self.max_value)

    def linearise(
        self, dynamics: Dynamics, state: State, gradient: Tensor, total: Total
    ) -> Linearisation:
        """Return the Jacobians of the dynamics' step on the clipped gradient.

        Args:
            dynamics: the optimiser's own step, without clipping.
            state: the state before the step.
            gradient: the gradient `[P]` before it is clipped.
            total: completes sums over coordinates; not needed here.
        """
        inner = dynamics.linearise(state, self.applied(gradient, total))
        seen = gradient.abs() <= self.max_value
        return Linearisation(inner.A, torch.where(seen, inner.b, 0.0))


def clip_of(clip_norm: float | None, clip_value: float | None) -> Clip | None:
    """Return the clipping that two options ask for, None for none; ValueError for both at once."""
    if clip_norm is not None and clip_value is not None:
        raise ValueError(
            f"Found clip_norm={clip_norm} and clip_value={clip_value}; expected one of them at "
            "most. Leave the other out."
        )
    if clip_norm is not None:
        return ClipNorm(clip_norm)
    return None if clip_value is None else ClipValue(clip_value)


def clipped(dynamics: Dynamics, clip: Clip | None) -> Dynamics:
    """Return the dynamics with gradients clipped before each step; unchanged for None."""
    return dynamics if clip is None else ClippedDynamics(dynamics, clip)


@dataclass(frozen=True)
class ClippedDynamics:
    """An optimiser whose gradients are clipped before each step."""

    inner: Dynamics
    """the optimiser's own step"""
    clip: Clip
    total: Total = whole

    @property
    def layout(self) -> Layout:
        """The names and shapes of the parameters that make up `x [P]`."""
        return self.inner.layout

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The hyper-parameters of each parameter, in the order of the layout."""
        return self.inner.rules

    @property
    def slot_names(self) -> tuple[str, ...]:
        """The moments' names in torch's state, in the order of `State.slots`."""
        return self.inner.slot_names

    def initial(self, x: Tensor) -> State:
        """Return the state at the parameters `x [P]` before the first step."""
        return self.inner.initial(x)

    def step(self, state: State, gradient: Tensor) -> State:
        """Return the state after one step on the clipped gradient `[P]`."""
        return self.inner.step(state, self.clip.applied(gradient, self.total))

    def linearise(self, state: State, gradient: Tensor) -> Linearisation:
        """Return the Jacobians of `step` at this state and (unclipped) gradient `[P]`."""
        return self.clip.linearise(self.inner, state, gradient, self.total)

    def with_rules(self, rules: Sequence[Any]) -> "ClippedDynamics":
        """Return the same dynamics with other hyper-parameters, one rule for each parameter."""
        return replace(self, inner=self.inner.with_rules(rules))

    def restricted(self, part: tuple[int, int], total: Total) -> "ClippedDynamics":
        """Return the same optimiser for a part of the coordinates.

        Args:
            part: the first coordinate, and the one after the last.
            total: adds up sums over coordinates of all parts: the norm is that of all.
        """
        return replace(self, inner=self.inner.restricted(part, total), total=total)


def _norm(gradient: Tensor, total: Total) -> Tensor:
    return total(gradient.square().sum(dtype=torch.float64)).sqrt()


def _above_zero(owner: str, name: str, value: float) -> None:
    at_least(owner, name, value, 0.0)
    if value == 0:
        raise ValueError(f"{owner} found {name}=0; expected a number above 0, such as 1.")
