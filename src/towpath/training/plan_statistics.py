"""The statistics of a plan, as the record of its window has them."""

from towpath.runs.plan_statistics import PlanStatistics
from towpath.training.complexity import PaperCost
from towpath.weighters import Plan
from towpath.weighters.window import Window


def plan_statistics(plan: Plan, window: Window) -> PlanStatistics:
    """Return the statistics of a window's plan, with the cost that the paper gives for it."""
    query = getattr(window[0][0], "query_y", ())  # tasks of a user's may have no query set
    T, M = plan.weights.shape
    paper = PaperCost(
        horizon=T,
        tasks=M,
        samples=len(query),
        parameters=plan.layout.total,
        trials=tuple(line.trials for line in plan.history),
    )
    return PlanStatistics(
        status=plan.status.value,
        weightless=int((plan.weights == 0).all(1).sum()),
        nominal_cost=plan.nominal_cost,
        cost=plan.cost,
        predicted_decrease=plan.predicted_decrease,
        actual_decrease=plan.actual_decrease,
        beta=plan.beta if abs(plan.beta) < float("inf") else None,
        agreement=plan.agreement,
        spread=plan.spread,
        effective_tasks=plan.effective_tasks.tolist(),
        curvature_ratio=plan.curvature_ratio,
        steps=[line.eps for line in plan.history],
        trials=[line.trials for line in plan.history],
        evaluations=plan.evaluations,
        sketches=plan.sketches,
        part_evaluations=plan.part_evaluations,
        # section 3.2 of the paper, for the same iterations and trials
        paper_evaluations=paper.evaluations,
        paper_sketches=paper.curvature_passes,
        paper_linearisation=paper.linearisation,
        paper_backward=paper.backward,
        race=plan.race,
    )
