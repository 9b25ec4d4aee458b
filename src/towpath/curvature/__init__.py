"""From the graph of a task's loss: its gradient and the diagonal of its curvature."""

from towpath.curvature.objective import Curvature, Evaluation, Objective
from towpath.curvature.task import CURVATURES, CurvatureKind

__all__ = ["CURVATURES", "Curvature", "CurvatureKind", "Evaluation", "Objective"]
