"""The pure training step: one window in, the next state and its records out; no clock, no disk."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor

from towpath.objective import Objective
from towpath.runs.records import Event, SkippedWindow, StepRecord, TaskInfo, WindowRecord
from towpath.training.plan_statistics import plan_statistics
from towpath.training.state import TrainState
from towpath.weighters import NOTHING_MUTED, Muted, Plan, Weighter, wants_judges
from towpath.weighters.seeds import stage_seed
from towpath.weighters.window import Window


def train_step(
    state: TrainState,
    window: Window,
    *,
    objective: Objective,
    weighter: Weighter,
    targets: Window | None = None,
    judges: Sequence[Any] = (),
    seed: int = 0,
) -> tuple[TrainState, list[WindowRecord]]:
    """Plan the weights of a window and train on it with these weights.

    A task or target whose loss or gradient is not finite is muted (its weight is 0) and the window
    is planned again. If a plan fails, its nominal trajectory is used; if even that is not finite,
    or leads to a state without a finite loss, the window is skipped and the state stays.

    Args:
        state: the state before the window.
        window: T lists of M tasks.
        objective: computes loss and gradient of a task.
        weighter: decides the weights.
        targets: T lists of trusted tasks, for a weighter that needs them.
        judges: further trusted tasks, for a weighter that judges by them.
        seed: seed of the run; the window's own is derived from it and the window's number.

    Returns:
        the next state, and one record for each mini-batch, or one for a window that was skipped.
    """
    own_seed = stage_seed(seed, state.window)
    trusted = _Trusted(targets, judges)
    plan, muted, evaluations = _plan(state, window, objective, weighter, trusted, own_seed)
    T, M = len(window), len(window[0])
    failure = _failure(plan, seen_to_work=len(muted.at(T - 1)) < M)
    if (failure is None or failure.trained) and not _works_after(
        plan, window, objective, muted, own_seed
    ):
        failure = _Failure("no task is finite after the last step", trained=False)
    after = replace(
        state,
        window=state.window + 1,
        failures=0 if failure is None else state.failures + 1,
        evaluations=state.evaluations + evaluations,
    )
    if failure is None or failure.trained:
        after = replace(
            after,
            params={name: p.clone() for name, p in plan.params.items()},
            optimizer=plan.optimizer_state,
            weighter_state=plan.weighter_state,
            step=state.step + T,
            tasks=state.tasks + T * M - len(muted.tasks),
        )
    return after, _records(state, window, plan, muted, failure)


@dataclass(frozen=True)
class _Trusted:
    """The trusted tasks that a weighter gets beside its window."""

    targets: Window | None
    judges: Sequence[Any]


def _plan(
    state: TrainState,
    window: Window,
    objective: Objective,
    weighter: Weighter,
    trusted: _Trusted,
    seed: int,
) -> tuple[Plan, Muted, float]:
    """Return the plan, the tasks muted for it, and the evaluations of all attempts."""
    muted, evaluations = NOTHING_MUTED, 0.0
    while True:
        given: dict[str, Any] = {
            "targets": trusted.targets,
            "muted": muted,
            "state": state.weighter_state,
            "seed": seed,
        }
        at = (objective, state.params, state.optimizer, window)
        if wants_judges(weighter):  # no other weighter has a parameter for them
            plan = weighter.plan(*at, **given, judges=trusted.judges)
        else:
            plan = weighter.plan(*at, **given)
        evaluations += plan.evaluations
        more = muted | plan.bad
        if not plan.status.failed or more == muted:
            return plan, muted, evaluations
        muted = more  # `muted` grows each time, so the loop ends


@dataclass(frozen=True)
class _Failure:
    """Why a window failed, and whether its nominal trajectory was used nevertheless."""

    reason: str
    trained: bool


def _failure(plan: Plan, *, seen_to_work: bool) -> _Failure | None:
    """Return why a plan failed; None where it is good.

    If no task of the last mini-batch is finite, the steps before it may have broken the learner,
    and a broken learner must neither be kept nor train without any task for ever.
    """
    if not seen_to_work:
        return _Failure("no task of the last mini-batch is finite", trained=False)
    if plan.status.failed:
        return _Failure(plan.status.value, trained=plan.status.usable)
    return None


def _works_after(plan: Plan, window: Window, objective: Objective, muted: Muted, seed: int) -> bool:
    """Return whether a task of the last mini-batch still has a finite loss after the plan.

    No mini-batch of the window is evaluated at that state, and the next window would be too late.
    One forward pass suffices unless that task alone is at fault: then the others are tried.
    """
    T = len(window)
    for i, task in enumerate(window[-1]):
        if i not in muted.at(T - 1):
            said = objective.evaluate(
                plan.params, [task], gradients=False, seed=stage_seed(seed, T), first=i
            )
            if bool(said.finite.all()):
                return True
    return False


def _records(
    state: TrainState, window: Window, plan: Plan, muted: Muted, failure: _Failure | None
) -> list[WindowRecord]:
    events = [Event("task not finite", t, i) for t, i in sorted(muted.tasks)]
    events += [Event("target not finite", t, i) for t, i in sorted(muted.targets)]
    if failure is not None:
        kept = "nominal kept" if failure.trained else "window skipped"
        events.append(Event(f"plan failed: {failure.reason}, {kept}"))
    if failure is not None and not failure.trained:
        return [SkippedWindow(state.step, state.window, events)]
    records: list[WindowRecord] = []
    for t, batch in enumerate(window):
        skip = muted.at(t)
        used = [i for i in range(len(batch)) if i not in skip]
        said = None if plan.accuracies is None else plan.accuracies[t]
        records.append(
            StepRecord(
                step=state.step + t + 1,
                window=state.window,
                weights=plan.weights[t].tolist(),
                tasks=[task_info(task) for task in batch],
                losses=_known(plan.losses[t], skip),
                loss=_mean(plan.losses[t], used),
                accuracies=None if said is None else _known(said, skip),
                accuracy=None if said is None else _mean(said, used),
                plan=plan_statistics(plan, window) if t == 0 else None,
                events=events if t == 0 else (),
            )
        )
    return records


def task_info(task: Any) -> TaskInfo:
    """Return the description of a task that is recorded; empty for a task without `info`.

    The names of its rows are left out: they follow from its index, and would fill the records.
    """
    info = getattr(task, "info", {})
    return {key: value for key, value in info.items() if key != "rows"}


def _known(values: Tensor, skip: set[int]) -> list[float | None]:
    return [None if i in skip else value for i, value in enumerate(values.tolist())]


def _mean(values: Tensor, used: list[int]) -> float | None:
    return float(values[used].double().mean()) if used else None
