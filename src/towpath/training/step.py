"""The training step: one window in, the next state and its records out. Pure: no clock, no disk."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor

from towpath.curvature import Objective
from towpath.training.state import TrainState
from towpath.weighters import NOTHING_MUTED, Muted, Plan, Weighter
from towpath.weighters.window import stage_seed

Record = dict[str, Any]
Window = Sequence[Sequence[Any]]


def train_step(
    state: TrainState,
    window: Window,
    *,
    objective: Objective,
    weighter: Weighter,
    targets: Window | None = None,
    seed: int = 0,
) -> tuple[TrainState, list[Record]]:
    """Plan the window's weights and train by them.

    A task whose numbers are not finite is muted (weight 0) and the window planned again. A window
    whose plan fails keeps its nominal trajectory, or the old state where even that is not finite.

    Returns:
        the next state, and one record a mini-batch.
    """
    plan, muted, evaluations = _plan(
        state, window, objective, weighter, targets, stage_seed(seed, state.window)
    )
    failed = plan.status.failed
    T, M = len(window), len(window[0])
    after = replace(
        state,
        window=state.window + 1,
        failures=state.failures + 1 if failed else 0,
        evaluations=state.evaluations + evaluations,
    )
    if plan.status.usable:
        after = replace(
            after,
            params={name: p.clone() for name, p in plan.params.items()},
            optimizer=plan.optimizer_state,
            weighter_state=plan.weighter_state,
            step=state.step + T,
            tasks=state.tasks + T * M - len(muted.tasks),
        )
    return after, _records(state, window, plan, muted)


def _plan(
    state: TrainState,
    window: Window,
    objective: Objective,
    weighter: Weighter,
    targets: Window | None,
    seed: int,
) -> tuple[Plan, Muted, float]:
    """The plan, what had to be muted for it, and the evaluations of all attempts."""
    muted, evaluations = NOTHING_MUTED, 0.0
    while True:
        plan = weighter.plan(
            objective,
            state.params,
            state.optimizer,
            window,
            targets=targets,
            muted=muted,
            state=state.weighter_state,
            seed=seed,
        )
        evaluations += plan.evaluations
        if plan.status.usable or not plan.bad:
            return plan, muted, evaluations
        muted = muted | plan.bad  # grows each time, so this ends


def _records(state: TrainState, window: Window, plan: Plan, muted: Muted) -> list[Record]:
    events = [
        {"event": "task not finite", "mini_batch": t, "task": i} for t, i in sorted(muted.tasks)
    ] + [
        {"event": "target not finite", "mini_batch": t, "task": i} for t, i in sorted(muted.targets)
    ]
    if plan.status.failed:
        kept = "nominal kept" if plan.status.usable else "window skipped"
        events.append({"event": f"plan failed: {plan.status.value}, {kept}"})
    if not plan.status.usable:
        return [{"step": state.step, "window": state.window, "events": events}]
    records: list[Record] = []
    for t, batch in enumerate(window):
        skip = muted.at(t)
        used = [i for i in range(len(batch)) if i not in skip]
        record: Record = {
            "step": state.step + t + 1,
            "window": state.window,
            "loss": _mean(plan.losses[t], used),
            "losses": _known(plan.losses[t], skip),
            "weights": plan.weights[t].tolist(),
            "tasks": [dict(getattr(task, "info", {})) for task in batch],
        }
        if plan.accuracies is not None:
            record["accuracy"] = _mean(plan.accuracies[t], used)
            record["accuracies"] = _known(plan.accuracies[t], skip)
        records.append(record)
    records[0]["plan"] = plan_statistics(plan)
    if events:
        records[0]["events"] = events
    return records


def _known(values: Tensor, skip: set[int]) -> list[float | None]:
    return [None if i in skip else value for i, value in enumerate(values.tolist())]


def _mean(values: Tensor, used: list[int]) -> float | None:
    return float(values[used].double().mean()) if used else None


def plan_statistics(plan: Plan) -> Record:
    """What a plan says of itself, as plain numbers."""
    return {
        "status": plan.status.value,
        "nominal_cost": plan.nominal_cost,
        "cost": plan.cost,
        "predicted_decrease": plan.predicted_decrease,
        "actual_decrease": plan.actual_decrease,
        "beta": plan.beta if abs(plan.beta) < float("inf") else None,
        "agreement": plan.agreement,
        "spread": plan.spread,
        "effective_tasks": plan.effective_tasks.tolist(),
        "curvature_ratio": plan.curvature_ratio,
        "steps": [line.eps for line in plan.history],
        "trials": [line.trials for line in plan.history],
        "evaluations": plan.evaluations,
        "sketches": plan.sketches,
    }
