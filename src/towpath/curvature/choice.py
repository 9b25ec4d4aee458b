"""Which curvature a task's loss allows, and why: Gauss-Newton wherever the loss is convex.

The planner asks for a kind of diagonal. Gauss-Newton needs a loss that is convex in the outputs,
and its Hessian there; a loss that is not, or whose outputs are not known, gets a diagonal by
Hutchinson's estimator, and one that torch cannot differentiate twice gets none. The choice is made
task by task at the current outputs, and is part of what a plan reports.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from torch import Tensor

from towpath.curvature.output_hessian import (
    LARGEST_BLOCK,
    LinearError,
    NoFactorError,
    NotConvexError,
    NotTwiceError,
    TooCoupledError,
    output_factor,
)
from towpath.losses import Factor, Result

CurvatureKind = Literal["gauss-newton", "gauss-newton-exact", "hutchinson", "none"]
CURVATURES: tuple[CurvatureKind, ...] = ("gauss-newton", "gauss-newton-exact", "hutchinson", "none")


class CurvatureUsed(Enum):
    """The curvature of a task's loss that was computed; `used.message` says why this one."""

    GAUSS_NEWTON = "gauss-newton"
    HUTCHINSON = "hutchinson"
    NONE = "none"
    HUTCHINSON_NO_OUTPUTS = "hutchinson, outputs unknown"
    HUTCHINSON_NOT_CONVEX = "hutchinson, loss not convex"
    HUTCHINSON_LINEAR = "hutchinson, loss linear"
    HUTCHINSON_COUPLED = "hutchinson, outputs coupled"
    NONE_NOT_TWICE = "none, not twice differentiable"

    @property
    def message(self) -> str:
        """A sentence that says why this curvature was computed and, if it matters, what to do."""
        return _MESSAGES[self]

    @property
    def as_asked(self) -> bool:
        """Whether it is the curvature that the planner asked for."""
        return self in (CurvatureUsed.GAUSS_NEWTON, CurvatureUsed.HUTCHINSON, CurvatureUsed.NONE)


_PLAN_WITH = "Plan with curvature='none' if this takes too long."
_MESSAGES = {
    CurvatureUsed.GAUSS_NEWTON: "The loss is convex in the outputs.",
    CurvatureUsed.HUTCHINSON: "Hutchinson's estimator was asked for.",
    CurvatureUsed.NONE: "No curvature was asked for.",
    CurvatureUsed.HUTCHINSON_NO_OUTPUTS: (
        "The task function returns the loss itself, so the outputs that a Gauss-Newton matrix "
        "needs are not known; return (output, target) and pass the loss for Gauss-Newton."
    ),
    CurvatureUsed.HUTCHINSON_NOT_CONVEX: (
        "The loss is not convex in the outputs of some task, so a Gauss-Newton matrix of it would "
        f"not be positive. {_PLAN_WITH}"
    ),
    CurvatureUsed.HUTCHINSON_LINEAR: (
        "The loss is linear at the outputs of some task, so a Gauss-Newton matrix of it would be "
        f"zero. {_PLAN_WITH}"
    ),
    CurvatureUsed.HUTCHINSON_COUPLED: (
        f"The loss couples more than {LARGEST_BLOCK} outputs with each other, too many for a "
        f"factor of its Hessian. {_PLAN_WITH}"
    ),
    CurvatureUsed.NONE_NOT_TWICE: (
        "Torch cannot differentiate the loss twice, so its curvature counts as zero; write the "
        "loss with operations that have second derivatives for more."
    ),
}
_WHY: dict[type[NoFactorError], CurvatureUsed] = {
    NotConvexError: CurvatureUsed.HUTCHINSON_NOT_CONVEX,
    LinearError: CurvatureUsed.HUTCHINSON_LINEAR,
    TooCoupledError: CurvatureUsed.HUTCHINSON_COUPLED,
    NotTwiceError: CurvatureUsed.NONE_NOT_TWICE,
}


@dataclass(frozen=True, eq=False)
class Choice:
    """The kind of diagonal to compute for a task, why, and what Gauss-Newton needs for it."""

    kind: CurvatureKind
    used: CurvatureUsed
    factor: Factor | None = None


def choose(asked: CurvatureKind, result: Result) -> Choice:
    """Return the diagonal to compute for a task where the planner asked for one of a kind.

    Args:
        asked: the kind that the planner asked for.
        result: the outputs of the task with their graph, its targets and its loss.
    """
    if asked == "none":
        return Choice("none", CurvatureUsed.NONE)
    if asked == "hutchinson":
        return Choice("hutchinson", CurvatureUsed.HUTCHINSON)
    if result.loss is None or result.targets is None:
        return Choice("hutchinson", CurvatureUsed.HUTCHINSON_NO_OUTPUTS)
    try:
        factor = _factor(result, result.targets)
    except NoFactorError as error:
        used = _WHY[type(error)]
        return Choice("none" if used is CurvatureUsed.NONE_NOT_TWICE else "hutchinson", used)
    return Choice(asked, CurvatureUsed.GAUSS_NEWTON, factor)


def _factor(result: Result, targets: Tensor) -> Factor:
    assert result.loss is not None
    closed = result.loss.factor(result.outputs, targets)
    return output_factor(result.loss, result.outputs, targets) if closed is None else closed
