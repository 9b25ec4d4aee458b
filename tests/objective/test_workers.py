"""Workers compute as their caller would; they can be copied and pickled."""

import copy
import pickle

import pytest
import torch
from torch import Tensor, nn

import towpath as tp
from tests.learners.tasks import classification
from towpath.objective.workers import Autocast, Workers

BATCH = [classification([2] * 3, 4, (6,), seed, torch.float32) for seed in range(4)]


def module_level(params, task):
    return task[0] @ params["w"], task[1]


def net() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))


LEARNERS = {
    "maml": lambda: tp.learners.MAML(net()),
    "second order": lambda: tp.learners.MAML(net(), first_order=False),
    "protonet": lambda: tp.learners.ProtoNet(net()),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_autocast_holds_on_the_threads_of_workers(name):
    learner = LEARNERS[name]()
    params = learner.parameters()
    plain = tp.Objective(learner, workers=2).evaluate(params, BATCH)
    with torch.autocast("cpu", torch.bfloat16):
        two = tp.Objective(learner, workers=2).evaluate(params, BATCH)
        one = tp.Objective(learner, workers=1).evaluate(params, BATCH)
    assert torch.equal(two.losses, one.losses)
    assert torch.equal(two.gradients, one.gradients)
    assert two.losses.dtype == two.gradients.dtype == torch.float32
    assert not torch.equal(two.losses, plain.losses)
    torch.testing.assert_close(two.losses, plain.losses, rtol=0.05, atol=0.05)


def test_the_setting_of_a_thread_is_read_and_restored():
    assert not Autocast.now().enabled
    with torch.autocast("cpu", torch.bfloat16):
        inside = Autocast.now()
    with inside.here():
        assert torch.is_autocast_enabled("cpu")
        assert torch.get_autocast_dtype("cpu") == torch.bfloat16
    assert not torch.is_autocast_enabled("cpu")


class InBfloat16(nn.Module):
    """A network that computes in bfloat16 with parameters in float32."""

    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            outputs: Tensor = self.net(x)
        return outputs


@pytest.mark.parametrize("weighter", [tp.Uniform(), tp.TOW()])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_network_under_autocast_trains_as_in_torch(weighter, workers):
    model, plain = InBfloat16(net()), InBfloat16(net())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    objective = tp.Objective(tp.learners.MAML(model, adaptation_steps=1), workers=workers)
    plan = weighter.plan(objective, model, optimizer, [BATCH, BATCH])
    plan.apply_(model, optimizer)
    theirs, learner = torch.optim.SGD(plain.parameters(), lr=0.1), tp.learners.MAML(plain)
    learner.adaptation_steps = 1
    for weights in plan.weights:
        theirs.zero_grad()
        outputs = [learner(learner.parameters(), task).float() for task in BATCH]
        pairs = zip(outputs, BATCH, strict=True)
        losses = [nn.functional.cross_entropy(f, task.query_y) for f, task in pairs]
        torch.stack(losses).mul(weights).sum().backward()
        theirs.step()
    for ours, reference in zip(model.parameters(), plain.parameters(), strict=True):
        assert ours.dtype == torch.float32
        # gradients of all tasks at once are summed in bfloat16 by torch, one by one by us
        torch.testing.assert_close(ours, reference, rtol=1e-3, atol=1e-4)


def test_autocast_around_a_plan_is_refused_with_the_reason():
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    objective = tp.Objective(tp.learners.MAML(model), workers=1)
    said = r"autocast\('cpu'\) around a plan.*Put it into the task function"
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(ValueError, match=said):
        tp.Uniform().plan(objective, model, optimizer, [BATCH])


def test_outputs_in_bfloat16_have_a_loss_in_the_precision_of_the_parameters():
    def fn(params, task):
        return (task[0] @ params["w"]).bfloat16(), task[1]

    x, y = torch.randn(100, 3, generator=torch.Generator().manual_seed(0)), torch.zeros(100)
    here = tp.Objective.from_function(fn, loss="mse").evaluate({"w": torch.ones(3)}, [(x, y)])
    expected = (x @ torch.ones(3)).bfloat16().float().square().mean()
    assert torch.equal(here.losses[0], expected)


def test_parameters_in_bfloat16_are_refused_with_the_way_that_works():
    model = net().bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match=r"bfloat16; expected.*put torch.autocast into"):
        tp.Uniform().plan(tp.Objective(tp.learners.MAML(model)), model, optimizer, [BATCH])


@pytest.mark.parametrize("how", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("workers", [1, 2])
def test_an_objective_of_a_learner_can_be_copied_and_pickled(how, workers):
    learner = LEARNERS["maml"]()
    objective = tp.Objective(learner, workers=workers)
    expected = objective.evaluate(learner.parameters(), BATCH)  # its threads are running
    other = how(objective)
    here = other.evaluate(learner.parameters(), BATCH)
    assert torch.equal(here.losses, expected.losses)
    assert torch.equal(here.gradients, expected.gradients)
    assert other.source.learner is not learner
    assert isinstance(other.source.workers, Workers)


@pytest.mark.parametrize("loss", ["mse", nn.SmoothL1Loss(), {"a": "mse"}])
def test_an_objective_of_a_function_can_be_copied_and_pickled(loss):
    objective = tp.Objective.from_function(module_level, loss=loss)
    for other in (copy.copy(objective), copy.deepcopy(objective)):
        assert other.source.function is module_level
    assert pickle.loads(pickle.dumps(objective)).source.function is module_level


def test_a_function_that_pickle_cannot_name_is_refused_with_the_reason():
    objective = tp.Objective.from_function(lambda p, t: (p, t), loss="mse")
    assert copy.deepcopy(objective).source.function is objective.source.function
    with pytest.raises(pickle.PicklingError, match=r"The fn of this objective.*top level of a mod"):
        pickle.dumps(objective)
    objective = tp.Objective.from_function(module_level, loss=lambda f, y: f.sum())
    with pytest.raises(pickle.PicklingError, match="The loss of this objective"):
        pickle.dumps(objective)


def test_an_objective_of_several_processes_is_not_copied():
    objective = tp.Objective(LEARNERS["maml"](), ranks=tp.distributed.ranks.Ranks(0, 2))
    with pytest.raises(TypeError, match="shared by 2 processes"):
        pickle.dumps(objective)
