"""A regression loop that clips its gradients and decays its rate: towpath adds 9 lines.

Twelve sensors measure one signal, three of them with the wrong sign. A mini-batch has a task for
each sensor; a dozen points that were measured twice are trusted. Lines that towpath adds end with
`# towpath`; those that it replaces are kept as comments that begin with `# before:`.
"""

from collections.abc import Mapping  # towpath

import torch
from torch import Tensor, nn
from torch.func import functional_call  # towpath

import towpath as tp  # towpath

SENSORS, WRONG, POINTS, STEPS = 12, 3, 16, 60
Task = tuple[Tensor, Tensor]


def measure(generator: torch.Generator, *, wrong: bool = False) -> Task:
    """Return the inputs and the noisy signal at some points."""
    x = 4 * torch.rand(POINTS, 1, generator=generator) - 2
    y = torch.sin(2 * x) + 0.1 * torch.randn(POINTS, 1, generator=generator)
    return x, -y if wrong else y


def main() -> tuple[tp.Plan, float]:
    """Train; return the last plan and the mean squared error on clean points."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)

    def answer(params: Mapping[str, Tensor], task: Task) -> Task:  # towpath
        return functional_call(model, dict(params), (task[0],)), task[1]  # towpath

    objective = tp.Objective.from_function(answer, loss="mse")  # towpath
    stepping = tp.Stepping(optimizer, clip_norm=1.0, scheduler=scheduler)  # towpath
    windowed = tp.Windowed(tp.TOW.towards_targets(), objective, model, stepping)  # towpath
    for _ in range(STEPS):
        tasks = [measure(generator, wrong=i < WRONG) for i in range(SENSORS)]
        trusted = [measure(generator) for _ in range(2)]
        # before: optimizer.zero_grad()
        # before: losses = [nn.functional.mse_loss(model(x), y) for x, y in tasks]
        # before: torch.stack(losses).mean().backward()
        # before: nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        # before: optimizer.step()
        # before: scheduler.step()
        plan = windowed.step(tasks, targets=trusted)  # towpath
    assert plan is not None  # the last step completed a window
    x, y = measure(generator)
    return plan, float((model(x) - y).square().mean().detach())


if __name__ == "__main__":
    plan, error = main()
    mean = plan.weights.mean(0)
    print(f"mean weight: wrong {mean[:WRONG].mean():.3f}, clean {mean[WRONG:].mean():.3f}")
    print(f"mean squared error on clean points: {error:.3f}")
