"""Bounds that keep every weight at 0 or above."""

from dataclasses import dataclass

from torch import Tensor

from towpath.control.bounds.bounds import Convex
from towpath.control.quadratic import Programme, Solution, solve


@dataclass(frozen=True)
class Project(Convex):
    """`w >= 0`: weights that would become negative stay at 0 while the others move on."""

    def project(self, weights: Tensor, held: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """Replace each negative weight by 0, which is the nearest feasible value."""
        return weights.clamp_min(0.0)

    def minimise(self, programme: Programme) -> Solution:
        """Solve the programme by an active-set method: weights at the bound are exactly 0."""
        return solve(programme.H, programme.g, programme.base.reshape(-1))
