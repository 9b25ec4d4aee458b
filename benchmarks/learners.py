"""Uniform steps against the loops that people write: `higher` (MAML), plain autograd (ProtoNet).

Both sides train the same 4-conv architecture on the same mini-batch of real tasks with Adam. The
plain side is written as such loops usually are: channels first, ReLU before pooling, one task after
another with torch's own threads. Ours: as the command line runs it, a worker a core.
"""

import higher
import torch
from torch import Tensor, nn
from torch.nn import functional

import towpath as tp
from benchmarks.measure import prepare_process, race, report
from benchmarks.windows import CORES, Scene, scene
from towpath.data import Episode


class PlainConv4(nn.Module):
    """The usual 4-conv network."""

    def __init__(self, ways: int | None, image_size: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for i in range(4):
            layers += [
                nn.Conv2d(32 if i else 1, 32, 3, padding=1),
                nn.BatchNorm2d(32, track_running_stats=False),
                nn.ReLU(),
                nn.MaxPool2d(2),
            ]
        features = 32 * (image_size // 16) ** 2
        head = nn.Identity() if ways is None else nn.Linear(features, ways)
        self.layers = nn.Sequential(*layers, nn.Flatten(), head)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.layers(x)
        return y


def maml_on_higher(here: Scene, first_order: bool) -> "Step":
    """One meta step of MAML as the documentation of `higher` writes it."""
    model = PlainConv4(5, here.image_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss_of(batch: list[Episode]) -> None:
        optimizer.zero_grad()
        for task in batch:
            inner = torch.optim.SGD(model.parameters(), lr=0.1)
            with higher.innerloop_ctx(
                model, inner, copy_initial_weights=False, track_higher_grads=not first_order
            ) as (fast, steps):
                for _ in range(5):
                    steps.step(functional.cross_entropy(fast(task.support_x), task.support_y))
                query = functional.cross_entropy(fast(task.query_x), task.query_y) / len(batch)
                if first_order:
                    gradients = torch.autograd.grad(query, list(fast.parameters()))
                    for p, g in zip(model.parameters(), gradients, strict=True):
                        p.grad = g if p.grad is None else p.grad + g
                else:
                    query.backward()
        optimizer.step()

    return Step(lambda: loss_of(here.window[0]), CORES)


def protonet_plain(here: Scene) -> "Step":
    """One step of a prototypical network, task by task."""
    model = PlainConv4(None, here.image_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def step() -> None:
        optimizer.zero_grad()
        for task in here.window[0]:
            z = model(task.support_x)
            centres = torch.stack([z[task.support_y == k].mean(0) for k in range(5)])
            logits = -torch.cdist(model(task.query_x), centres).square()
            (functional.cross_entropy(logits, task.query_y) / len(here.window[0])).backward()
        optimizer.step()

    return Step(step, CORES)


class Step:
    """Something to time with its own number of torch's threads."""

    def __init__(self, run: "object", threads: int) -> None:
        self.run, self.threads = run, threads

    def __call__(self) -> None:
        torch.set_num_threads(self.threads)
        self.run()  # type: ignore[operator]
        torch.set_num_threads(1)


def ours(here: Scene) -> Step:
    """One uniform step."""
    weighter = tp.Uniform()
    return Step(
        lambda: weighter.plan(here.objective, here.params, here.optimizer, here.window[:1]), 1
    )


def main() -> None:
    """Three races."""
    prepare_process()
    maml = scene("maml")
    second = scene("maml-second-order")
    protonet = scene("protonet")
    races = {
        "higher, first order": (maml_on_higher(maml, True), ours(maml), 2.0),
        "higher, second order": (maml_on_higher(second, False), ours(second), 1.5),
        "plain autograd, ProtoNet": (protonet_plain(protonet), ours(protonet), 1.5),
    }
    rows = []
    for name, (theirs, mine, target) in races.items():
        ratios = race({"towpath": mine, name: theirs}, base="towpath", rounds=9)
        rows.append(ratios[1])
        print(f"{name}: towpath is {ratios[1].ratio:.2f} times faster (target {target:g})")
    report("learners", rows)


if __name__ == "__main__":
    main()
