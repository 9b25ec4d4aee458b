"""The losses of tasks with their gradients and curvature: one task, several at once, over ranks."""

from towpath.objective.evaluation import Curvature, Evaluation
from towpath.objective.gradients import Columns, Rows
from towpath.objective.objective import Objective
from towpath.objective.task import CURVATURES, CurvatureKind

__all__ = [
    "CURVATURES",
    "Columns",
    "Curvature",
    "CurvatureKind",
    "Evaluation",
    "Objective",
    "Rows",
]
