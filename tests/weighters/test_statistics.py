"""`apply_` leaves running statistics as T steps of torch would, and plans leave them alone."""

import copy
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

import towpath as tp
from tests.learners.tasks import classification
from towpath.learners import ANIL, LEARNERS, MAML, ProtoNet
from towpath.weighters import Weighter

F64 = torch.float64
T, M = 3, 4
TASKS = [[classification((3, 3), 2, seed=10 * t + i) for i in range(M)] for t in range(T)]
GOALS = [[classification((3, 3), 2, seed=90 + 10 * t + i) for i in range(2)] for t in range(T)]
WEIGHTERS: dict[str, tuple[Weighter, bool]] = {
    "uniform": (tp.Uniform(), False),
    "tow": (tp.TOW(beta=0.05), False),
    "faithful": (tp.TOW.faithful(beta=0.05), False),
    "fast": (tp.TOW.fast(beta=0.05, query_share=0.5), False),
    "targets": (tp.TOW.towards_targets(shrink="none"), True),
    "exact": (tp.TOW(beta=0.05, adjoint="exact", terminal="replay"), False),
}


def network(norm: nn.Module, outputs: int = 2) -> nn.Module:
    torch.manual_seed(0)
    # no bias before a norm: its gradient is rounding, which Adam would scale up
    first, last = nn.Linear(4, 6, bias=False), nn.Linear(6, outputs)
    model = nn.Sequential(first, norm, nn.Tanh(), last).to(F64)
    for _ in range(3):  # statistics that are warm
        model(torch.randn(7, 4, dtype=F64))
    return model


def norms() -> dict[str, nn.Module]:
    return {
        "momentum": nn.BatchNorm1d(6),
        "slow": nn.BatchNorm1d(6, momentum=0.02),
        "cumulative": nn.BatchNorm1d(6, momentum=None),
    }


def buffers(model: nn.Module) -> dict[str, Tensor]:
    return {name: buffer.clone() for name, buffer in model.named_buffers()}


def assert_same(found: dict[str, Tensor], expected: dict[str, Tensor], tolerance: float) -> None:
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=tolerance, atol=tolerance)


def function(model: nn.Module) -> tp.Objective:
    """The whole query set in one pass: multi-task training."""

    def fn(params, task):
        return functional_call(model, dict(params), (task.query_x,)), task.query_y

    def part(task, share):
        return task.part(share)

    return tp.Objective.from_function(fn, part=part)


class OwnQueries(tp.learners.Learner):
    """A learner without adaptation: one pass of the query set a task."""

    def adapt(self, params, support_x, support_y):
        params = self._complete(params)
        return tp.learners.Predictor(lambda x: self._forward(params, x), self.loss)


def torch_steps(model, optimizer, weights, passes) -> None:
    """A plain loop: `passes(model, task)` is the loss of a task, with the live module."""
    for batch, w in zip(TASKS, weights, strict=True):
        optimizer.zero_grad()
        sum(float(w_i) * passes(model, task) for w_i, task in zip(w, batch, strict=True)).backward()
        optimizer.step()


def query_loss(model, task) -> Tensor:
    return functional.cross_entropy(model(task.query_x), task.query_y)


@pytest.mark.parametrize("norm", norms())
@pytest.mark.parametrize("name", WEIGHTERS)
@pytest.mark.parametrize("way", ["function", "learner", "two workers"])
def test_statistics_are_those_of_a_plain_torch_loop(way, name, norm):
    model = network(norms()[norm])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    objective = function(model)
    if way != "function":
        learner = OwnQueries(model, "cross_entropy")
        objective = tp.Objective(learner, workers=2 if way == "two workers" else 1)
    weighter, wants_targets = WEIGHTERS[name]
    for window in range(2):
        before = buffers(model)
        options = {"targets": GOALS} if wants_targets else {}
        plan = weighter.plan(objective, model, optimizer, TASKS, **options)
        assert_same(buffers(model), before, 0.0)
        plan.apply_(model, optimizer)
        torch_steps(twin, twin_optimizer, plan.weights, query_loss)
        assert_same(buffers(model), buffers(twin), 1e-9)
        assert int(model.get_submodule("1").num_batches_tracked) == 3 + (window + 1) * T * M
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("workers", [1, 2])
def test_every_pass_of_an_inner_loop_counts(workers):
    steps = 2
    model = network(nn.BatchNorm1d(6))
    learner = MAML(model, adaptation_steps=steps, first_order=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))

    def adapted(live, task) -> Tensor:
        fast = dict(live.named_parameters())
        for _ in range(steps):
            outputs = functional_call(live, fast, (task.support_x,))
            loss = functional.cross_entropy(outputs, task.support_y)
            gradients = torch.autograd.grad(loss, list(fast.values()), create_graph=True)
            fast = {n: p - 0.1 * g for (n, p), g in zip(fast.items(), gradients, strict=True)}
        outputs = functional_call(live, fast, (task.query_x,))
        return functional.cross_entropy(outputs, task.query_y)

    objective = tp.Objective(learner, workers=workers)
    plan = tp.TOW(beta=0.05).plan(objective, model, optimizer, TASKS)
    plan.apply_(model, optimizer)
    torch_steps(twin, twin_optimizer, plan.weights, adapted)
    assert_same(buffers(model), buffers(twin), 1e-9)
    assert int(model.get_submodule("1").num_batches_tracked) == 3 + T * M * (steps + 1)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_learner_learns_statistics_whatever_the_workers(name):
    passes = {"protonet": 2, "ridge": 2, "proto-maml": 4, "abml": 3 * 5}.get(name, 3)  # 5 samples
    found = []
    for workers in (1, 2):
        outputs = 5 if LEARNERS[name].wants_embedding else 2
        options = {} if name in ("protonet", "ridge") else {"adaptation_steps": 2}
        learner = LEARNERS[name](network(nn.BatchNorm1d(6), outputs), **options)
        optimizer = torch.optim.SGD(learner.module.parameters(), lr=0.01)
        objective = tp.Objective(learner, workers=workers)
        tp.TOW().plan(objective, learner.module, optimizer, TASKS).apply_(learner.module, optimizer)
        found.append(buffers(learner.module))
        assert int(learner.model.get_submodule("1").num_batches_tracked) == 3 + T * M * passes
    assert_same(found[0], found[1], 0.0)


def test_statistics_in_single_precision_are_torchs_to_1e_6():
    model = network(nn.BatchNorm1d(6)).float()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    window = [
        [classification((3, 3), 2, seed=10 * t + i, dtype=torch.float32) for i in range(M)]
        for t in range(T)
    ]
    learner = OwnQueries(model, "cross_entropy")
    plan = tp.Uniform().plan(tp.Objective(learner, workers=2), model, optimizer, window)
    plan.apply_(model, optimizer)
    for batch in window:
        twin_optimizer.zero_grad()
        torch.stack([query_loss(twin, task) / M for task in batch]).sum().backward()
        twin_optimizer.step()
    assert_same(buffers(model), buffers(twin), 1e-6)


@pytest.mark.parametrize("way", ["function", "learner"])
def test_a_rejected_plan_and_eval_mode_leave_statistics_alone(way):
    model = network(nn.BatchNorm1d(6)).eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    objective = function(model) if way == "function" else tp.Objective(MAML(model))
    before = buffers(model)
    plan = tp.TOW(beta=0.05).plan(objective, model, optimizer, TASKS)
    plan.apply_(model, optimizer)
    assert_same(buffers(model), before, 0.0)


def test_a_plan_refuses_a_model_whose_statistics_moved_since():
    model = network(nn.BatchNorm1d(6))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    plan = tp.Uniform().plan(function(model), model, optimizer, TASKS)
    model(torch.randn(5, 4, dtype=F64))
    before = copy.deepcopy(model.state_dict())
    with pytest.raises(ValueError, match=r"'1.running_mean'.*moved since.*Plan again"):
        plan.apply_(model, optimizer)
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


# --- a module that is registered twice


class Twice(nn.Module):
    """One layer under two names, one tensor in two layers, one norm under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.again = self.a
        self.other = nn.Linear(4, 4)
        self.other.weight = self.a.weight
        self.norm = nn.BatchNorm1d(4)
        self.norm_again = self.norm
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        x = self.norm(torch.tanh(self.a(x)))
        x = self.norm_again(torch.tanh(self.again(x)))
        outputs: Tensor = self.head(torch.tanh(self.other(x)))
        return outputs


@pytest.mark.parametrize("weighter", [tp.TOW(beta=0.05), tp.Uniform()], ids=["tow", "uniform"])
@pytest.mark.parametrize("way", ["function", "learner", "two workers"])
def test_a_module_registered_twice_trains_as_in_torch(way, weighter):
    torch.manual_seed(0)
    model = Twice().to(F64)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    objective = function(model)
    if way != "function":
        learner = OwnQueries(model, "cross_entropy")
        objective = tp.Objective(learner, workers=2 if way == "two workers" else 1)
    registered = dict(model.named_parameters(remove_duplicate=False))
    for _ in range(2):
        plan = weighter.plan(objective, model, optimizer, TASKS)
        held = dict(model.named_parameters(remove_duplicate=False))
        assert all(held[name] is p for name, p in registered.items())
        plan.apply_(model, optimizer)
        torch_steps(twin, twin_optimizer, plan.weights, query_loss)
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-10)
    assert_same(buffers(model), buffers(twin), 1e-9)
    torch.optim.SGD(model.parameters(), lr=0.1)


BY_LAYER = ("mt-net", "bayesian-taml")
"""learners that treat each layer by itself"""


@pytest.mark.parametrize("name", BY_LAYER)
def test_a_learner_that_treats_each_layer_by_itself_refuses_one_registered_twice(name):
    make: Callable[..., tp.learners.Learner] = LEARNERS[name]
    with pytest.raises(ValueError, match="shares its weight or bias with another one; expected"):
        make(Twice().to(F64))


@pytest.mark.parametrize("name", [name for name in LEARNERS if name not in BY_LAYER])
def test_every_other_learner_takes_a_module_registered_twice(name):
    torch.manual_seed(0)
    options = {"head": "head"} if LEARNERS[name] is ANIL else {}
    learner = LEARNERS[name](Twice().to(F64), **options)
    optimizer = torch.optim.SGD(learner.module.parameters(), lr=0.01)
    plan = tp.TOW().plan(tp.Objective(learner), learner.module, optimizer, TASKS)
    plan.apply_(learner.module, optimizer)
    assert all(isinstance(p, nn.Parameter) for p in learner.module.parameters())
    assert isinstance(ProtoNet(learner.model).parameters()["a.weight"], nn.Parameter)
