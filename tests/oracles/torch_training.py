"""Training as a user of torch would write it: the reference of every applied plan."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

import towpath as tp

OPTIMISERS = {
    "sgd": (torch.optim.SGD, {}),
    "sgd decayed": (torch.optim.SGD, {"weight_decay": 0.1}),
    "sgd dampening only": (torch.optim.SGD, {"dampening": 0.5}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9}),
    "dampened": (torch.optim.SGD, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    "nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    "adam": (torch.optim.Adam, {}),
    "adam coupled": (torch.optim.Adam, {"weight_decay": 0.1, "betas": (0.8, 0.9), "eps": 1e-4}),
    "adam foreach": (torch.optim.Adam, {"foreach": True, "weight_decay": 0.1}),
    "adam fused": (torch.optim.Adam, {"fused": True}),
    "adamw": (torch.optim.AdamW, {"weight_decay": 0.2}),
    "amsgrad": (torch.optim.Adam, {"amsgrad": True, "betas": (0.8, 0.5)}),
    "amsgrad decoupled": (torch.optim.AdamW, {"amsgrad": True, "weight_decay": 0.2}),
    "radam": (torch.optim.RAdam, {"weight_decay": 0.1}),
    "radam decoupled": (
        torch.optim.RAdam,
        {"weight_decay": 0.2, "decoupled_weight_decay": True, "betas": (0.8, 0.9)},
    ),
    "rmsprop": (torch.optim.RMSprop, {}),
    "rmsprop momentum": (torch.optim.RMSprop, {"momentum": 0.9, "weight_decay": 0.1}),
    "rmsprop centred": (torch.optim.RMSprop, {"centered": True, "momentum": 0.5, "alpha": 0.9}),
}


def network(seed=0):
    """Three layers."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return nn.Sequential(
            nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2)
        ).double()


def with_optimiser(name, *, groups=True):
    """A model and its optimiser: two groups with different rates, the last layer left out."""
    kind, options = OPTIMISERS[name]
    model = network()
    if groups:
        parameters = [
            {"params": model[0].parameters(), "lr": 0.03},
            {"params": model[2].parameters(), "lr": 0.1},
        ]
        return model, kind(parameters, lr=1.0, **options)
    return model, kind(model.parameters(), lr=0.05, **options)


def objective_of(model):
    return tp.Objective.from_function(
        lambda params, task: (functional_call(model, params, (task[0],)), task[1]), loss="mse"
    )


def train(model, optimizer, window, weights, *, clip_norm=None, clip_value=None, scheduler=None):
    """One step of torch's optimiser per mini-batch on the weighted losses, as in a plain loop."""
    held = [p for group in optimizer.param_groups for p in group["params"]]
    for tasks, w in zip(window, weights, strict=True):
        optimizer.zero_grad()
        losses = torch.stack([F.mse_loss(model(x), y) for x, y in tasks])
        (w @ losses).backward()
        if clip_norm is not None:
            nn.utils.clip_grad_norm_(held, clip_norm)
        if clip_value is not None:
            nn.utils.clip_grad_value_(held, clip_value)
        optimizer.step()
        if scheduler is not None:
            scheduler.step()


def largest_difference(model, optimizer, other_model, other_optimizer):
    """Between two models and their optimisers' states, which must have the same keys."""
    pairs = list(zip(model.parameters(), other_model.parameters(), strict=True))
    errors = [float((p - q).detach().abs().max()) for p, q in pairs]
    for p, q in pairs:
        assert (p in optimizer.state) == (q in other_optimizer.state)
        mine, theirs = optimizer.state.get(p, {}), other_optimizer.state.get(q, {})
        assert mine.keys() == theirs.keys()
        for key, value in theirs.items():
            if torch.is_tensor(value):
                assert mine[key].dtype == value.dtype
                assert mine[key].shape == value.shape
                errors.append(float((mine[key] - value).abs().max()))
            else:
                assert mine[key] == value
    return max(errors)
