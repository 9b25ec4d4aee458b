"""Each reason for a missing gradient is told with its own cure."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

import towpath as tp
from tests.learners.tasks import classification
from towpath.objective import Curvature

X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))
TASK = (X, torch.tensor([0, 1, 1, 0]))


def net() -> nn.Sequential:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def plan_of(fn, model, weighter=None, loss="cross_entropy"):
    objective = tp.Objective.from_function(fn, loss=loss)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    weighter = tp.TOW() if weighter is None else weighter
    return weighter.plan(objective, model, optimizer, [[TASK, TASK]])


@pytest.mark.parametrize("weighter", [tp.TOW(), tp.Uniform(), tp.Exploration()])
@pytest.mark.parametrize("off", [torch.no_grad, torch.inference_mode])
def test_switched_off_gradients_are_named(weighter, off):
    model = net()
    said = r"Gradients are switched off \(torch.no_grad.*Move the call out of that block"
    with off(), pytest.raises(ValueError, match=said):
        plan_of(lambda p, t: (functional_call(model, p, (t[0],)), t[1]), model, weighter)


def test_switched_off_gradients_are_named_for_a_learner_too():
    model = nn.Linear(4, 3).double()
    objective = tp.Objective(tp.learners.MAML(model), workers=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    window = [[classification() for _ in range(2)]]
    with torch.no_grad(), pytest.raises(ValueError, match="switched off"):
        tp.TOW().plan(objective, model, optimizer, window)


def test_losses_alone_need_no_gradients():
    model = net()
    objective = tp.Objective.from_function(lambda p, t: (functional_call(model, p, (t[0],)), t[1]))
    params = dict(model.named_parameters())
    with torch.no_grad():
        here = objective.evaluate(params, [TASK], gradients=False)
    assert torch.equal(here.losses, objective.evaluate(params, [TASK]).losses)


def test_a_function_that_calls_the_model_is_told_to_use_params():
    model = net()
    said = r"does not use params\['0.bias'\]: it calls a model.*functional_call\(model, params"
    with pytest.raises(ValueError, match=said):
        plan_of(lambda p, t: (model(t[0]), t[1]), model)


def test_a_function_that_calls_a_part_of_the_model_is_told_so_too():
    model = net()

    def fn(params, task):
        hidden = model[:2](task[0])
        return F.linear(hidden, params["2.weight"], params["2.bias"]), task[1]

    with pytest.raises(ValueError, match=r"does not use params\['0.bias'\].*functional_call"):
        plan_of(fn, model)


@pytest.mark.parametrize("how", ["no_grad", "detach"])
def test_a_cut_graph_is_told(how):
    model = net()

    def fn(params, task):
        if how == "no_grad":
            with torch.no_grad():
                return functional_call(model, params, (task[0],)), task[1]
        return functional_call(model, params, (task[0],)).detach(), task[1]

    with pytest.raises(ValueError, match=r"its graph is cut.*\.detach\(\)"):
        plan_of(fn, model)


def test_a_parameter_that_nothing_uses_is_still_to_be_frozen():
    model = net()
    model.spare = nn.Linear(2, 2)

    def fn(params, task):
        kept = {name: p for name, p in params.items() if "spare" not in name}
        return functional_call(model[:3], kept, (task[0],)), task[1]

    with pytest.raises(ValueError, match=r"uses the parameter 'spare.bias'.*Freeze it"):
        plan_of(fn, model)
    model.spare.requires_grad_(False)
    assert plan_of(fn, model).status.usable


def test_a_product_with_the_hessian_needs_gradients_too():
    model = net()
    objective = tp.Objective.from_function(lambda p, t: (functional_call(model, p, (t[0],)), t[1]))
    params = dict(model.named_parameters())
    P = sum(p.numel() for p in params.values())
    with torch.no_grad(), pytest.raises(ValueError, match="switched off"):
        objective.product(params, [TASK], torch.ones(1), torch.ones(P))
    with torch.no_grad(), pytest.raises(ValueError, match="switched off"):
        objective.evaluate(params, [TASK], curvature=Curvature("hutchinson", torch.ones(1, 1)))
