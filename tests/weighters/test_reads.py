"""Nothing is read from the device once per task: a window of M tasks takes as many reads as any.

A plan reads more with each iteration, trial and look at a trial's cost. The options of the planners
below were chosen so that plans of 4 and of 12 tasks make the same decisions; with the defaults some
of them do not on these windows, and their counts differ for that reason.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

import towpath as tp
from tests.device_reads import reads_of
from tests.learners.tasks import classification
from towpath.weighters import Weighter, wants_judges, wants_targets

T = 3

WEIGHTERS: dict[str, Callable[[], Weighter]] = {
    "uniform": tp.Uniform,
    "evidence": tp.Evidence,
    "alpha-maml": tp.AlphaMAML,
    "tow": lambda: tp.TOW(acceptance="strict", beta=1.0),
    "faithful": lambda: tp.TOW.faithful(beta=100.0),
    "fast": lambda: tp.TOW.fast(query_share=0.5),
    "targets": lambda: tp.TOW.towards_targets(shrink="none"),
    "race": tp.Race,  # its first heat is yet to come
}
LEARNERS: dict[str, Callable[[nn.Module], tp.learners.Learner]] = {
    "protonet": tp.learners.ProtoNet,
    "maml": lambda model: tp.learners.MAML(model, adaptation_steps=2),
}


def tasks(count: int, first: int) -> list[tp.Episode]:
    """Tasks of equal shapes; later ones repeat the first four, so that plans take the same path."""
    return [classification((1, 1, 1), 4, seed=first + i % 4) for i in range(count)]


def planned(name: str, learner: str, M: int, norm: nn.Module | None = None) -> tuple[str, int]:
    """The status and the number of reads of a plan of the second window, and of applying it."""
    torch.manual_seed(0)
    layers = (nn.Linear(4, 8), norm or nn.Identity(), nn.Tanh(), nn.Linear(8, 3))
    made = LEARNERS[learner](nn.Sequential(*layers).double())
    optimizer = torch.optim.Adam(made.module.parameters(), lr=0.01)
    objective, weighter = tp.Objective(made, workers=1), WEIGHTERS[name]()
    judges = {"judges": tasks(3, 700)} if wants_judges(weighter) else {}
    goals = [tasks(2, 500 + 10 * t) for t in range(T)] if wants_targets(weighter) else None
    windows = [[tasks(M, first + 10 * t) for t in range(T)] for first in (0, 100)]
    plans: list[tp.Plan] = []

    def plan(one: list[list[tp.Episode]]) -> None:
        state = plans[-1].weighter_state if plans else None
        options: dict[str, Any] = {"targets": goals, "state": state, "seed": 1, **judges}
        plans.append(weighter.plan(objective, made.module, optimizer, one, **options))
        plans[-1].apply_(made.module, optimizer)

    plan(windows[0])  # whether the model draws random numbers is known from then on
    reads = reads_of(lambda: plan(windows[1]))
    return plans[-1].status.name, len(reads)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", WEIGHTERS)
def test_a_window_of_more_tasks_takes_no_more_reads_from_the_device(name, learner):
    few, many = planned(name, learner, 4), planned(name, learner, 12)
    assert few == many


@pytest.mark.parametrize("trains", [True, False])
def test_running_statistics_of_more_tasks_take_no_more_reads(trains):
    few, many = (planned("uniform", "maml", M, nn.BatchNorm1d(8).train(trains)) for M in (4, 12))
    assert few == many


def test_a_uniform_step_takes_a_handful_of_reads():
    _, reads = planned("uniform", "protonet", 12)
    assert reads <= 10 * T


def test_a_read_for_each_task_would_be_counted():
    numbers = [torch.ones(2) for _ in range(5)]
    assert len(reads_of(lambda: [bool(n.any()) for n in numbers])) == 5
    assert len(reads_of(lambda: [n.tolist() for n in numbers])) == 5
    assert len(reads_of(lambda: [n[n > 0] for n in numbers])) == 5
    assert len(reads_of(lambda: torch.stack(numbers).sum())) == 0
