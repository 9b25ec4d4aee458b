"""A network with batch norm, planned and applied, ends where the plain torch loop leaves it.

Float32, a residual network, an optimiser that clips and is scheduled: parameters, running
statistics, moments, counters and rates.
"""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

import towpath as tp
from towpath.backbones.norms import batch_norm_policies, use_batch_norm

T, M, WAYS = 5, 3, 4


class Block(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.BatchNorm2d(outputs) for _ in range(2))
        self.beside = nn.Conv2d(inputs, outputs, 1, bias=False)

    def forward(self, x):
        inside = self.norms[1](self.second(F.relu(self.norms[0](self.first(x)))))
        return F.max_pool2d(F.relu(inside + self.beside(x)), 2)


def network() -> nn.Module:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        body = [Block(1, 6), Block(6, 8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, WAYS)]
        model = nn.Sequential(*body).train()
        for _ in range(3):  # statistics of a network that has seen something
            model(1 + torch.randn(8, 1, 12, 12))
    return model


def stream(windows: int) -> list[list[list[tuple[torch.Tensor, torch.Tensor]]]]:
    g = torch.Generator().manual_seed(1)

    def task():
        labels = torch.arange(8) % WAYS
        return torch.randn(8, 1, 12, 12, generator=g) + labels.view(-1, 1, 1, 1), labels

    return [[[task() for _ in range(M)] for _ in range(T)] for _ in range(windows)]


def optimiser(model: nn.Module, name: str) -> tp.Stepping:
    made = {
        "sgd": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3),
        "adam": lambda p: torch.optim.Adam(p, lr=2e-3),
    }[name](model.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(made, T_max=15)
    return tp.Stepping(made, clip_norm=0.5, scheduler=schedule)


def plain_loop(model, stepping, windows):
    """Training as anybody would write it, with equal weights."""
    clipped = 0
    for batch in (batch for window in windows for batch in window):
        stepping.optimizer.zero_grad()
        losses = [F.cross_entropy(model(x), y) for x, y in batch]
        (torch.stack(losses).sum() / M).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), stepping.clip_norm)
        clipped += int(norm > stepping.clip_norm)
        stepping.optimizer.step()
        stepping.scheduler.step()
    return clipped


@pytest.mark.parametrize("weighter", [tp.Uniform(), tp.TOW(iterations=0)], ids=["rule", "plan"])
@pytest.mark.parametrize("name", ["sgd", "adam"])
@pytest.mark.parametrize("policy", ["running", "frozen", "batch"])
def test_uniform_weights_leave_everything_as_the_plain_loop_does(policy, name, weighter):
    model, twin = (use_batch_norm(network(), policy) for _ in range(2))
    assert set(batch_norm_policies(model).values()) == {policy}
    before = copy.deepcopy(model.state_dict())
    stepping, plain = optimiser(model, name), optimiser(twin, name)
    objective = tp.Objective.from_function(
        lambda params, task: (functional_call(model, params, (task[0],)), task[1])
    )
    for window in stream(2):
        weighter.plan(objective, model, stepping, window).apply_(model, stepping)
    assert plain_loop(twin, plain, stream(2)) >= T, "the case must clip"
    for key, value in twin.state_dict().items():
        torch.testing.assert_close(model.state_dict()[key], value, rtol=0, atol=1e-6, msg=key)
    moved = [
        k for k, v in before.items() if "running" in k and not torch.equal(v, twin.get_buffer(k))
    ]
    assert bool(moved) == (policy == "running")
    ours, theirs = stepping.optimizer.state_dict(), plain.optimizer.state_dict()
    assert ours["param_groups"] == theirs["param_groups"]
    for mine, other in zip(ours["state"].values(), theirs["state"].values(), strict=True):
        for key, value in other.items():
            torch.testing.assert_close(mine[key], value, rtol=0, atol=1e-6, msg=key)
    assert stepping.scheduler is not None
    assert plain.scheduler is not None
    assert stepping.scheduler.state_dict() == plain.scheduler.state_dict()
