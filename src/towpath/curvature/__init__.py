"""From the graph of a task's loss: its gradient and the diagonal of its curvature."""

from towpath.curvature.gradients import Columns, Rows
from towpath.curvature.objective import Curvature, Evaluation, Objective
from towpath.curvature.task import CURVATURES, CurvatureKind

__all__ = [
    "CURVATURES",
    "Columns",
    "Curvature",
    "CurvatureKind",
    "Evaluation",
    "Objective",
    "Rows",
]
