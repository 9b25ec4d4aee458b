"""Uniform steps against the loops that people write: `higher` (MAML), plain autograd (ProtoNet).

Both sides train the same 4-conv architecture on the same mini-batch of real tasks with Adam. The
plain side is written as such loops usually are: channels first, ReLU before pooling, one task after
another. First the work is compared: processor time, one thread each, which other jobs disturb
little. Then the clock, on all cores: theirs with torch's own threads, ours as the command line runs
it, a worker a core. Threads that wait for each other on a busy machine make that second figure
meaningless, so it is left out unless the machine is idle.
"""

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial

import higher
import torch
from torch import Tensor, nn
from torch.nn import functional

import towpath as tp
from benchmarks.measure import Ratio, prepare_process, race, report
from benchmarks.windows import CORES, Scene, scene
from towpath.data import Episode

ROUNDS = 9
IDLE = 1.3
"""the load up to which a machine that runs this benchmark counts as idle otherwise"""


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

    return Step(lambda: loss_of(here.window[0]))


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

    return Step(step)


@dataclass(frozen=True)
class Step:
    """A step of training to time with its own number of torch's threads."""

    run: Callable[[], object]
    threads: int = 1

    def __call__(self) -> None:
        torch.set_num_threads(self.threads)
        self.run()
        torch.set_num_threads(1)


def ours(here: Scene) -> Step:
    """One uniform step."""
    weighter = tp.Uniform()
    return Step(lambda: weighter.plan(here.objective, here.params, here.optimizer, here.window[:1]))


RIVALS: dict[str, tuple[str, Callable[[Scene], Step], float]] = {
    "higher, first order": ("maml", partial(maml_on_higher, first_order=True), 3.0),
    "higher, second order": ("maml-second-order", partial(maml_on_higher, first_order=False), 2.0),
    "plain autograd, ProtoNet": ("protonet", protonet_plain, 2.5),
}
"""the learner of ours, the loop against it, and how many times faster ours should be"""


def compared(workers: int, clock: Callable[[], float]) -> list[Ratio]:
    """Return how many times faster our step is than each of the loops."""
    rows = []
    for name, (learner, loop, target) in RIVALS.items():
        here = scene(learner, workers=workers)
        theirs = replace(loop(here), threads=workers)
        ratios = race({"towpath": ours(here), name: theirs}, "towpath", ROUNDS, clock)
        rows.append(ratios[1])
        print(f"{name}: towpath is {ratios[1].ratio:.2f} times faster (target {target:g})")
    return rows


def main() -> None:
    """The work of a step, then its time."""
    prepare_process()
    print("processor time, one thread:")
    work = compared(1, time.process_time)
    load = os.getloadavg()[0]
    print(f"the clock, {CORES} cores, load {load:.1f}:")
    idle = load < IDLE
    clock = compared(CORES, time.perf_counter) if idle else []
    if not idle:
        print("  not measured: other jobs are running")
    report("learners", work, {"clock": [asdict(ratio) for ratio in clock], "load": load})


if __name__ == "__main__":
    main()
