"""What a run will cost, from one short measurement and the counts of the design.

A window costs its mini-batch evaluations and sketches; a plan keeps about 3 T M P numbers beyond
the evaluation itself. The first window is planned for real, twice, and the faster one counted.
"""

import time
from dataclasses import dataclass

from towpath.training.evaluation import evaluate
from towpath.training.setup import Setup
from towpath.training.step import train_step
from towpath.weighters import Uniform, Weighter

MEASURED_TASKS = 4
PLAN_COPIES = 3
"""numbers kept by a plan, in units of T M P"""


@dataclass(frozen=True)
class Estimate:
    """Expected cost of a run."""

    seconds_per_step: float
    uniform_seconds_per_step: float
    training_seconds: float
    evaluation_seconds: float
    plan_bytes: int

    @property
    def overhead(self) -> float:
        """Seconds a step over those of uniform weights."""
        return self.seconds_per_step / self.uniform_seconds_per_step

    @property
    def seconds(self) -> float:
        """The whole run, validation and test included."""
        return self.training_seconds + self.evaluation_seconds


def estimate(setup: Setup) -> Estimate:
    """Plan and train on the first window, evaluate a few tasks, and multiply."""
    recipe = setup.recipe
    steps = recipe.training.steps
    per_step = _per_step(setup, setup.weighter, setup.targets)
    uniform = _per_step(setup, Uniform(), False)
    tests = recipe.test.tasks * len(setup.tests)
    validations = 0
    if recipe.validation.every:
        rounds = -(-steps // recipe.validation.every)
        validations = rounds * recipe.validation.tasks
    name = next(iter(setup.tests))
    began = time.perf_counter()
    evaluate(setup.objective, setup.start.params, setup.test_tasks(name, MEASURED_TASKS))
    per_task = (time.perf_counter() - began) / MEASURED_TASKS
    numbers = sum(p.numel() for p in setup.start.params.values())
    size = next(iter(setup.start.params.values())).element_size()
    M = recipe.training.meta_batch_size
    return Estimate(
        seconds_per_step=per_step,
        uniform_seconds_per_step=uniform,
        training_seconds=per_step * steps,
        evaluation_seconds=per_task * (tests + validations),
        plan_bytes=PLAN_COPIES * recipe.training.horizon * M * numbers * size,
    )


def _per_step(setup: Setup, weighter: Weighter, targets: bool) -> float:
    tasks, goals = setup.window(0, setup.recipe.training.steps)
    times = []
    for _ in range(2):
        began = time.perf_counter()
        train_step(
            setup.start,
            tasks,
            objective=setup.objective,
            weighter=weighter,
            targets=goals if targets else None,
        )
        times.append(time.perf_counter() - began)
    return min(times) / len(tasks)
