"""The losses of tasks with their gradients and curvature: one task, several at once, over ranks."""

from towpath.curvature.choice import CURVATURES, CurvatureKind, CurvatureUsed
from towpath.objective.evaluation import Curvature, Evaluation
from towpath.objective.gradients import Columns, Rows
from towpath.objective.objective import Objective

__all__ = [
    "CURVATURES",
    "Columns",
    "Curvature",
    "CurvatureKind",
    "CurvatureUsed",
    "Evaluation",
    "Objective",
    "Rows",
]
