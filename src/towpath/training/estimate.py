"""The expected cost of a run, estimated before it starts.

The weighter says how much work a window is (`towpath.weighters.work`), and one short measurement
says how long that takes: a mini-batch evaluated, sketched, and evaluated in part. A plan keeps
1.5 to 3 T M P numbers beyond the evaluation, by its kind; where 3 cannot fit, the run is refused
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
from towpath.runs.trust import Trust
from towpath.training.evaluation import evaluate, evaluation_mode
from towpath.training.setup import Setup
from towpath.weighters import wants_targets
from towpath.weighters.race.race import ENOUGH_JUDGES
from towpath.weighters.rules.site import FORWARD
from towpath.weighters.work import WindowWork, plans_windows, run_work

Given = TypeVar("Given")
MEASURED_TASKS = 4
MEASURED_BATCHES = 4
PLAN_COPIES = 3
"""numbers kept by a plan, in units of T M P"""


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
    idle_threads: int = 0
    """threads that the recipe asks for and that have nothing to do, because the model draws"""

    @property
    def overhead(self) -> float:
        """Seconds per step divided by those of uniform weights."""
        return self.seconds_per_step / self.uniform_seconds_per_step

    @property
    def seconds(self) -> float:
        """The expected seconds of the whole run, validation and test included."""
        return self.training_seconds + self.evaluation_seconds

    @property
    def note(self) -> str:
        """What the user should know about the estimate, in a sentence; empty where all is usual."""
        if not self.idle_threads:
            return ""
        return (
            "The learner or its network draws random numbers, so tasks are computed one after "
            f"the other and threads: {self.idle_threads + 1} saves no time. Other cores can be "
            "used by torchrun, or by --jobs of a comparison."
        )


def estimate(setup: Setup, steps: int | None = None, trust: Trust | None = None) -> Estimate:
    """Estimate the cost of a run by measuring one mini-batch and multiplying.

    Args:
        setup: the run, with its data and learner.
        steps: number of steps still to train; None for all steps of the recipe.
        trust: what the run thinks of its trusted tasks by now; None for what it begins with.

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
    trust = setup.start.trust if trust is None else trust
    whole, seconds = _training_seconds(setup, training_work(setup, steps, trust))
    asked = max(1, recipe.threads // ranks_of_this_machine())
    drew = setup.objective.source.draws is True
    params, objective = setup.start.params, setup.objective
    tests = recipe.test.tasks * len(setup.tests)
    if recipe.validation.every:
        tests += -(-steps // recipe.validation.every) * recipe.validation.tasks
    name = next(iter(setup.tests))
    counts = [MEASURED_TASKS] * MEASURED_BATCHES
    # in which a learner may take more inner steps and more draws
    with evaluation_mode(setup.learner.module):
        a_few = _usual(
            lambda count: evaluate(objective, params, setup.test_tasks(name, count)), counts
        )
    per_task = a_few / MEASURED_TASKS
    return Estimate(
        seconds_per_step=seconds / steps,
        uniform_seconds_per_step=whole,
        training_seconds=seconds,
        evaluation_seconds=per_task * tests,
        plan_bytes=plan_bytes,
        peak_bytes=_held_memory() + plan_bytes,
        idle_threads=asked - 1 if drew else 0,
    )


def training_work(setup: Setup, steps: int, trust: Trust) -> WindowWork:
    """Return the expected work of the last steps of a run, with the heats that will be run in them.

    Args:
        setup: the run.
        steps: number of steps still to train.
        trust: what the run thinks of its trusted tasks.
    """
    T, total = setup.recipe.training.horizon, setup.recipe.training.steps
    window, goals = setup.window(0, total, trust)
    M = len(window[0])
    judges = setup.judges(0, trust)
    return run_work(
        setup.weighter_under(trust),
        T,
        range(total - steps, total),
        targets=len(goals[0]) / M if goals else 0.0,
        judges=len(judges) / M if len(judges) >= ENOUGH_JUDGES else 0.0,
        judged_until=setup.judged_until,
        inertia=setup.start.optimizer.inertia,
    )


def _training_seconds(setup: Setup, work: WindowWork) -> tuple[float, float]:
    """Return the seconds of one evaluation of a mini-batch, and of some work of training."""
    window, _ = setup.window(0, setup.recipe.training.steps)
    params, objective = setup.start.params, setup.objective
    # several mini-batches: tasks of any-shot episodes differ in size
    batches = [window[i % len(window)] for i in range(MEASURED_BATCHES)]
    whole = _usual(lambda b: objective.evaluate(params, b), batches)
    seconds = whole * (work.evaluations + FORWARD * work.forwards)
    if work.sketches:
        sketch = Curvature("gauss-newton", torch.ones(1, len(window[0])))
        sketched = _usual(lambda b: objective.evaluate(params, b, curvature=sketch), batches)
        seconds += max(0.0, sketched - whole) * work.sketches
    if work.parts:
        parts = [objective.parts(b, work.part_share) for b in batches]
        seconds += work.parts * _usual(lambda b: objective.evaluate(params, b), parts)
    return whole, seconds


def _plan_bytes(setup: Setup) -> int:
    training = setup.recipe.training
    numbers = sum(p.numel() for p in setup.start.params.values())
    size = next(iter(setup.start.params.values())).element_size()
    stages = PLAN_COPIES * training.horizon if plans_windows(setup.weighter) else 1
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
