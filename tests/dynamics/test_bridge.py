"""Dynamics read from, stepped beside and written to real torch.optim objects."""

import copy

import pytest
import torch

import towpath as tp
from tests.oracles.compare import assert_close
from tests.oracles.torch_training import OPTIMISERS, largest_difference, network, with_optimiser
from towpath.dynamics import read_torch, write_torch
from towpath.flat import Layout


def gradients(model, seed):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(p.shape, generator=generator).double() for p in model.parameters()]


def torch_step(model, optimizer, seed):
    for p, g in zip(model.parameters(), gradients(model, seed), strict=True):
        p.grad = g
    optimizer.step()


def flat_gradient(model, layout, seed):
    named = dict(zip(dict(model.named_parameters()), gradients(model, seed), strict=True))
    return layout.flatten([named[name] for name in layout.names])


@pytest.mark.parametrize("warm", [0, 3])
@pytest.mark.parametrize("groups", [False, True], ids=["one group", "two groups"])
@pytest.mark.parametrize("name", OPTIMISERS)
def test_steps_equal_those_of_torch(name, groups, warm):
    model, optimizer = with_optimiser(name, groups=groups)
    follow_torch(model, optimizer, warm)


def follow_torch(model, optimizer, warm):
    """Steps of the dynamics, written back, then steps of torch: always where its twin is."""
    for seed in range(warm):
        torch_step(model, optimizer, seed)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    params, held = read_torch(model, optimizer)
    layout = Layout.of(params)
    state = held.at(layout.flatten(list(params.values())))
    for seed in range(10, 14):
        torch_step(twin, twin_optimizer, seed)
        state = held.dynamics.step(state, flat_gradient(model, layout, seed))
    write_torch(model, optimizer, held.dynamics, state)
    assert_close(largest_difference(model, optimizer, twin, twin_optimizer), 0.0, 1e-12)
    for seed in range(20, 23):
        torch_step(model, optimizer, seed)
        torch_step(twin, twin_optimizer, seed)
    assert_close(largest_difference(model, optimizer, twin, twin_optimizer), 0.0, 1e-12)


@pytest.mark.parametrize("warm", [0, 2])
@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1}),
        (torch.optim.SGD, {"dampening": 0.5}, {"momentum": 0.5, "dampening": 0.3}),
        (torch.optim.Adam, {"betas": (0.5, 0.9), "eps": 1e-3}, {"weight_decay": 0.1}),
        (torch.optim.AdamW, {"betas": (0.5, 0.9)}, {"weight_decay": 0.5}),
        (torch.optim.RAdam, {"betas": (0.5, 0.9)}, {"weight_decay": 0.5}),
        (torch.optim.RMSprop, {"centered": True, "alpha": 0.9}, {"momentum": 0.5}),
        (torch.optim.RMSprop, {"momentum": 0.9, "eps": 1e-3}, {"weight_decay": 0.5}),
    ],
)
def test_groups_may_differ_in_every_option(kind, first, second, warm):
    model = network()
    groups = [
        {"params": model[0].parameters(), **first},
        {"params": model[2].parameters(), **second},
    ]
    follow_torch(model, kind(groups, lr=0.05), warm)


@pytest.mark.parametrize("name", OPTIMISERS)
def test_reading_and_writing_back_changes_nothing(name):
    model, optimizer = with_optimiser(name)
    torch_step(model, optimizer, 0)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    params, held = read_torch(model, optimizer)
    layout = Layout.of(params)
    write_torch(model, optimizer, held.dynamics, held.at(layout.flatten(list(params.values()))))
    assert largest_difference(model, optimizer, twin, twin_optimizer) == 0.0


def test_what_is_read_shares_no_memory_with_the_model():
    model, optimizer = with_optimiser("adam")
    torch_step(model, optimizer, 0)
    params, held = read_torch(model, optimizer)
    before = {name: p.clone() for name, p in params.items()}, [s.clone() for s in held.slots]
    torch_step(model, optimizer, 1)
    assert all(torch.equal(params[name], p) for name, p in before[0].items())
    assert all(map(torch.equal, held.slots, before[1]))


def test_parameters_with_different_numbers_of_steps_keep_their_own_bias_correction():
    model, optimizer = with_optimiser("adam")
    for p in model[0].parameters():  # the second group joins later
        p.grad = torch.ones_like(p)
    optimizer.step()
    _, held = read_torch(model, optimizer)
    assert held.steps == (1, 1, 0, 0)
    twin, twin_optimizer = copy.deepcopy((model, optimizer))
    torch_step(twin, twin_optimizer, 5)
    params, held = read_torch(model, optimizer)
    layout = Layout.of(params)
    state = held.dynamics.step(
        held.at(layout.flatten(list(params.values()))), flat_gradient(model, layout, 5)
    )
    write_torch(model, optimizer, held.dynamics, state)
    assert_close(largest_difference(model, optimizer, twin, twin_optimizer), 0.0, 1e-14)


def test_a_rate_kept_in_a_tensor_is_read():
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), lr=torch.tensor(0.25))
    _, held = read_torch(model, optimizer)
    rule = held.dynamics.rules[0]
    assert isinstance(rule, tp.Adam)
    assert rule.lr == 0.25


def test_decoupled_decay_of_plain_adam_is_read():
    model = network()
    _, held = read_torch(model, torch.optim.Adam(model.parameters(), decoupled_weight_decay=True))
    rule = held.dynamics.rules[0]
    assert isinstance(rule, tp.Adam)
    assert rule.decoupled


class Mine(torch.optim.SGD):
    """A user's subclass may step in any way."""


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda p: torch.optim.Adagrad(p, lr=0.1), "Adagrad"),
        (lambda p: torch.optim.NAdam(p, lr=0.1), "NAdam"),
        (lambda p: torch.optim.LBFGS(p, lr=0.1), "LBFGS"),
        (lambda p: Mine(p, lr=0.1), "Mine"),
        (lambda p: torch.optim.RMSprop(p, maximize=True), "RMSprop.*maximize=True"),
        (lambda p: torch.optim.Adam(p, maximize=True), "Adam.*maximize=True"),
        (lambda p: torch.optim.SGD(p, lr=0.1, maximize=True), "SGD.*maximize=True"),
        (lambda p: torch.optim.SGD(p, lr=0.1, differentiable=True), "SGD.*differentiable=True"),
    ],
)
def test_what_is_not_modelled_is_a_value_error_that_names_it(make, named):
    model = network()
    with pytest.raises(ValueError, match=rf"{named}.*expected"):
        read_torch(model, make(model.parameters()))


def test_an_option_of_one_group_only_is_found():
    model = network()
    groups = [
        {"params": model[0].parameters()},
        {"params": model[2].parameters(), "amsgrad": True},
    ]
    with pytest.raises(ValueError, match=r"Adam has amsgrad=True in some .* expected it in all"):
        read_torch(model, torch.optim.Adam(groups))


def hook_a_parameter(model, optimizer):
    model[0].weight.register_hook(lambda g: g.clamp(-1, 1))


HOOKS = {
    "before a step": lambda m, o: o.register_step_pre_hook(lambda *a: None),
    "after a step": lambda m, o: o.register_step_post_hook(lambda *a: None),
    "of a parameter": hook_a_parameter,
    "of a parameter, after accumulation": lambda m, o: m[
        0
    ].weight.register_post_accumulate_grad_hook(lambda p: None),
}


@pytest.mark.parametrize("place", HOOKS)
def test_hooks_that_a_plan_would_not_call_are_refused(place):
    model, optimizer = with_optimiser("adam")
    HOOKS[place](model, optimizer)
    with pytest.raises(ValueError, match=r"has a hook .* tp\.Stepping\(optimizer, clip_norm"):
        read_torch(model, optimizer)


def test_an_optimiser_of_another_model_is_a_value_error():
    with pytest.raises(ValueError, match="not one of the model's"):
        read_torch(network(), torch.optim.SGD(network(1).parameters(), lr=0.1))


def test_an_optimiser_without_a_trainable_parameter_is_told_why():
    model = network()
    for p in model[0].parameters():
        p.requires_grad_(False)
    with pytest.raises(ValueError, match=r"no trainable parameter.*torch.optim.Adam\(model"):
        read_torch(model, torch.optim.SGD(model[0].parameters(), lr=0.1))
    model.requires_grad_(False)
    with pytest.raises(ValueError, match=r"are frozen: unfreeze a layer"):
        read_torch(model, torch.optim.SGD(model.parameters(), lr=0.1))


def test_mixed_or_half_precision_is_a_value_error():
    model = network()
    model[0].float()
    with pytest.raises(ValueError, match="differ in dtype"):
        read_torch(model, torch.optim.SGD(model.parameters(), lr=0.1))
    model.half()
    with pytest.raises(ValueError, match=r"torch\.float16.*float32"):
        read_torch(model, torch.optim.SGD(model.parameters(), lr=0.1))


@pytest.mark.parametrize(
    "make",
    [
        lambda: tp.SGD(lr=-0.1),
        lambda: tp.SGD(lr=0.1, nesterov=True),
        lambda: tp.SGD(lr=0.1, momentum=0.5, dampening=0.2, nesterov=True),
        lambda: tp.SGD(lr=float("nan")),
        lambda: tp.Adam(betas=(1.0, 0.9)),
        lambda: tp.Adam(eps=-1.0),
        lambda: tp.Adam(weight_decay=-1.0),
        lambda: tp.RMSprop(alpha=1.0),
        lambda: tp.RMSprop(momentum=-0.1),
        lambda: tp.RAdam(betas=(0.9, 1.0)),
        lambda: tp.AMSGrad(eps=-1.0),
        lambda: tp.ClipNorm(0.0),
        lambda: tp.ClipValue(float("nan")),
    ],
)
def test_hyper_parameters_out_of_range_are_value_errors(make):
    with pytest.raises(ValueError, match="expected"):
        make()
