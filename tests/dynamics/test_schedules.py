"""Learning rates of a pure state against the schedulers of torch."""

import pytest
import torch
from torch.optim import lr_scheduler

from towpath.dynamics import SGD, Adam
from towpath.dynamics.schedules import SCHEDULES, Constant, Cosine, Linear, Stepwise

PAIRS = {
    "constant": (Constant(), lambda o: lr_scheduler.ConstantLR(o, 1.0)),
    "cosine": (
        Cosine(steps=8, final=0.1),
        lambda o: lr_scheduler.CosineAnnealingLR(o, 8, eta_min=0.03),
    ),
    "linear": (
        Linear(steps=8, final=0.25),
        lambda o: lr_scheduler.LinearLR(o, 1.0, 0.25, total_iters=8),
    ),
    "step": (Stepwise(every=3, decay=0.5), lambda o: lr_scheduler.StepLR(o, 3, 0.5)),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_rate_follows_that_of_torch(name):
    schedule, theirs = PAIRS[name]
    assert type(schedule) is SCHEDULES[name]
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.3)
    scheduler = theirs(optimizer)
    for n in range(9):
        (rule,) = schedule.rules([SGD(0.3)], n)
        assert rule.lr == pytest.approx(scheduler.get_last_lr()[0], rel=1e-12)
        optimizer.step()
        scheduler.step()


def test_the_rate_stays_where_a_schedule_has_ended():
    for schedule in (Cosine(steps=4, final=0.1), Linear(steps=4, final=0.1)):
        assert schedule.factor(4) == schedule.factor(400) == pytest.approx(0.1)


def test_a_warm_up_comes_first_and_changes_nothing_but_the_rate():
    schedule = Linear(warmup=4, steps=2)
    assert [schedule.factor(n) for n in range(7)] == [0.25, 0.5, 0.75, 1.0, 1.0, 0.5, 0.0]
    (rule,) = schedule.rules([Adam(0.1, (0.5, 0.6), 1e-3, 0.2, decoupled=True)], 1)
    assert rule == Adam(0.05, (0.5, 0.6), 1e-3, 0.2, decoupled=True)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Cosine(steps=0),
        lambda: Linear(steps=5, final=-0.1),
        lambda: Stepwise(every=0),
        lambda: Stepwise(decay=float("nan")),
        lambda: Constant(warmup=-1),
    ],
)
def test_values_out_of_range_are_value_errors(make):
    with pytest.raises(ValueError, match="expected"):
        make()
