"""The expected cost of a run, estimated before it starts.

Work is counted (T evaluations for the nominal, T-1 for each trial, T-1 sketches for each iteration)
and calibrated by one short measurement: a mini-batch evaluated, sketched, and evaluated in part. A
plan keeps about 3 T M P numbers beyond the evaluation; where that cannot fit, the run is refused
before it begins.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch

from towpath.distributed.torchrun import ranks_of_this_machine
from towpath.objective import Curvature
from towpath.recipes.memory import free_memory
from towpath.recipes.typed import RecipeError
from towpath.training.evaluation import evaluate
from towpath.training.setup import Setup
from towpath.weighters import PDS, TOW, Kinds, MiniBatchWeighter, Weighter, wants_targets
from towpath.weighters.rules.site import FORWARD
from towpath.weighters.tow.nominal import steps_through

Given = TypeVar("Given")
MEASURED_TASKS = 4
MEASURED_BATCHES = 4
PLAN_COPIES = 3
"""numbers kept by a plan, in units of T M P"""
PRODUCT = 5.5
"""a Hessian product over an evaluation of a loss and its gradient: from one measurement of PDS on a
Conv4 ProtoNet (`python -m benchmarks weighters`), 6.0 of uniform at T = 3"""
TRIALS = 1.2
"""trials an iteration, rejected ones included: the mean over our own runs (docs/performance.md)"""


@dataclass(frozen=True)
class WindowWork:
    """The work of one window, counted in mini-batches of M tasks."""

    evaluations: float
    sketches: float = 0.0
    parts: float = 0.0
    """evaluations on a part of the query sets"""
    forwards: float = 0.0
    """forward passes over whole mini-batches"""

    def __add__(self, other: "WindowWork") -> "WindowWork":
        return WindowWork(
            self.evaluations + other.evaluations,
            self.sketches + other.sketches,
            self.parts + other.parts,
            self.forwards + other.forwards,
        )


@dataclass(frozen=True)
class Estimate:
    """The expected time and memory of a run on this machine."""

    seconds_per_step: float
    uniform_seconds_per_step: float
    training_seconds: float
    evaluation_seconds: float
    plan_bytes: int
    peak_bytes: int
    """peak memory of the process: what it has now, what an evaluation takes, and the plan"""

    @property
    def overhead(self) -> float:
        """Seconds per step divided by those of uniform weights."""
        return self.seconds_per_step / self.uniform_seconds_per_step

    @property
    def seconds(self) -> float:
        """The expected seconds of the whole run, validation and test included."""
        return self.training_seconds + self.evaluation_seconds


def window_work(
    weighter: Weighter, T: int, targets: float = 0.0, inertia: float = 0.9
) -> WindowWork:
    """Return the expected work of a window.

    Args:
        weighter: the weighter that plans it.
        T: number of mini-batches of the window.
        targets: number of targets of a mini-batch, as a share of M.
        inertia: `inertia` of the optimiser, by which a plan on a part of the query sets decides how
            many mini-batches it leaves out.
    """
    if isinstance(weighter, MiniBatchWeighter):
        seen = T * (1 + targets) if weighter.looks_at_features else 0.0
        return WindowWork(T + T * targets * weighter.target_evaluations, forwards=seen)
    if isinstance(weighter, Kinds):  # trained once, with the targets after each step
        return WindowWork(T + T * targets)
    if isinstance(weighter, PDS):  # scored, then trained
        return WindowWork(2 * T + T * targets + PRODUCT * (T - 1))
    if not isinstance(weighter, TOW):
        return WindowWork(T)
    return _planned(weighter, T, targets, inertia) + _nominal_beside(weighter, T, targets, inertia)


def _nominal_beside(tow: TOW, T: int, targets: float, inertia: float) -> WindowWork:
    """Return the work for a nominal's weights beyond that of the plan about them."""
    nominal = tow.nominal
    if isinstance(nominal, str):
        return WindowWork(0.0)
    work = window_work(nominal, T, targets, inertia)
    # the nominal's own rollout is that of a rule
    return work + WindowWork(-T) if steps_through(nominal) else work


def _planned(weighter: TOW, T: int, targets: float, inertia: float) -> WindowWork:
    """Return the work of a plan about weights that are known."""
    if weighter.iterations == 0:
        return WindowWork(T)
    if weighter.on_a_part:
        parts = T - 1 - weighter.coasting(T, inertia, targets > 0)
        watched = 0.0 if targets else 0.5 * weighter.share(False) * parts  # every other task
        return WindowWork(T + T * targets, parts=parts, forwards=watched + T * targets)
    trials = TRIALS * weighter.iterations
    sketched = 0.0 if weighter.curvature == "none" else float(weighter.probes)
    # targets are counted after every step, the last one included
    evaluations = T + trials * (T - 1) + (1 + trials) * T * targets
    sketches = sketched * (1 + trials - TRIALS) * (T - 1 + T * targets)
    return WindowWork(evaluations, sketches)


def estimate(setup: Setup, steps: int | None = None) -> Estimate:
    """Estimate the cost of a run by measuring one mini-batch and multiplying.

    Args:
        setup: the run, with its data and learner.
        steps: number of steps still to train; None for all steps of the recipe.

    Raises:
        RecipeError: if the plan cannot fit into memory.
    """
    recipe = setup.recipe
    steps = recipe.training.steps if steps is None else steps
    T, M = recipe.training.horizon, _tasks_a_step(setup)
    plan_bytes = _plan_bytes(setup)
    # one figure for all ranks, so that all refuse or none
    free = setup.ranks.first(lambda: free_memory(setup.device))
    if free is not None and plan_bytes > free:
        P = sum(p.numel() for p in setup.start.params.values())
        raise RecipeError(
            f"A plan of {T} mini-batches x {M} tasks x {P:,} parameters needs about "
            f"{plan_bytes / 2**30:.1f} GiB; found {free / 2**30:.1f} GiB free. Lower "
            "training.horizon or training.meta_batch_size, or choose a smaller backbone."
        )
    window, goals = setup.window(0, recipe.training.steps)
    params, objective = setup.start.params, setup.objective
    batch = window[0]
    # several mini-batches: tasks of any-shot episodes differ in size
    batches = [window[i % len(window)] for i in range(MEASURED_BATCHES)]
    whole = _usual(lambda b: objective.evaluate(params, b), batches)
    extra = len(goals[0]) / len(batch) if goals else 0.0
    work = window_work(setup.weighter, T, extra, setup.start.optimizer.inertia)
    seconds = whole * (work.evaluations + FORWARD * work.forwards)
    if work.sketches:
        sketch = Curvature("gauss-newton", torch.ones(1, len(batch)))
        sketched = _usual(lambda b: objective.evaluate(params, b, curvature=sketch), batches)
        seconds += max(0.0, sketched - whole) * work.sketches
    if work.parts and isinstance(setup.weighter, TOW):
        share = setup.weighter.share(bool(goals))
        parts = [[objective.part(task, share) for task in b] for b in batches]
        seconds += work.parts * _usual(lambda b: objective.evaluate(params, b), parts)
    tests = recipe.test.tasks * len(setup.tests)
    if recipe.validation.every:
        tests += -(-steps // recipe.validation.every) * recipe.validation.tasks
    name = next(iter(setup.tests))
    counts = [MEASURED_TASKS] * MEASURED_BATCHES
    a_few = _usual(lambda count: evaluate(objective, params, setup.test_tasks(name, count)), counts)
    per_task = a_few / MEASURED_TASKS
    return Estimate(
        seconds_per_step=seconds / T,
        uniform_seconds_per_step=whole,
        training_seconds=seconds / T * steps,
        evaluation_seconds=per_task * tests,
        plan_bytes=plan_bytes,
        peak_bytes=_held_memory() + plan_bytes,
    )


def _plan_bytes(setup: Setup) -> int:
    training = setup.recipe.training
    numbers = sum(p.numel() for p in setup.start.params.values())
    size = next(iter(setup.start.params.values())).element_size()
    stages = PLAN_COPIES * training.horizon if isinstance(setup.weighter, TOW | PDS | Kinds) else 1
    # every rank holds its share of a plan; those of one machine have its memory together
    together = 1 if setup.device.type == "cuda" else ranks_of_this_machine()
    tasks = _tasks_a_step(setup)
    if stages == 1 and wants_targets(setup.weighter):
        tasks += setup.recipe.trusted.per_batch  # the targets' gradients, beside the tasks'
    return stages * tasks * numbers * size * together // setup.ranks.size


def _tasks_a_step(setup: Setup) -> int:
    """Return M as trained: trusted tasks are trained on beside each mini-batch."""
    recipe = setup.recipe
    return recipe.training.meta_batch_size + (recipe.trusted.per_batch if setup.trusted else 0)


def _usual(run: Callable[[Given], object], cases: Sequence[Given]) -> float:
    """Return the median seconds over some cases: other work on the machine will go on as well."""
    run(cases[0])  # the first one also fills caches
    times = []
    for case in cases:
        began = time.perf_counter()
        run(case)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _held_memory() -> int:
    """Return the peak memory of this process in bytes, the calibration included."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass  # another system: the plan alone is counted
    return 0
