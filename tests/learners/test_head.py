"""The head of a model by its names, and a head that starts every task at zero."""

import copy

import pytest
import torch
from torch.nn import functional

import towpath as tp
from tests.learners.tasks import classification
from towpath.backbones import MLP
from towpath.learners import MAML, MetaSGD, ProtoMAML
from towpath.learners.head import head_names

TASK = classification((1, 3, 2))


def test_the_last_layer_is_the_head_unless_one_is_named():
    names = ["a.weight", "a.bias", "b.c.weight", "b.c.bias"]
    assert head_names(names) == ("b.c.weight", "b.c.bias")
    assert head_names(names, "a") == ("a.weight", "a.bias")
    with pytest.raises(ValueError, match=r"layer 'x'.*\['a', 'b.c'\].*Pass head="):
        head_names(names, "x")
    with pytest.raises(ValueError, match="Found no parameters of a layer ''"):
        head_names(["weight"])


@pytest.mark.parametrize("make", [MAML, MetaSGD])
def test_a_zero_head_is_a_model_whose_head_was_set_to_zero(make):
    """Values and gradients of second order are those of a model with a head of zeros."""
    torch.manual_seed(0)
    options = {"inner_lr": 0.3, "adaptation_steps": 3, "first_order": False}
    model = MLP(4, 3, (5,), "tanh").double()
    by_hand = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in by_hand.head.parameters():
            parameter.zero_()
    ours, plain = make(model, zero_head=True, **options), make(by_hand, **options)
    params, all_params = ours.parameters(), plain.parameters()
    left_out = set(all_params) - set(params)
    assert {name.removeprefix("model.") for name in left_out} == {"head.weight", "head.bias"}
    outputs, expected = ours(params, TASK), plain(all_params, TASK)
    torch.testing.assert_close(outputs, expected, rtol=1e-12, atol=1e-12)
    mine = torch.autograd.grad(functional.cross_entropy(outputs, TASK.query_y), params.values())
    shared = [all_params[name] for name in params]
    theirs = torch.autograd.grad(functional.cross_entropy(expected, TASK.query_y), shared)
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-12)


def test_a_plan_trains_a_learner_with_a_zero_head_and_leaves_the_head_alone():
    torch.manual_seed(0)
    model = MLP(4, 3, (5,), "tanh")
    head = copy.deepcopy(model.head)
    learner = MAML(model, zero_head=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    window = [[classification((1, 2, 2), seed=s, dtype=torch.float32)] * 2 for s in (1, 2)]
    tp.TOW.fast().plan(tp.Objective(learner), model, optimizer, window).apply_(model, optimizer)
    assert torch.equal(model.head.weight, head.weight)
    assert learner.parameters().keys() == {"layers.0.weight", "layers.0.bias"}


@pytest.mark.parametrize("make", [MAML, MetaSGD, ProtoMAML])
def test_more_inner_steps_are_taken_in_evaluation_mode_where_asked(make):
    torch.manual_seed(0)
    model = MLP(4, None if make is ProtoMAML else 3, (5,), "tanh").double()
    learner = make(model, adaptation_steps=2, test_steps=4)
    longer = make(copy.deepcopy(model), adaptation_steps=4)
    same = make(copy.deepcopy(model), adaptation_steps=2)
    trained = learner(learner.parameters(), TASK)
    learner.module.eval()
    tested = learner(learner.parameters(), TASK)
    torch.testing.assert_close(trained, same(same.parameters(), TASK))
    torch.testing.assert_close(tested, longer(longer.parameters(), TASK))
    assert not torch.allclose(trained, tested)
    with pytest.raises(ValueError, match="Found test_steps=-1; expected 0 or more"):
        make(model, test_steps=-1)
