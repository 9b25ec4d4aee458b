"""Float32 plans against float64 plans of the same window on a 4-conv network.

Losses, J and the condensed problem are summed in float64, so what differs is the gradients and the
states. Compared are the deviations d from uniform weights, `|d32 - d64| / |d64|`, one iteration
from a warm Adam. Where the acceptance test is close, rounding may decide between eps and eps/2: the
windows here have plans that took the same step size (asserted). Figures: docs/performance.md.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import towpath as tp
from tests.learners.tasks import classification
from towpath.data.episode import Episode

T, M = 3, 3
LEARNERS: dict[str, Callable[[], tp.learners.Learner]] = {
    "protonet": lambda: tp.learners.ProtoNet(tp.backbones.Conv4(ways=None, image_size=16)),
    "maml": lambda: tp.learners.MAML(
        tp.backbones.Conv4(ways=3, image_size=16), inner_lr=0.1, adaptation_steps=2
    ),
}
# Of the relative difference of the deviations: ten times what was measured (docs/performance.md).
BOUND = 5e-4


def windows(dtype: torch.dtype, count: int) -> list[list[list[Episode]]]:
    return [
        [
            [
                classification((1, 1, 1), 3, (1, 16, 16), seed=100 * n + 10 * t + i, dtype=dtype)
                for i in range(M)
            ]
            for t in range(T)
        ]
        for n in range(count)
    ]


def made(learner: str) -> tuple[tp.learners.Learner, dict[str, Tensor]]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        made = LEARNERS[learner]()
    return made, {name: p.detach().clone() for name, p in made.parameters().items()}


def deviations(learner: str, tow: tp.TOW, dtype: torch.dtype) -> tuple[Tensor, tp.Plan]:
    """Of the second window, so that Adam is warm: its state after the first, taken in float64."""
    model, params = made(learner)
    model.module.double()
    params = {name: p.double() for name, p in params.items()}
    first, second = windows(torch.float64, 2)
    uniform = tp.Uniform().plan(tp.Objective(model), params, tp.Adam(lr=1e-3).init(params), first)
    held = uniform.optimizer_state
    params = {name: p.to(dtype) for name, p in uniform.params.items()}
    state = type(held)(held.dynamics, tuple(slot.to(dtype) for slot in held.slots), held.steps)
    if dtype == torch.float32:
        model.module.float()
        second = windows(dtype, 2)[1]
    plan = tow.plan(tp.Objective(model), params, state, second)
    return plan.weights.double() - 1 / M, plan


def difference(learner: str, tow: tp.TOW) -> float:
    """Relative difference of the deviations; both plans must have taken the same trials."""
    single, plan = deviations(learner, tow, torch.float32)
    double, reference = deviations(learner, tow, torch.float64)
    assert [line.eps for line in plan.history] == [line.eps for line in reference.history]
    assert float(M * double.abs().max()) > 1e-2, "uniform weights would prove little"
    return float(torch.linalg.vector_norm(single - double) / torch.linalg.vector_norm(double))


@pytest.mark.parametrize(
    "tow",
    [
        tp.TOW(beta=0.1, iterations=1),
        tp.TOW(beta=0.1, iterations=1, bounds="simplex"),
        tp.TOW.faithful(beta=0.1, iterations=1),
        tp.TOW(beta=0.1, iterations=1, bounds="backtrack", value="exact"),
    ],
    ids=["project", "simplex", "faithful", "exact value"],
)
@pytest.mark.parametrize("learner", LEARNERS)
def test_float32_plans_are_those_of_float64_to_a_bound(learner, tow):
    assert difference(learner, tow) < BOUND
