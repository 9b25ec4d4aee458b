"""Multi-task learning with two losses on one shared body: towpath adds 9 lines to the loop.

Objects are to be classified and their distance to be measured, from the same inputs. Five cameras
give a task of each kind in every mini-batch, and one of them is mounted wrongly. Lines that towpath
adds end with `# towpath`; those that it replaces are kept as comments that begin with `# before:`.
"""

from collections.abc import Mapping  # towpath
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call  # towpath

import towpath as tp  # towpath

CAMERAS, WRONG, STEPS = 5, 1, 60
LOSSES = {"kind": nn.CrossEntropyLoss(), "distance": nn.HuberLoss()}


class Task(NamedTuple):
    """Samples of one camera for one head."""

    head: str
    x: Tensor
    y: Tensor


class Heads(nn.Module):
    """A shared body, and a head for each kind of task."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 32), nn.Tanh())
        self.heads = nn.ModuleDict({"kind": nn.Linear(32, 3), "distance": nn.Linear(32, 1)})

    def forward(self, x: Tensor, head: str) -> Tensor:
        """Return the outputs of one head."""
        outputs: Tensor = self.heads[head](self.body(x))
        return outputs


def seen(generator: torch.Generator, head: str, *, wrong: bool = False) -> Task:
    """Draw what a camera sees; one that is mounted wrongly mixes up kinds and turns distances."""
    x = torch.randn(24, 6, generator=generator)
    if head == "kind":
        kinds = x[:, :3].argmax(1)
        return Task(head, x, (kinds + 1) % 3 if wrong else kinds)
    distance = x[:, 3:].sum(1, keepdim=True)
    return Task(head, x, -distance if wrong else distance)


def main() -> tuple[tp.Plan, float, float]:
    """Train; return the last plan, and accuracy and error of the two heads on clean samples."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    model = Heads()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

    def answer(params: Mapping[str, Tensor], task: Task) -> tuple[Tensor, Tensor, str]:  # towpath
        output = functional_call(model, dict(params), (task.x, task.head))  # towpath
        return output, task.y, task.head  # towpath

    objective = tp.Objective.from_function(answer, loss=LOSSES)  # towpath
    windowed = tp.Windowed(tp.TOW.towards_targets(), objective, model, optimizer)  # towpath
    for _ in range(STEPS):
        cameras = [(head, i < WRONG) for i in range(CAMERAS) for head in LOSSES]
        tasks = [seen(generator, head, wrong=wrong) for head, wrong in cameras]
        trusted = [seen(generator, head) for head in LOSSES]
        # before: optimizer.zero_grad()
        # before: losses = [LOSSES[task.head](model(task.x, task.head), task.y) for task in tasks]
        # before: torch.stack(losses).mean().backward()
        # before: optimizer.step()
        plan = windowed.step(tasks, targets=trusted)  # towpath
    assert plan is not None  # the last step completed a window
    kind, distance = (seen(generator, head) for head in LOSSES)
    with torch.no_grad():
        accuracy = (model(kind.x, "kind").argmax(1) == kind.y).float().mean()
        error = (model(distance.x, "distance") - distance.y).square().mean()
    return plan, float(accuracy), float(error)


if __name__ == "__main__":
    plan, accuracy, error = main()
    mean = plan.weights.mean(0)
    print(
        f"mean weight: wrong {mean[: 2 * WRONG].mean():.3f}, clean {mean[2 * WRONG :].mean():.3f}"
    )
    print(f"accuracy {accuracy:.2f}, squared error of the distance {error:.3f}")
