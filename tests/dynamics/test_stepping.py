"""What a loop does around a step: which schedulers are taken, and that none is moved."""

import copy

import pytest
import torch
from torch.optim import lr_scheduler

import towpath as tp
from tests.oracles.torch_training import largest_difference, network, objective_of, train
from towpath.dynamics import read_torch
from towpath.dynamics.schedules import Cosine
from towpath.dynamics.sgd import by_plain_sgd


def with_scheduler(make):
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.2)
    return model, optimizer, make(optimizer)


def test_looking_ahead_leaves_the_scheduler_where_it_is():
    model, optimizer, scheduler = with_scheduler(lambda o: lr_scheduler.OneCycleLR(o, 0.5, 20))
    before = copy.deepcopy(scheduler.state_dict()), copy.deepcopy(optimizer.state_dict())
    _, held = read_torch(model, tp.Stepping(optimizer, scheduler=scheduler))
    ahead = [held.stage(t).rules[0] for t in (0, 5, 3)]
    assert (scheduler.state_dict(), optimizer.state_dict()) == before
    for step in range(6):
        group = optimizer.param_groups[0]
        if step in (0, 3, 5):
            rule = ahead[(0, 5, 3).index(step)]
            assert isinstance(rule, tp.Adam)
            assert (rule.lr, rule.betas) == (group["lr"], group["betas"])
        optimizer.step()
        scheduler.step()


class Trainer:
    """A user's object whose method is the schedule, and which must not be copied."""

    def __init__(self):
        self.optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        self.scheduler = lr_scheduler.LambdaLR(self.optimizer, self.factor)

    def factor(self, n):
        return 1 / (1 + n)

    def __deepcopy__(self, memo):
        raise AssertionError("a trainer may hold anything")


def test_a_method_that_is_the_schedule_is_called_and_not_copied():
    trainer = Trainer()
    model = torch.nn.Module()
    model.w = trainer.optimizer.param_groups[0]["params"][0]
    _, held = read_torch(model, tp.Stepping(trainer.optimizer, scheduler=trainer.scheduler))
    assert [held.stage(t).rules[0].lr for t in range(3)] == [1.0, 1 / 2, 1 / 3]


def test_what_cannot_be_foreseen_is_refused():
    _, optimizer, plateau = with_scheduler(lr_scheduler.ReduceLROnPlateau)
    with pytest.raises(ValueError, match=r"ReduceLROnPlateau; expected .* step it yourself"):
        tp.Stepping(optimizer, scheduler=plateau)
    _, _, other = with_scheduler(lambda o: lr_scheduler.StepLR(o, 1))
    with pytest.raises(ValueError, match="scheduler of another optimiser"):
        tp.Stepping(optimizer, scheduler=other)
    with pytest.raises(ValueError, match=r"optimiser of type Linear; expected a torch\.optim"):
        tp.Stepping(torch.nn.Linear(1, 1))


def test_plain_sgd_in_an_optimisers_place_has_its_rates_at_every_step():
    model, optimizer, scheduler = with_scheduler(lambda o: lr_scheduler.StepLR(o, 1, 0.5))
    _, held = read_torch(model, tp.Stepping(optimizer, clip_norm=1.0, scheduler=scheduler))
    plain = by_plain_sgd(held)
    assert [plain.stage(t).rules[0] for t in range(2)] == [tp.SGD(0.2), tp.SGD(0.1)]
    assert plain.stage(0).clip is None
    pure = tp.Adam(0.2).init(dict(model.named_parameters())).scheduled(Cosine(steps=2))
    assert by_plain_sgd(pure).stage(1).rules[0].lr == pytest.approx(0.1)


CYCLES = {
    "momentum falls to 0 and rises again": {"base_momentum": 0.0, "max_momentum": 0.9},
    "each group has momentum in its turn": {
        "base_momentum": [0.0, 0.5],
        "max_momentum": [0.9, 0.5],
    },
}


@pytest.mark.parametrize("cycle", CYCLES)
@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.RMSprop])
@pytest.mark.parametrize("horizon", [1, 3, 8])
def test_a_step_without_momentum_leaves_its_buffer_as_torch_does(kind, cycle, horizon):
    def fresh():
        model = network()
        groups = [{"params": model[0].parameters()}, {"params": model[2:].parameters()}]
        optimizer = kind(groups, lr=0.01, momentum=0.9)
        scheduler = lr_scheduler.CyclicLR(
            optimizer, 0.01, 0.05, step_size_up=2, step_size_down=2, **CYCLES[cycle]
        )
        return model, optimizer, scheduler

    plain, its_optimizer, its_scheduler = fresh()
    model, optimizer, scheduler = fresh()
    stepping = tp.Stepping(optimizer, scheduler=scheduler)
    window = [[(torch.ones(5, 3).double() * t, torch.ones(5, 2).double())] for t in range(1, 9)]
    objective, seen = objective_of(model), set()
    for start in range(0, 8, horizon):
        part = window[start : start + horizon]
        seen.add(float(optimizer.param_groups[0]["momentum"]))
        plan = tp.TOW().plan(objective, model, stepping, part)
        plan.apply_(model, stepping)
        train(plain, its_optimizer, part, plan.weights, scheduler=its_scheduler)
    assert horizon > 1 or 0.0 in seen  # some windows begin without momentum
    assert largest_difference(model, optimizer, plain, its_optimizer) <= 1e-10


def test_a_schedule_that_needs_a_buffer_that_is_not_kept_is_refused():
    class Later:
        def rules(self, base, step):
            return [tp.SGD(0.1, momentum=0.9 if step else 0.0)]

    held = tp.SGD(0.1).init({"w": torch.ones(2)}).scheduled(Later())
    assert held.stage(0).slot_names == ()
    with pytest.raises(ValueError, match=r"step 1 .*momentum_buffer.*expected .*from the start"):
        held.stage(1)


def test_dampening_where_momentum_begins_at_0_is_refused():
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, dampening=0.5)
    scheduler = lr_scheduler.CyclicLR(optimizer, 0.01, 0.05, base_momentum=0.0)
    with pytest.raises(ValueError, match=r"dampening=0\.5 .*base_momentum=0 .*expected"):
        read_torch(model, tp.Stepping(optimizer, scheduler=scheduler))
