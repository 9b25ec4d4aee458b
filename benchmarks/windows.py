"""Windows of real tasks for the benchmarks: Omniglot where it is, else the built-in glyphs."""

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

import towpath as tp
from towpath import backbones, data, learners
from towpath.data import Episode
from towpath.dynamics import OptimiserState
from towpath.training import TrainState, train_step
from towpath.weighters import Uniform

CORES = os.cpu_count() or 1
LEARNERS: dict[str, Callable[[torch.nn.Module], learners.Learner]] = {
    "protonet": lambda net: learners.ProtoNet(net),
    "maml": lambda net: learners.MAML(net),
    "maml-second-order": lambda net: learners.MAML(net, first_order=False),
}


@dataclass(frozen=True, eq=False)
class Scene:
    """A learner at some point of its training, and a window to plan."""

    name: str
    step: int
    learner: learners.Learner
    objective: tp.Objective
    params: dict[str, Tensor]
    optimizer: OptimiserState
    window: list[list[Episode]]
    targets: list[list[Episode]]
    image_size: int


def real_set() -> str:
    """Omniglot if the data folder holds it."""
    return "omniglot" if data.present("omniglot") else "glyphs"


def scene(learner: str, **options: float) -> Scene:
    """The first of `scenes`."""
    return next(scenes(learner, **options))  # type: ignore[arg-type]


def scenes(
    learner: str,
    *,
    step: int = 0,
    horizon: int = 5,
    tasks: int = 10,
    query: int = 15,
    lr: float = 1e-3,
    workers: int = CORES,
    seed: int = 0,
) -> Iterator[Scene]:
    """5-way 1-shot windows, 4-conv, Adam, one after another from `step` uniform steps on."""
    pool = data.load_images(real_set(), split="train")
    channels, size, _ = pool.image_shape
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)  # the same network in every run: trials and counters depend on it
        net = backbones.Conv4(channels, None if learner == "protonet" else 5, size)
    made = LEARNERS[learner](net)
    objective = tp.Objective(made, workers=workers)
    params = {name: p.detach().clone() for name, p in made.parameters().items()}
    state = TrainState(params, tp.Adam(lr=lr).init(params))
    spec = data.EpisodeSpec(ways=5, shots=1, query=query)
    windows = data.Windows(data.EpisodeSampler(pool, spec, seed), horizon, tasks)
    trusted = data.trusted_pool(pool, replace(spec), 2 * horizon)
    weighter = Uniform()
    while True:
        window = windows.window(state.window)
        if state.step >= step:
            yield Scene(
                f"{learner} on {real_set()} at step {state.step}",
                state.step,
                made,
                objective,
                state.params,
                state.optimizer,
                window,
                [trusted[2 * t : 2 * t + 2] for t in range(horizon)],
                size,
            )
        state, _ = train_step(state, window, objective=objective, weighter=weighter)


def not_before(step: int, ahead: Iterator[Scene]) -> Iterator[Scene]:
    """The scenes from a step on; those before it are trained through and dropped."""
    return itertools.dropwhile(lambda scene: scene.step < step, ahead)
