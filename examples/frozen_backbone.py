"""A frozen pretrained backbone with a new head: towpath adds 8 lines to the loop.

The backbone is trained on one problem first (in place of weights from a file) and then frozen, with
the running statistics of its batch norm; only the head learns. The new problem's labels are wrong
in four of ten mini-batch tasks. Lines that towpath adds end with `# towpath`; those that it
replaces are kept as comments that begin with `# before:`.
"""

from collections.abc import Mapping  # towpath

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call  # towpath

import towpath as tp  # towpath

FEATURES, CLASSES, TASKS, WRONG, STEPS = 10, 3, 10, 4, 40
Task = tuple[Tensor, Tensor]


def draw(generator: torch.Generator, shift: int, *, wrong: bool = False) -> Task:
    """Draw samples whose class is the largest of three inputs, counted from `shift`."""
    x = torch.randn(24, FEATURES, generator=generator)
    y = x[:, shift : shift + CLASSES].argmax(1)
    return x, (y + 1) % CLASSES if wrong else y


def pretrained(generator: torch.Generator) -> nn.Module:
    """Return a backbone that was trained on six classes of another problem."""
    backbone = nn.Sequential(nn.Linear(FEATURES, 32), nn.BatchNorm1d(32), nn.ReLU())
    whole = nn.Sequential(backbone, nn.Linear(32, 6))
    optimizer = torch.optim.Adam(whole.parameters(), lr=1e-2)
    for _ in range(150):
        x = torch.randn(64, FEATURES, generator=generator)
        optimizer.zero_grad()
        F.cross_entropy(whole(x), x[:, :6].argmax(1)).backward()
        optimizer.step()
    return backbone.requires_grad_(False)


def main() -> tuple[tp.Plan, float]:
    """Train the head; return the last plan and the accuracy on clean samples."""
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(0)
    backbone = pretrained(generator)
    model = nn.Sequential(backbone, nn.Linear(32, CLASSES)).train()
    backbone.eval()  # its batch norm keeps its statistics: the policy "frozen"
    optimizer = torch.optim.Adam(model[1].parameters(), lr=2e-2)

    def answer(params: Mapping[str, Tensor], task: Task) -> Task:  # towpath
        return functional_call(model, dict(params), (task[0],)), task[1]  # towpath

    objective = tp.Objective.from_function(answer, loss="cross_entropy")  # towpath
    windowed = tp.Windowed(tp.TOW.towards_targets(), objective, model, optimizer)  # towpath
    for _ in range(STEPS):
        tasks = [draw(generator, 2, wrong=i < WRONG) for i in range(TASKS)]
        trusted = [draw(generator, 2) for _ in range(2)]
        # before: optimizer.zero_grad()
        # before: torch.stack([F.cross_entropy(model(x), y) for x, y in tasks]).mean().backward()
        # before: optimizer.step()
        plan = windowed.step(tasks, targets=trusted)  # towpath
    assert plan is not None  # the last step completed a window
    x, y = draw(generator, 2)
    return plan, float((model(x).argmax(1) == y).float().mean())


if __name__ == "__main__":
    plan, accuracy = main()
    mean = plan.weights.mean(0)
    print(f"mean weight: wrong {mean[:WRONG].mean():.3f}, clean {mean[WRONG:].mean():.3f}")
    print(f"accuracy on clean samples: {accuracy:.2f}")
