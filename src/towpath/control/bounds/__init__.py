"""Which weights are feasible: one class a file, and the words that users write for them."""

from typing import Literal

from towpath.control.bounds.backtrack import Backtrack
from towpath.control.bounds.bounds import Bounds, ClosedLoop, Convex
from towpath.control.bounds.project import Project
from towpath.control.bounds.simplex import Simplex
from towpath.control.bounds.unbounded import Unbounded

BoundsKind = Literal["project", "simplex", "backtrack", "none"]
BOUNDS: dict[BoundsKind, Bounds] = {
    "project": Project(),
    "simplex": Simplex(),
    "backtrack": Backtrack(),
    "none": Unbounded(),
}
"""The bounds by the word that a recipe and `TOW(bounds=...)` give them."""


def bounds_of(choice: BoundsKind | Bounds) -> Bounds:
    """Return the bounds that a word stands for; a `Bounds` object is returned unchanged."""
    return choice if isinstance(choice, Bounds) else BOUNDS[choice]


__all__ = [
    "BOUNDS",
    "Backtrack",
    "Bounds",
    "BoundsKind",
    "ClosedLoop",
    "Convex",
    "Project",
    "Simplex",
    "Unbounded",
    "bounds_of",
]
