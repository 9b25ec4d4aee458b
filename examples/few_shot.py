"""A few-shot loop in plain PyTorch, with tasks weighted by towpath: it adds 8 lines.

The network, the prototypes and the data are the loop's own. Four of ten training tasks have wrong
query labels; a few trusted tasks say where training should go. Lines that towpath adds end with
`# towpath`; those that it replaces are kept as comments that begin with `# before:`.
"""

from collections.abc import Mapping  # towpath
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call  # towpath

import towpath as tp  # towpath

WAYS, SHOTS, QUERY, PIXELS = 4, 2, 5, 12
TASKS, WRONG, STEPS = 10, 4, 40


class Task(NamedTuple):
    """A support set, a query set, and their labels."""

    support_x: Tensor
    support_y: Tensor
    query_x: Tensor
    query_y: Tensor


def draw_task(generator: torch.Generator, *, wrong: bool = False) -> Task:
    """Draw four classes, each a centre in the first pixels, in noise everywhere else."""
    centres = torch.zeros(WAYS, PIXELS)
    centres[:, :3] = 2 * torch.randn(WAYS, 3, generator=generator)
    y = torch.arange(WAYS).repeat(SHOTS + QUERY)
    x = centres[y] + torch.randn(len(y), PIXELS, generator=generator)
    cut = WAYS * SHOTS
    query_y = (y[cut:] + 1) % WAYS if wrong else y[cut:]
    return Task(x[:cut], y[:cut], x[cut:], query_y)


class Prototypes(nn.Module):
    """An embedding; a class is scored by the distance to the mean of its support set."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(PIXELS, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, task: Task) -> Tensor:
        """Return minus the squared distances of the query set to the prototypes."""
        support, query = self.embed(task.support_x), self.embed(task.query_x)
        prototypes = torch.stack([support[task.support_y == c].mean(0) for c in range(WAYS)])
        return -torch.cdist(query, prototypes).square()


def main() -> tp.Plan:
    """Train the embedding; return the last plan."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = Prototypes()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def answer(params: Mapping[str, Tensor], task: Task) -> tuple[Tensor, Tensor]:  # towpath
        return functional_call(model, dict(params), (task,)), task.query_y  # towpath

    objective = tp.Objective.from_function(answer, loss="cross_entropy")  # towpath
    windowed = tp.Windowed(tp.TOW.towards_targets(), objective, model, optimizer)  # towpath
    for _ in range(STEPS):
        tasks = [draw_task(generator, wrong=i < WRONG) for i in range(TASKS)]
        trusted = [draw_task(generator) for _ in range(3)]
        # before: losses = [nn.functional.cross_entropy(model(t), t.query_y) for t in tasks]
        # before: optimizer.zero_grad()
        # before: torch.stack(losses).mean().backward()
        # before: optimizer.step()
        plan = windowed.step(tasks, targets=trusted)  # towpath
    assert plan is not None  # the last step completed a window
    return plan


if __name__ == "__main__":
    mean = main().weights.mean(0)
    print(f"mean weight: wrong {mean[:WRONG].mean():.3f}, clean {mean[WRONG:].mean():.3f}")
