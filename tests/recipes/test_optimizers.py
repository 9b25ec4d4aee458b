"""The outer optimiser of a recipe against torch.optim, with clipping and a schedule."""

import pytest
import torch
from torch.optim import lr_scheduler

from tests.oracles.compare import assert_close
from towpath.dynamics import OptimiserState
from towpath.recipes.component import Component
from towpath.recipes.optimizers import (
    OPTIMIZERS,
    make_optimizer,
    optimizer_options,
    with_whole_schedule,
)
from towpath.recipes.typed import RecipeError

START = torch.linspace(-1, 1, 5, dtype=torch.float64)
TORCH = {
    "adam": lambda p: torch.optim.Adam(p, lr=0.1),
    "adamw": lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.01),
    "amsgrad": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
    "radam": lambda p: torch.optim.RAdam(p, lr=0.1),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=0.1),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
}


def gradient(n: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(n)
    return torch.randn(5, generator=generator, dtype=torch.float64)


def stepped(held: OptimiserState, steps: int) -> torch.Tensor:
    state = held.at(START)
    for n in range(steps):
        state = held.stage(n).step(state, gradient(n))
    return state.x


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_recipe_steps_as_the_optimiser_of_its_name(name):
    component = Component(
        name, {"meta_lr": 0.1, "clip_norm": 1.5, "schedule": {"name": "linear", "final": 0.5}}
    )
    ours = stepped(make_optimizer(component, {"w": START}, steps=8), 12)
    p = torch.nn.Parameter(START.clone())
    optimizer = TORCH[name]([p])
    scheduler = lr_scheduler.LinearLR(optimizer, 1.0, 0.5, total_iters=8)
    for n in range(12):
        p.grad = gradient(n)
        torch.nn.utils.clip_grad_norm_([p], 1.5)
        optimizer.step()
        scheduler.step()
    assert_close(ours, p.detach(), 1e-12)


def test_without_the_new_options_nothing_is_clipped_or_scheduled():
    held = make_optimizer(Component("adam"), {"w": START}, steps=8)
    assert held.schedule is None
    assert held.dynamics.clip is None
    assert optimizer_options(Component("adam"))["meta_lr"] == 1e-4
    assert optimizer_options(Component("sgd"))["meta_lr"] == 1e-2
    assert optimizer_options(Component("adamw"))["weight_decay"] == 0.01


def test_a_schedule_is_written_down_whole_and_stays_as_it_is():
    short = Component("adam", {"schedule": {"name": "cosine", "warmup": 20}})
    whole = with_whole_schedule(short, 100)
    assert whole.options["schedule"] == {"name": "cosine", "warmup": 20, "steps": 80, "final": 0.0}
    assert with_whole_schedule(whole, 500) == whole
    assert with_whole_schedule(Component("adam", {"schedule": "step"}), 100).options[
        "schedule"
    ] == {
        "name": "step",
        "warmup": 0,
        "every": 1000,
        "decay": 0.1,
    }
    assert with_whole_schedule(Component("adam"), 100) == Component("adam")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"meta_lr": 0.0}, r"optimizer\.meta_lr is 0\.0; expected a finite number above 0"),
        ({"clip_norm": 0.0}, r"optimizer\.clip_norm is 0\.0; expected at least"),
        ({"clip_norm": 1.0, "clip_value": 1.0}, r"clip_norm is 1\.0 and .* one of them at most"),
        ({"clip_nrm": 1.0}, r"no option 'clip_nrm'; .*Did you mean 'clip_norm'"),
        ({"schedule": "cosin"}, r"optimizer\.schedule\.name is 'cosin'; .*Did you mean 'cosine'"),
        ({"schedule": {"name": "step", "evry": 3}}, r"optimizer\.schedule has no option 'evry'"),
        ({"schedule": {"steps": 3}}, r"optimizer\.schedule\.name is None"),
        ({"schedule": {"name": "cosine", "warmup": -1}}, r"warmup=-1; expected"),
    ],
)
def test_what_is_wrong_is_said_by_its_name_in_the_recipe(options, said):
    with pytest.raises(ValueError, match=said):
        make_optimizer(Component("adam", options), {"w": START}, steps=8)


def test_an_unknown_optimiser_is_refused_with_the_nearest_name():
    with pytest.raises(RecipeError, match=r"'rmsprp'; .*Did you mean 'rmsprop'"):
        make_optimizer(Component("rmsprp"), {"w": START})
