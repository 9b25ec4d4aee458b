"""From the graph of a task's loss: its gradient and the diagonal of its curvature."""

from towpath.curvature.objective import CURVATURES, Curvature, CurvatureKind, Evaluation, Objective

__all__ = ["CURVATURES", "Curvature", "CurvatureKind", "Evaluation", "Objective"]
