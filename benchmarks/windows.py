"""Windows of real tasks for the benchmarks: Omniglot where it is, else the built-in glyphs."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

import towpath as tp
from towpath import backbones, data, learners
from towpath.data import Episode
from towpath.dynamics import OptimiserState
from towpath.training import TrainState, train_step
from towpath.weighters import Uniform


@dataclass(frozen=True, eq=False)
class Scene:
    """A learner at some point of its training, and a window to plan."""

    name: str
    learner: learners.Learner
    objective: tp.Objective
    params: dict[str, Tensor]
    optimizer: OptimiserState
    window: list[list[Episode]]
    targets: list[list[Episode]]


def real_set() -> str:
    """Omniglot if the data folder holds it."""
    return "omniglot" if data.present("omniglot") else "glyphs"


def scene(
    learner: str, *, step: int = 0, horizon: int = 5, tasks: int = 10, workers: int = 2
) -> Scene:
    """5-way 1-shot tasks, 15 query images a class, Conv4, Adam 1e-3, after `step` uniform steps."""
    pool = data.load(real_set(), split="train")
    channels, size, _ = pool.image_shape
    embeds = learner == "protonet"
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # the same network in every run: trials and counters depend on it
        net = backbones.Conv4(channels, None if embeds else 5, size)
    made: learners.Learner = learners.ProtoNet(net) if embeds else learners.MAML(net)
    objective = tp.Objective(made, workers=workers)
    params = {name: p.detach().clone() for name, p in made.parameters().items()}
    state = TrainState(params, tp.Adam(lr=1e-3).init(params))
    spec = data.EpisodeSpec(ways=5, shots=1, query=15)
    windows = data.Windows(data.EpisodeSampler(pool, spec, 0), horizon, tasks)
    weighter = Uniform()
    while state.step < step:
        state, _ = train_step(
            state, windows.window(state.window), objective=objective, weighter=weighter
        )
    trusted = data.trusted_pool(pool, replace(spec), 2 * horizon)
    return Scene(
        f"{learner} on {real_set()} at step {step}",
        made,
        objective,
        state.params,
        state.optimizer,
        windows.window(state.window),
        [trusted[2 * t : 2 * t + 2] for t in range(horizon)],
    )
